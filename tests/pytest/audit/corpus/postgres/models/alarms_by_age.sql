-- expect: loses rows TC01
{{ config(unique_key='alarm_id') }}

select alarm_id, raised_at
from {{ ref('stg_alarms') }}
{% if is_incremental() %}
where extract(epoch from now() - raised_at) < 3600
{% endif %}
