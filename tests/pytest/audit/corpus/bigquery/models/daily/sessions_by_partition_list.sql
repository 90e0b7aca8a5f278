-- expect: at risk TC01
{% set partitions_to_replace = [
    'timestamp(current_date)',
    'timestamp(date_sub(current_date, interval 1 day))',
    'timestamp(date_sub(current_date, interval 2 day))'
] %}
{{ config(
    partition_by={'field': 'session_start', 'data_type': 'timestamp'},
    partitions=partitions_to_replace
) }}

select session_id, session_start, channel
from {{ ref('stg_sessions') }}
{% if is_incremental() %}
where timestamp_trunc(session_start, day) in ({{ partitions_to_replace | join(',') }})
{% endif %}
