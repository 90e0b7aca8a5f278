-- expect: safe
{{ config(engine='ReplacingMergeTree()', incremental_strategy='append', order_by='(tx, log_index)') }}

select tx, log_index, block_time
from {{ source('chain', 'transfers') }}
{% if is_incremental() %}
where block_time >= (select addDays(max(block_time), -2) from {{ this }})
{% endif %}
