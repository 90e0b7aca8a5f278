-- expect: not judged
{{ config(partition_by={'field': 'day', 'data_type': 'date'}) }}

select day, account, amount
from {{ ref('stg_exports') }}
{% if is_incremental() %}
where day = '{{ var("run_date") }}'
{% endif %}
