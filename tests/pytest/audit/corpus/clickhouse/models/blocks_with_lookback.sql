-- expect: safe
{{ config(unique_key='block_hash', incremental_strategy='delete+insert', order_by='block_hash') }}

select block_hash, block_time
from {{ source('chain', 'blocks') }}
{% if is_incremental() %}
where block_time >= (select max(block_time) - interval 1 day from {{ this }})
{% endif %}
