-- expect: at risk TC05
{{ config(unique_key='claim_id') }}

select
    claim_id,
    state,
    coalesce(updated_at, now()) as updated_at
from {{ ref('stg_claims') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }})
{% endif %}
