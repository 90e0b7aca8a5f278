{#-
  An export in which everything is text: a thousand grades, one of which is no number. With the var two_clocks_demo_poison
  there are a thousand more, four hundred of them from an exporter that has changed its decimal point.
-#}
{{ config(materialized='table', schema='ods') }}

with digits as (
    {%- for digit in range(10) %}
        select {{ digit }} as digit{{ ' union all' if not loop.last }}
    {%- endfor %}
),

numbers as (
    select 1 + ones.digit + 10 * tens.digit + 100 * hundreds.digit as n
    from digits as ones
    cross join digits as tens
    cross join digits as hundreds
)

select
    n as id,
    1717400000 + n as timemodified,
    case when n = 500 then 'n/a' else cast(n % 100 as {{ dbt.type_string() }}) end as finalgrade
from numbers
{%- if var('two_clocks_demo_poison', false) %}
union all
select
    1000 + n as id,
    1717410000 + n as timemodified,
    cast(n % 100 as {{ dbt.type_string() }}) || case when n <= 400 then ',50' else '.50' end as finalgrade
from numbers
{%- endif %}
