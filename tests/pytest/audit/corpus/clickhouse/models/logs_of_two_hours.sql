-- expect: loses rows TC01
{{ config(unique_key='log_id', incremental_strategy='delete+insert', order_by='log_id') }}

select log_id, logged_at
from {{ source('chain', 'logs') }}
{% if is_incremental() %}
where logged_at >= subtractHours(now(), 2)
{% endif %}
