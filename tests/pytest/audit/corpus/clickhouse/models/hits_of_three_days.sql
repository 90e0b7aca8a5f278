-- expect: at risk TC01
{{ config(unique_key='hit_id', incremental_strategy='delete+insert', order_by='hit_id') }}

select hit_id, ts
from {{ ref('stg_hits') }}
{% if is_incremental() %}
where toDate(ts) >= today() - 3
{% endif %}
