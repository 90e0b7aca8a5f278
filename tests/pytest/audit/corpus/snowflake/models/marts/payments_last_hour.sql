-- expect: loses rows TC01
{{ config(unique_key=['payment_id', 'attempt']) }}

with payments as (

    select * from {{ ref('stg_payments') }}

    {% if is_incremental() %}
    where loaded_at > dateadd('hour', -1, sysdate())
    {% endif %}

)

select payment_id, attempt, amount, loaded_at from payments
