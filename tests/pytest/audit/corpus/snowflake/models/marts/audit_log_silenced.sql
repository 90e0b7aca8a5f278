-- expect: safe
{{ config(unique_key='entry_id') }}

select entry_id, entered_at
from {{ ref('stg_audit_log') }}
{% if is_incremental() %}
-- two_clocks: ignore TC01 because the log is thrown away after two days anyway
where entered_at >= dateadd(day, -2, current_date)
{% endif %}
