-- expect: safe
{{ config(unique_key='bill_id') }}

select
    bill_id,
    case when due_at < now() then 'overdue' else 'open' end as state,
    now() as built_at,
    updated_at
from {{ ref('stg_bills') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), '1900-01-03'::timestamp) - interval '2 days' from {{ this }})
{% endif %}
