-- expect: at risk TC02 TC03
{{ config(incremental_strategy='merge', unique_key='order_id') }}

select order_id, status, _commit_timestamp
from {{ ref('bronze_orders') }}
{% if is_incremental() %}
where _commit_timestamp > (select max(_commit_timestamp) from {{ this }})
{% endif %}
