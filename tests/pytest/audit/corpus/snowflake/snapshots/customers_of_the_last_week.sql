-- expect: loses rows TC01
{% snapshot customers_of_the_last_week %}
{{ config(
    target_schema='history',
    unique_key='customer_id',
    strategy='timestamp',
    updated_at='updated_at',
    invalidate_hard_deletes=true
) }}

select * from {{ source('shop', 'customers') }}
where updated_at >= dateadd(day, -7, current_date)

{% endsnapshot %}
