-- expect: at risk TC02 TC03
select beacon_id, seen_at
from {{ ref('stg_beacons') }}
{% if is_incremental() %}
where seen_at > (select max(seen_at) from {{ this }})
{% endif %}
