{{ config(materialized='ephemeral') }}
select DBT_INTERNAL_SOURCE.id
from {{ ref('unit_feed') }} as DBT_INTERNAL_SOURCE
inner join {{ ref('unit_sink') }} as DBT_INTERNAL_DEST on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id
where {{ two_clocks._is_stale('changed_at') }}
