-- expect: at risk TC03
select note_id, body
from {{ ref('stg_notes') }}
{% if is_incremental() %}
where note_id > (select coalesce(max(note_id), 0) from {{ this }})
{% endif %}
