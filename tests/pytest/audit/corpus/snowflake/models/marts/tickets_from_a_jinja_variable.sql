-- expect: at risk TC01
{{ config(unique_key='ticket_id') }}
{% set start_date = (run_started_at - modules.datetime.timedelta(days=2)).strftime('%Y-%m-%d') %}

select ticket_id, subject, changed_at
from {{ ref('stg_tickets') }}
{% if is_incremental() %}
where changed_at >= '{{ start_date }}'
{% endif %}
