-- expect: nothing
{{ config(materialized='table') }}

select id, updated_at
from {{ source('shop', 'things') }}
{% if is_incremental() %}
where updated_at > dateadd(day, -1, current_date)
{% endif %}
