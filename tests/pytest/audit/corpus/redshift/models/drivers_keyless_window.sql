-- expect: at risk TC01 TC04
select driver_id, updated_at
from {{ ref('stg_drivers') }}
{% if is_incremental() %}
where updated_at >= dateadd(day, -2, getdate())
{% endif %}
