-- expect: loses rows TC01
{{ config(unique_key='route_id') }}

select route_id, route_date
from {{ ref('stg_routes') }}
{% if is_incremental() %}
where route_date = trunc(getdate()) - 1
{% endif %}
