-- expect: safe
{{ config(unique_key='activity_id') }}

{% for app in ['web', 'mobile'] %}
select activity_id, happened_at, '{{ app }}' as origin
from {{ ref('stg_' ~ app ~ '_activity') }}
{% if is_incremental() %}
where happened_at >= (
    select coalesce(dateadd(hour, -48, max(happened_at)), '1900-01-01'::timestamp)
    from {{ this }}
    where origin = '{{ app }}'
)
{% endif %}
{% if not loop.last %}union all{% endif %}
{% endfor %}
