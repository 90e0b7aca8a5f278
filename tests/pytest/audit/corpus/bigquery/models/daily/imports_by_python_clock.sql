-- expect: loses rows TC01
{{ config(partition_by={'field': 'import_date', 'data_type': 'date'}) }}
{% set today = modules.datetime.date.today() %}

select import_date, file_name, row_count
from {{ ref('stg_imports') }}
{% if is_incremental() %}
where import_date = '{{ today }}'
{% endif %}
