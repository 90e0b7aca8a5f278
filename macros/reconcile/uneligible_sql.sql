{#-
  Rows of a model's source that no window reads, because their watermark is NULL or in the future: one row with unmarked, future
  and future_latest (text). `watermark` is SQL, kind, units and type as in window(). Pure.
-#}
{% macro uneligible_sql(relation, watermark, kind, units, type, time_zone) %}
  {%- set is_id = kind == 'integer' and units is none -%}
  with clock as (
    select {{ 'cast(null as ' ~ type ~ ')' if is_id else two_clocks.watermark_from_utc('wall.wall_clock', kind, units, time_zone, type) }} as due
    from (select {{ two_clocks.logical_now_sql() }} as wall_clock) as wall
  ),
  counts as (
    select
      sum(case when {{ watermark }} is null then 1 else 0 end) as unmarked,
      sum(case when {{ watermark }} > (select clock.due from clock) then 1 else 0 end) as future,
      max(case when {{ watermark }} > (select clock.due from clock) then {{ watermark }} end) as future_latest
    from {{ relation }}
  )
  select coalesce(counts.unmarked, 0) as unmarked, coalesce(counts.future, 0) as future,
    {{ two_clocks.exact_text(two_clocks.watermark_to_utc('counts.future_latest', kind, units, time_zone), 'timestamp') if not is_id else 'cast(null as ' ~ dbt.type_string() ~ ')' }} as future_latest
  from counts
{% endmacro %}

{# the same for the command line; what to look at comes in the var two_clocks_uneligible #}
{% macro uneligible_query() %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {{ return(two_clocks.uneligible_sql(**var('two_clocks_uneligible'))) }}
{% endmacro %}
