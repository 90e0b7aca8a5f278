-- expect: safe
{{ config(unique_key='stop_id') }}

with stops as (
    select
        stop_id,
        arrived_at,
        row_number() over (partition by stop_id order by arrived_at desc) as place
    from {{ ref('stg_stops') }}
    {% if is_incremental() %}
    where arrived_at >= (select dateadd(day, -2, coalesce(max(arrived_at), '1900-01-03')) from {{ this }})
    {% endif %}
)

select stop_id, arrived_at from stops where place = 1
