{{ config(unique_key=['branch', 'id']) }}
select id, 'north' as branch, changed_at
from {{ two_clocks.windowed(source('ods', 'north_feed'), 'changed_at', stream='north', target_filter="branch = 'north'") }} as north
union all
select id, 'south' as branch, changed_at
from {{ two_clocks.windowed(source('ods', 'south_feed'), 'changed_at', stream='south', target_filter="branch = 'south'") }} as south
