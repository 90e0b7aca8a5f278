{{ config(unique_key='grade_id') }}

select gg.id as grade_id, gg.userid, gg.finalgrade, gg.timemodified
from {{ two_clocks.windowed(ref('grade_grades'), 'timemodified') }} as gg
