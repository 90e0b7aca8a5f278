-- expect: safe
{{ config(incremental_strategy='merge', unique_key='device_id') }}

select device_id, seen_at
from {{ ref('bronze_devices') }}
{% if is_incremental() %}
where seen_at >= add_months(current_date(), -12)
{% endif %}
