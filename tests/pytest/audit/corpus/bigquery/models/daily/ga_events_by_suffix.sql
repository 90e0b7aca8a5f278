-- expect: at risk TC01
{{ config(partition_by={'field': 'event_date', 'data_type': 'date'}) }}

select
    parse_date('%Y%m%d', event_date) as event_date,
    event_name,
    user_pseudo_id
from {{ source('ga4', 'events') }}
where true
{% if is_incremental() %}
    and _table_suffix >= format_date('%Y%m%d', date_sub(current_date(), interval 3 day))
{% endif %}
