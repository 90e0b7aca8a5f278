-- expect: loses rows TC01
{{ config(unique_key='vital_id') }}

select vital_id, measured_at
from {{ ref('stg_vitals') }}
{% if is_incremental() %}
where measured_at at time zone 'utc' >= (now() at time zone 'utc') - interval '6 hours'
{% endif %}
