-- expect: at risk TC01
{{ config(unique_key='order_id') }}

select
    order_id,
    customer_id,
    status,
    updated_at
from {{ source('shop', 'orders') }}
{% if is_incremental() %}
where updated_at >= dateadd(day, -3, current_timestamp())
{% endif %}
