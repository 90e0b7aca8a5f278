-- expect: at risk TC01
{{ config(unique_key='trip_id') }}

select trip_id, started_at
from {{ ref('stg_trips') }}
{% if is_incremental() %}
where datediff(day, started_at, getdate()) <= 7
{% endif %}
