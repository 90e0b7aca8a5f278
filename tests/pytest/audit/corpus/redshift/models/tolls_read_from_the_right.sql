-- expect: at risk TC02 TC03
{{ config(unique_key='toll_id') }}

select toll_id, paid_at
from {{ ref('stg_tolls') }}
{% if is_incremental() %}
where (select max(paid_at) from {{ this }}) < paid_at
{% endif %}
