-- expect: safe
{{ config(incremental_strategy='merge', unique_key=['order_id', 'line_no']) }}

select order_id, line_no, quantity, updated_at
from {{ ref('bronze_items') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), timestamp '1900-01-04') - interval 3 days from {{ this }})
{% endif %}
