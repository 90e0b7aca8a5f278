-- expect: safe
select lab_id, result, updated_at
from {{ ref('stg_labs') }}
{% if is_incremental() %}
where updated_at >= (select max(updated_at) - interval '2 days' from {{ this }})
    or not exists (select 1 from {{ this }})
{% endif %}
