-- expect: loses rows TC01
{{ config(unique_key='scan_id') }}

select scan_id, scanned_at
from {{ ref('stg_scans') }}
{% if is_incremental() %}
where scanned_at > sysdate - interval '12 hours'
{% endif %}
