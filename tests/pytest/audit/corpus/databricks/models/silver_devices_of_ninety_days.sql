-- expect: at risk TC01
{{ config(incremental_strategy='merge', unique_key='device_id') }}

select device_id, seen_at
from {{ ref('bronze_devices') }}
{% if is_incremental() %}
where seen_at >= current_timestamp() - interval 90 days
{% endif %}
