{#- What the job that loads the ODS has confirmed so far. -#}
{{ config(materialized='table') }}

select
    loads.load_id,
    loads.scheduled_at,
    loads.loaded_at,
    loads.data_through,
    count(contents.id) as rows_loaded
from {{ ref('ods_loads') }} as loads
left join {{ ref('load_contents') }} as contents
    on loads.load_id = contents.load_id
where loads.loaded_at <= {{ two_clocks._utc_now() }}
group by
    loads.load_id,
    loads.scheduled_at,
    loads.loaded_at,
    loads.data_through
