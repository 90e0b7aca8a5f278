-- expect: not judged
{{ config(unique_key='wish_id') }}

select wish_id, item, updated_at
from {{ ref('stg_wishes') }}
{% if is_incremental() %}
where {{ house_rules.only_new_rows('updated_at') }}
{% endif %}
