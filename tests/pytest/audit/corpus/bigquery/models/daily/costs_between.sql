-- expect: at risk TC01
{{ config(partition_by={'field': 'usage_date', 'data_type': 'date'}) }}

select usage_date, service, cost
from {{ ref('stg_costs') }}
{% if is_incremental() %}
where usage_date between date_sub(current_date(), interval 7 day) and current_date()
{% endif %}
