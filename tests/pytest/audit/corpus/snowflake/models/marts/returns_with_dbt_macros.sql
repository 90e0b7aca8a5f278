-- expect: at risk TC01
{{ config(unique_key='return_id') }}

select return_id, reason, updated_at
from {{ ref('stg_returns') }}
{% if is_incremental() %}
where updated_at > {{ dbt.dateadd(datepart='day', interval=-3, from_date_or_timestamp=dbt.current_timestamp()) }}
{% endif %}
