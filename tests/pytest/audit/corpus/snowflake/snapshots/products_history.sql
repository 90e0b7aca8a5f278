-- expect: safe
{% snapshot products_history %}
{{ config(target_schema='history', unique_key='product_id', strategy='timestamp', updated_at='updated_at') }}

select * from {{ source('shop', 'products') }}
where launched_at <= current_date

{% endsnapshot %}
