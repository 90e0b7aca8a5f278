-- expect: at risk TC02 TC03 TC08
{{ config(unique_key='ward_id') }}

select w.ward_id, w.opened_at
from {{ ref('stg_wards') }} as w
{% if is_incremental() %}
where w.changed_at > (select max(changed_at) from {{ this }})
{% endif %}
