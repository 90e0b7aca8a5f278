-- expect: safe
select s.scan_id, s.scanned_at
from {{ ref('stg_scans') }} as s
{% if is_incremental() %}
where not exists (
    select 1 from {{ this }} as stored where stored.scan_id = s.scan_id
)
{% endif %}
