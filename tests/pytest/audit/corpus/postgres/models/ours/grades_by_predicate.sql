-- expect: safe
{{ config(unique_key='grade_id') }}
{% set w = two_clocks.window(source('ods', 'grade_grades'), 'timemodified') %}

select id as grade_id, timemodified
from {{ source('ods', 'grade_grades') }}
where {{ w.predicate }}
