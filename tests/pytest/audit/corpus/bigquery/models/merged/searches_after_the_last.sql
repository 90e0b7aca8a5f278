-- expect: at risk TC02 TC03
{{ config(unique_key='search_id') }}

with
{% if is_incremental() %}
last_run as (
    select max(searched_at) as searched_at from {{ this }}
),
{% endif %}

searches as (
    select s.search_id, s.searched_at, s.term
    from {{ ref('stg_searches') }} as s
    {% if is_incremental() %}
    cross join last_run
    where s.searched_at > last_run.searched_at
    {% endif %}
)

select * from searches
