-- expect: at risk TC01
{{ config(unique_key='parcel_id') }}

select parcel_id, state, updated_at
from {{ ref('stg_parcels') }}
{% if is_incremental() %}
where updated_at >= getdate() - 3
{% endif %}
