-- expect: loses rows TC01
{{ config(unique_key='shift_id', incremental_strategy='delete+insert') }}

select shift_id, starts_at
from {{ ref('stg_shifts') }}
where starts_at >= current_date
