-- expect: at risk TC01
{{ config(unique_key='crash_id') }}

select crash_id, happened_at
from {{ ref('stg_crashes') }}
{% if is_incremental() %}
where date_diff(current_date(), date(happened_at), day) <= 2
{% endif %}
