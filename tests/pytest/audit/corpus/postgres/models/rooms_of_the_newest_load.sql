-- expect: at risk TC11
{{ config(unique_key='room_id') }}

select room_id, state, loaded_at
from {{ ref('stg_rooms') }}
{% if is_incremental() %}
where loaded_at >= (select max(loaded_at) - interval '1 day' from {{ ref('stg_rooms') }})
{% endif %}
