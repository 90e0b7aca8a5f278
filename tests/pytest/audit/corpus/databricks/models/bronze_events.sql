-- expect: at risk TC01
{{ config(incremental_strategy='insert_overwrite', partition_by=['event_date']) }}

select event_id, event_date, payload
from {{ source('lake', 'events') }}
{% if is_incremental() %}
where event_date >= date_sub(current_date(), 3)
{% endif %}
