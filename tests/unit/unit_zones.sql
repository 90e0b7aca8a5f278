{{ config(materialized='ephemeral') }}
select
    id,
    {{ two_clocks.watermark_to_utc('changed_at', 'timestamp', none, 'Europe/Berlin') }} as in_utc,
    {{ two_clocks.watermark_from_utc('changed_at', 'timestamp', none, 'Europe/Berlin', 'timestamp') }} as in_berlin
from {{ ref('unit_feed') }}
