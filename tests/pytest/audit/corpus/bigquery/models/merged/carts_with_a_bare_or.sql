-- expect: at risk TC06
{{ config(
    unique_key='cart_id',
    incremental_predicates=["DBT_INTERNAL_DEST.country = 'DE' or DBT_INTERNAL_DEST.country is null"]
) }}

select cart_id, country, updated_at
from {{ ref('stg_carts') }}
{% if is_incremental() %}
where updated_at >= (select timestamp_sub(coalesce(max(updated_at), timestamp '1970-01-02'), interval 1 day) from {{ this }})
{% endif %}
