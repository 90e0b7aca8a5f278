-- expect: safe
{{ config(partition_by={'field': 'ad_date', 'data_type': 'date'}) }}

select ad_date, campaign, clicks
from {{ ref('stg_ads') }}
{% if is_incremental() %}
where ad_date >= (select date_sub(coalesce(max(ad_date), date '1970-01-08'), interval 7 day) from {{ this }})
{% endif %}
