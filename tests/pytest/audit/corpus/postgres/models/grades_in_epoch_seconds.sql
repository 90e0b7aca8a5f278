-- expect: safe
{{ config(unique_key='grade_id') }}

select grade_id, finalgrade, timemodified
from {{ ref('stg_grades') }}
{% if is_incremental() %}
where timemodified >= (select coalesce(max(timemodified), 0) - 172800 from {{ this }})
{% endif %}
