-- expect: at risk TC07 TC10
{{ config(unique_key='pool') }}

with pools as (
    select pool, created_at from {{ source('dex', 'factory_a') }}
    union all
    select pool, created_at from {{ source('dex', 'factory_b') }}
)

select pool, created_at
from pools
{% if is_incremental() %}
where created_at >= (select coalesce(max(created_at), timestamp '2015-01-01') from {{ this }})
{% endif %}
