-- expect: safe
{{ config(incremental_strategy='insert_overwrite', partition_by='toStartOfMonth(day)', order_by='day') }}

select toDate(block_time) as day, count() as blocks
from {{ source('chain', 'blocks') }}
{% if is_incremental() %}
where toStartOfMonth(toDate(block_time)) >= (select toStartOfMonth(max(day)) from {{ this }})
{% endif %}
group by day
