-- expect: safe
{{ config(unique_key='dose_id') }}

with newest as (
    select coalesce(max(given_at), timestamp '1900-01-03') - interval '2 days' as given_at
    from {% if is_incremental() %}{{ this }}{% else %}(select null::timestamp as given_at) as nothing{% endif %}
)

select d.dose_id, d.given_at
from {{ ref('stg_doses') }} as d
cross join newest
where d.given_at >= newest.given_at
