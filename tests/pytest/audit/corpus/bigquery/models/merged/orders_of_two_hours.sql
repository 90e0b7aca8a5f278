-- expect: loses rows TC01
{{ config(unique_key='order_id') }}

select order_id, status, updated_at
from `raw.shop.orders`
{% if is_incremental() %}
where updated_at > timestamp_sub(current_timestamp(), interval 2 hour)
{% endif %}
