-- expect: safe
{{ config(unique_key='invoice_id') }}

select invoice_id, total, updated_at
from {{ ref('stg_invoices') }}
{% if is_incremental() %}
where updated_at >= (
    select dateadd(day, -{{ var('lookback_days') }}, coalesce(max(updated_at), '1900-01-04'::timestamp))
    from {{ this }}
)
{% endif %}
