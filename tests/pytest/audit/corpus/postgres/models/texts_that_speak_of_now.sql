-- expect: safe
{{ config(unique_key='text_id') }}

-- where updated_at >= now() - interval '1 day'  (how it once was)
{# {% if is_incremental() %} where updated_at >= now() {% endif %} #}
select text_id, 'updated now()' as remark, updated_at
from {{ ref('stg_texts') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), '1900-01-03'::timestamp) - interval '2 days' from {{ this }})
{% endif %}
