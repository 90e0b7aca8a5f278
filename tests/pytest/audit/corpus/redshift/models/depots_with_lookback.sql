-- expect: safe
{{ config(unique_key='depot_id') }}

select depot_id, updated_at
from {{ ref('stg_depots') }}
{% if is_incremental() %}
where updated_at >= (select nvl(dateadd(hour, -36, max(updated_at)), '1900-01-01'::timestamp) from {{ this }})
{% endif %}
