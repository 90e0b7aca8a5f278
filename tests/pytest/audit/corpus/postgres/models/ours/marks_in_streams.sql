-- expect: safe
{{ config(unique_key='mark_id') }}

select m.mark_id, m.changed_at, 'north' as school
from {{ two_clocks.windowed(source('north', 'marks'), 'changed_at', stream='north', target_filter="school = 'north'") }} as m
union all
select m.mark_id, m.changed_at, 'south' as school
from {{ two_clocks.windowed(source('south', 'marks'), 'changed_at', stream='south', target_filter="school = 'south'") }} as m
