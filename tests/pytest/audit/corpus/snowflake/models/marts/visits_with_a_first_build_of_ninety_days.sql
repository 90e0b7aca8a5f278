-- expect: safe
{{ config(unique_key='visit_id') }}

select visit_id, visited_at
from {{ ref('stg_visits') }}
{% if is_incremental() %}
where visited_at >= (select coalesce(max(visited_at), '1900-01-03'::timestamp) - interval '2 days' from {{ this }})
{% else %}
where visited_at >= dateadd(day, -90, current_date)
{% endif %}
