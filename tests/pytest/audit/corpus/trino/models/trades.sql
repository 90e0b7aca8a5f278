-- expect: at risk TC01
{{ config(unique_key=['tx_hash', 'log_index']) }}

select tx_hash, log_index, block_time
from {{ source('dex', 'swaps') }}
{% if is_incremental() %}
where {{ incremental_window('block_time') }}
{% endif %}
