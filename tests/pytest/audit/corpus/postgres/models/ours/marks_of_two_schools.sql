-- expect: at risk TC07
{{ config(unique_key='mark_id') }}

select m.mark_id, m.changed_at, 'north' as school
from {{ two_clocks.windowed(source('north', 'marks'), 'changed_at') }} as m
union all
select m.mark_id, m.changed_at, 'south' as school
from {{ two_clocks.windowed(source('south', 'marks'), 'changed_at') }} as m
