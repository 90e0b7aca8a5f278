-- expect: at risk TC01
{{ config(unique_key='visit_id') }}

select visit_id, patient_id, updated_at
from {{ ref('stg_visits') }}
{% if is_incremental() %}
where updated_at >= now() - interval '1 day'
{% endif %}
