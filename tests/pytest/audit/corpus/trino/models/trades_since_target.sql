-- expect: safe
{{ config(unique_key=['tx_hash', 'log_index']) }}

select tx_hash, log_index, block_time
from {{ source('dex', 'swaps') }}
{% if is_incremental() %}
where block_time >= (select coalesce(max(block_time), timestamp '2015-01-01') - interval '2' day from {{ this }})
{% endif %}
