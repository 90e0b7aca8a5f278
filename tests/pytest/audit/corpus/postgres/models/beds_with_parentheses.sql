-- expect: safe
{{ config(
    unique_key='bed_id',
    incremental_strategy='delete+insert',
    incremental_predicates=["(ward = 'icu' or ward is null)"]
) }}

select bed_id, ward, updated_at
from {{ ref('stg_beds') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), '1900-01-03'::timestamp) - interval '2 days' from {{ this }})
{% endif %}
