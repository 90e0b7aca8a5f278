{{ config(materialized='ephemeral') }}
select id, note, changed_at
from (
    select *, {{ two_clocks._version_rank(['id'], 'changed_at', ['note']) }} as version_rank
    from {{ ref('unit_feed') }}
) as ranked
where version_rank = 1
