{#-
  The data clock as SQL, for `dbt source freshness`: the greatest watermark that is not later than the wall clock, in UTC.

      sources:
        - name: ods
          tables:
            - name: grade_grades
              config:
                loaded_at_query: "{% raw %}{{ two_clocks.data_clock_query(this, 'timemodified') }}{% endraw %}"
                freshness: {warn_after: {count: 30, period: hour}, error_after: {count: 54, period: hour}}

  Takes
    relation    `this`, or another relation or view
    watermark   column or SQL expression: timestamp with or without zone, date, epoch integer
    time_zone   zone of timestamps stored without one; default UTC
    epoch       s, ms or us, for integers whose magnitude would not tell
    filter      SQL condition on the rows (dbt applies freshness: filter: only where it writes the query itself)
  Returns a query of one value. It is NULL where there is no clock (no row, all NULL, all in the future), and dbt takes NULL as
  infinitely old. With two_clocks_now the value is moved so that dbt, which measures against the real clock, finds the age
  that it would have had then.
-#}
{% macro data_clock_query(relation, watermark, time_zone=none, epoch=none, filter=none) %}
  {% if not execute %}{{ return('select null') }}{% endif %}
  {%- set rows = '(select * from ' ~ relation ~ ' where ' ~ filter ~ ') as filtered' if filter else relation -%}
  {%- set mark = two_clocks._watermark_of(rows, watermark, time_zone, epoch) -%}
  {%- do two_clocks._must_be_a_time(mark, rows, watermark, two_clocks._plain_name(relation | string)) -%}
  {%- set due = two_clocks.watermark_from_utc('(select wall.wall_clock from wall)', mark.kind, mark.units_per_second, time_zone, mark.type) -%}
  {%- set replayed = two_clocks._replayed_now() -%}
  select {{ two_clocks._moved_to_real_clock('clock.s') if replayed else 'clock.s' }} as data_clock
  from (
    select {{ two_clocks.watermark_to_utc('newest.watermark', mark.kind, mark.units_per_second, time_zone) }} as s
    from (
      with wall as (
        select {{ two_clocks.logical_now_sql() }} as wall_clock
      )
      select max({{ mark.sql }}) as watermark
      from {{ rows }}
      where {{ mark.sql }} <= {{ due }}
    ) as newest
  ) as clock
{% endmacro %}


{# a replayed moment as the real moment that is as long ago from the engine's own clock #}
{% macro _moved_to_real_clock(moment) %}
  {{ return('(' ~ moment ~ ' + (' ~ two_clocks.wall_clock_sql() ~ ' - ' ~ two_clocks.logical_now_sql() ~ '))') }}
{% endmacro %}
