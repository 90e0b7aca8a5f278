{#- What the job that loads the ODS has confirmed so far. -#}
{{ config(materialized='table') }}

select
    loads.load_id,
    loads.scheduled_at,
    loads.loaded_at,
    loads.data_through,
    (select count(*) from {{ ref('load_contents') }} as contents where contents.load_id = loads.load_id) as rows_loaded
from {{ ref('ods_loads') }} as loads
where loads.loaded_at <= {{ two_clocks._utc_now() }}
