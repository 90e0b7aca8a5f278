-- expect: at risk TC11
{{ config(incremental_strategy='merge', unique_key='move_id') }}

select move_id, moved_at
from {{ ref('bronze_moves') }}
{% if is_incremental() %}
where moved_at >= (select max(moved_at) - interval 2 days from {{ ref('bronze_moves') }})
{% endif %}
