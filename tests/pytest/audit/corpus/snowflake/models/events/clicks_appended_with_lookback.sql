-- expect: at risk TC04
select click_id, session_id, clicked_at
from {{ ref('stg_clicks') }}
{% if is_incremental() %}
where clicked_at >= (select coalesce(max(clicked_at), '1900-01-04'::timestamp) - interval '3 days' from {{ this }})
{% endif %}
