{{ config(unique_key='id') }}
select id, branch, changed_at
from {{ two_clocks.windowed(source('ods', 'empty_feed'), 'changed_at') }} as feed
