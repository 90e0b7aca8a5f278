-- expect: safe
{{ config(incremental_strategy='merge', unique_key='job_id') }}

select job_id, finished_at
from {{ ref('bronze_jobs') }}
{% if is_incremental() %}
where finished_at >= least(
    (select coalesce(max(finished_at), timestamp '1900-01-03') - interval 2 days from {{ this }}),
    current_timestamp() - interval 3 days
)
{% endif %}
