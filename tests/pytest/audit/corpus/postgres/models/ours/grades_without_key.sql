-- expect: at risk TC04
select gg.id as grade_id, gg.userid, gg.finalgrade, gg.timemodified
from {{ two_clocks.windowed(source('ods', 'grade_grades'), 'timemodified', lookback='2 days') }} as gg
