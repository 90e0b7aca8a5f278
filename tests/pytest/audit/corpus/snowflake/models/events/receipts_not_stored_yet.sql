-- expect: safe
select receipt_id, store_id, printed_at
from {{ ref('stg_receipts') }}
{% if is_incremental() %}
where receipt_id not in (select receipt_id from {{ this }})
{% endif %}
