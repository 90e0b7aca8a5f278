-- expect: at risk TC06
{{ config(
    unique_key='session_id',
    incremental_predicates=["DBT_INTERNAL_DEST.started_at > dateadd(day, -7, current_date)"]
) }}

select session_id, started_at, updated_at
from {{ ref('stg_sessions') }}
{% if is_incremental() %}
where updated_at >= (select dateadd(day, -2, coalesce(max(updated_at), '1900-01-03'::timestamp)) from {{ this }})
{% endif %}
