-- expect: safe
{{ config(unique_key='person_id') }}

select person_id, created_at, changed_at
from {{ ref('stg_people') }}
{% if is_incremental() %}
where changed_at >= (select coalesce(max(changed_at), '1900-01-02'::timestamp) - interval '1 day' from {{ this }})
    or created_at >= (select coalesce(max(created_at), '1900-01-02'::timestamp) - interval '1 day' from {{ this }})
{% endif %}
