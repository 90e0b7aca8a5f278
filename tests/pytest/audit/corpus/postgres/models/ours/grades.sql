-- expect: safe
{{ config(unique_key='grade_id') }}

select gg.id as grade_id, gg.userid, gg.finalgrade, gg.timemodified
from {{ two_clocks.windowed(source('ods', 'grade_grades'), 'timemodified') }} as gg
