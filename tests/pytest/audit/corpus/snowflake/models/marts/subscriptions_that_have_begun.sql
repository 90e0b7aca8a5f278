-- expect: safe
{{ config(unique_key='subscription_id') }}

select subscription_id, starts_at, updated_at
from {{ ref('stg_subscriptions') }}
where starts_at < current_timestamp()
{% if is_incremental() %}
    and updated_at >= (select dateadd(day, -2, coalesce(max(updated_at), '1900-01-03'::timestamp)) from {{ this }})
{% endif %}
