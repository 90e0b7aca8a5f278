-- expect: at risk TC01 TC03
{{ config(unique_key='quote_id') }}

select quote_id, amount, updated_at
from {{ ref('stg_quotes') }}
{% if is_incremental() %}
where updated_at > (select coalesce(max(updated_at), '1900-01-01') from {{ this }})
    and updated_at <= current_timestamp()
{% endif %}
