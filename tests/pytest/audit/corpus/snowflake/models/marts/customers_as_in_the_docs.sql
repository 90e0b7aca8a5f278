-- expect: at risk TC02 TC03
{{
    config(
        unique_key='customer_id'
    )
}}

select *
from {{ ref('stg_customers') }}

{% if is_incremental() %}

  where updated_at > (select max(updated_at) from {{ this }})

{% endif %}
