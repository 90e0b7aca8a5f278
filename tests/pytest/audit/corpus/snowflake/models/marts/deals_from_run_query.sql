-- expect: at risk TC03
{{ config(unique_key='deal_id') }}

{% if is_incremental() %}
    {% set result = run_query("select max(modified_at) from " ~ this) %}
    {% set newest = result.columns[0].values()[0] %}
{% endif %}

select deal_id, amount, modified_at
from {{ ref('stg_deals') }}
{% if is_incremental() and newest is not none %}
where modified_at > '{{ newest }}'
{% endif %}
