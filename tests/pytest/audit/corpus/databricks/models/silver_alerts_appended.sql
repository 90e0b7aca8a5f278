-- expect: at risk TC04 TC10
{{ config(incremental_strategy='append') }}

select alert_id, raised_at
from {{ ref('bronze_alerts') }}
{% if is_incremental() %}
where raised_at >= (select coalesce(max(raised_at), timestamp '1900-01-01') from {{ this }})
{% endif %}
