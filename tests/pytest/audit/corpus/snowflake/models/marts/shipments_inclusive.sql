-- expect: at risk TC10
{{ config(unique_key='shipment_id') }}

select shipment_id, carrier, updated_at
from {{ ref('stg_shipments') }}
{% if is_incremental() %}
where updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})
{% endif %}
