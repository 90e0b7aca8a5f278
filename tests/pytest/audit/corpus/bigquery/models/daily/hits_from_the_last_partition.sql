-- expect: safe
{{ config(partition_by={'field': 'hit_date', 'data_type': 'date'}) }}

select hit_id, date(hit_at) as hit_date
from {{ ref('stg_hits') }}
{% if is_incremental() %}
where date(hit_at) >= date_sub(date(_dbt_max_partition), interval 2 day)
{% endif %}
