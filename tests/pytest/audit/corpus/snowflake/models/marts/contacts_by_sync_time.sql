-- expect: at risk TC03 TC08
{{ config(unique_key='contact_id') }}

select
    contact_id,
    email,
    updated_at
from {{ source('crm', 'contact') }}
{% if is_incremental() %}
where _fivetran_synced > (select coalesce(max(updated_at), '1900-01-01') from {{ this }})
{% endif %}
