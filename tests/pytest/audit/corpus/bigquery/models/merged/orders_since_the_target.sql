-- expect: safe
{{ config(unique_key='order_id') }}

select order_id, status, updated_at
from `raw.shop.orders`
{% if is_incremental() %}
where updated_at >= (
    select timestamp_sub(ifnull(max(updated_at), timestamp '1970-01-03'), interval 48 hour)
    from {{ this }}
)
{% endif %}
