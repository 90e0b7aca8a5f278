-- expect: loses rows TC01
{{ config(unique_key='refund_id') }}

select refund_id, amount, updated_at
from {{ ref('stg_refunds') }}
{% if is_incremental() %}
where updated_at > {{ dbt_utils.dateadd('hour', -12, dbt_utils.current_timestamp()) }}
{% endif %}
