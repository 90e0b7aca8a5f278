-- expect: at risk TC07 TC10
{{ config(unique_key='activity_id') }}

select activity_id, happened_at, 'web' as origin
from {{ ref('stg_web_activity') }}
{% if is_incremental() %}
where happened_at >= (select coalesce(max(happened_at), '1900-01-01') from {{ this }})
{% endif %}

union all

select activity_id, happened_at, 'mobile' as origin
from {{ ref('stg_mobile_activity') }}
{% if is_incremental() %}
where happened_at >= (select coalesce(max(happened_at), '1900-01-01') from {{ this }})
{% endif %}
