-- expect: safe
{{ config(unique_key='user_id') }}

select user_id, last_seen_at
from {{ ref('stg_users') }}
where last_seen_at >= timestamp_sub(current_timestamp(), interval 730 day)
{% if is_incremental() %}
    and last_seen_at >= (select timestamp_sub(coalesce(max(last_seen_at), timestamp '1970-01-02'), interval 1 day) from {{ this }})
{% endif %}
