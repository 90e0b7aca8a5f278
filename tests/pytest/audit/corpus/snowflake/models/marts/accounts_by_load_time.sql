-- expect: loses rows TC05
{{ config(unique_key='account_id') }}

select
    account_id,
    plan,
    updated_at,
    current_timestamp() as _loaded_at
from {{ ref('stg_accounts') }}
{% if is_incremental() %}
where updated_at > (select coalesce(max(_loaded_at), '1900-01-01') from {{ this }})
{% endif %}
