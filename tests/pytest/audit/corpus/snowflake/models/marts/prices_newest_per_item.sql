-- expect: safe
{{ config(unique_key='item_id') }}

with changed as (
    select item_id, price, changed_at
    from {{ ref('stg_prices') }}
    {% if is_incremental() %}
    where changed_at >= (select coalesce(max(changed_at), '1900-01-03'::timestamp) - interval '2 days' from {{ this }})
    {% endif %}
)

select item_id, price, changed_at
from changed
qualify row_number() over (partition by item_id order by changed_at desc) = 1
