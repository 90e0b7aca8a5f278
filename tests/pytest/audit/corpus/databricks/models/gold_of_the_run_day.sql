-- expect: loses rows TC01
{{ config(incremental_strategy='insert_overwrite', partition_by=['day']) }}

select day, region, revenue
from {{ ref('silver_sales') }}
{% if is_incremental() %}
where day = '{{ run_started_at.strftime("%Y-%m-%d") }}'
{% endif %}
