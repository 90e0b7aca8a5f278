{#-
  The data clock, where it is older than allowed or missing. One pass over the rows.

  rows       what is read: a relation, or the subquery that dbt makes of a `where`
  relation   the Relation behind it, if the test named one, to say its name
-#}
{% macro stale_clock_sql(rows, relation, watermark, max_age, time_zone=none, epoch=none) %}
  {%- set place = two_clocks._place_of(relation) -%}
  {%- set limit = two_clocks._read_duration({'value': max_age, 'name': 'max_age'}, '36 hours') -%}
  {%- if not two_clocks._is_there(relation) -%}
    {{ return(two_clocks._finding_sql('there is no such table, so there is no data clock', place, 'create it, or correct the name in the test')) }}
  {%- endif -%}
  {%- set mark = two_clocks._watermark_of(rows, watermark, time_zone, epoch) -%}
  {%- do two_clocks._must_be_a_time(mark, rows, watermark, place) -%}
  {%- set text = dbt.type_string() -%}
with wall as (
  select {{ two_clocks.logical_now_sql() }} as wall_clock
),
due as (
  select wall.wall_clock, {{ two_clocks.watermark_from_utc('wall.wall_clock', mark.kind, mark.units_per_second, time_zone, mark.type) }} as due from wall
),
seen as (
  select
    count(*) as rows_seen,
    sum(case when marks.watermark is null then 1 else 0 end) as rows_null,
    sum(case when marks.watermark > (select due.due from due) then 1 else 0 end) as rows_ahead,
    max(case when marks.watermark <= (select due.due from due) then marks.watermark end) as s,
    min(case when marks.watermark > (select due.due from due) then marks.watermark end) as first_ahead
  from (select {{ mark.sql }} as watermark from {{ rows }}) as marks
),
clock as (
  select
    seen.*,
    due.wall_clock,
    {{ two_clocks.watermark_to_utc('seen.s', mark.kind, mark.units_per_second, time_zone) }} as s_utc,
    {{ two_clocks.watermark_to_utc('seen.first_ahead', mark.kind, mark.units_per_second, time_zone) }} as first_ahead_utc
  from seen
  cross join due
),
aged as (
  select clock.*, {{ two_clocks.seconds_between('clock.s_utc', 'clock.wall_clock', 'timestamp', none) }} as age_seconds
  from clock
)
select
  case
    when aged.rows_seen = 0 then {{ two_clocks.text_literal(two_clocks._empty_sentence()) }}
    when aged.s is null then 'there is no data clock: of ' || aged.rows_seen || ' rows ' || aged.rows_null || ' have no watermark and ' || aged.rows_ahead || ' lie ahead of the wall clock'
      || case when aged.rows_ahead > 0 then ', the nearest at ' || cast(aged.first_ahead_utc as {{ text }}) else '' end
    else 'the data clock is ' || {{ two_clocks._span_sql('aged.age_seconds') }} || ' old, more than the ' || {{ two_clocks.text_literal(limit.text if not limit.is_number else limit.text ~ ' seconds') }}
      || ' allowed: S is ' || cast(aged.s_utc as {{ text }})
      || case when aged.rows_ahead > 0 then ' (and ' || aged.rows_ahead || ' rows lie ahead of the wall clock)' else '' end
  end as what_happened,
  cast({{ two_clocks.text_literal(place ~ ', column ' ~ watermark) }} as {{ text }}) as where_,
  case
    when aged.rows_seen = 0 then {{ two_clocks.text_literal(two_clocks._empty_advice()) }}
    when aged.s is null and aged.rows_ahead > 0 then 'if these are local times, name their zone with time_zone; else ask who writes them'
    when aged.s is null then 'ask the job that fills this column'
    else 'ask the job that loads it; what it brings late is read by the next window'
  end as what_to_do,
  aged.age_seconds,
  cast(aged.s_utc as {{ text }}) as source_watermark,
  cast(aged.wall_clock as {{ text }}) as wall_clock
from aged
where aged.s is null or aged.age_seconds > {{ limit.amount }}
{% endmacro %}


{# a relation as messages name it; a test without one stands on the table itself #}
{% macro _place_of(relation) %}
  {% if relation is not none %}{{ return('relation ' ~ two_clocks._plain_name(relation | string)) }}{% endif %}
  {% set id = model.attached_node or (model.depends_on.nodes | default([]) | first | default(model.name)) %}
  {{ return(id.split('.')[0] ~ ' ' ~ id.split('.')[2:] | join('.')) }}
{% endmacro %}


{# asks the database, so that a source which is not there is a finding with a sentence #}
{% macro _is_there(relation) %}
  {% if relation is none %}
    {% set id = model.attached_node or (model.depends_on.nodes | default([]) | first) %}
    {% set node = graph.nodes.get(id) or graph.sources.get(id) %}
    {{ return(node is none or adapter.get_relation(node.database, node.schema, node.get('alias') or node.identifier) is not none) }}
  {% endif %}
  {% if relation is string or not relation.identifier %}{{ return(true) }}{% endif %}
  {{ return(adapter.get_relation(relation.database, relation.schema, relation.identifier) is not none) }}
{% endmacro %}


{#-
  What a watermark outside of a window is made of: sql, type, kind, units_per_second.
  epoch says the unit of an integer (s, ms, us, id); without it the magnitude tells.
-#}
{% macro _watermark_of(rows, watermark, time_zone=none, epoch=none) %}
  {% if watermark is not string or not watermark | trim %}
    {% do two_clocks._refuse("the watermark is " ~ two_clocks._shown(watermark) ~ "; write the name of a column, or an SQL expression") %}
  {% endif %}
  {% if time_zone is not none and time_zone not in modules.pytz.all_timezones %}
    {% do two_clocks._refuse("time_zone is " ~ two_clocks._shown(time_zone) ~ ", which is no known zone; write a name such as 'Europe/Berlin'") %}
  {% endif %}
  {% set units = {'s': 1, 'ms': 1000, 'us': 1000000, 'id': none} %}
  {% if epoch is not none and epoch not in units %}
    {% do two_clocks._refuse("epoch is " ~ two_clocks._shown(epoch) ~ "; write s, ms, us or id") %}
  {% endif %}
  {% set request = {'relation': rows | string, 'watermark': watermark | trim, 'lookback': none, 'max_window': none, 'time_zone': time_zone,
      'is_column': modules.re.match('^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"|`[^`]+`)$', watermark | trim) is not none} %}
  {% set mark = two_clocks._describe_watermark(request) %}
  {% if epoch is not none and mark.kind == 'integer' %}{% do mark.update({'units_per_second': units[epoch]}) %}{% endif %}
  {{ return(mark) }}
{% endmacro %}


{# freshness of an id means nothing; a column without any value has no unit, and no age either #}
{% macro _must_be_a_time(mark, rows, watermark, place) %}
  {% if mark.kind == 'integer' and mark.units_per_second is none %}
    {% if two_clocks._one_value('select count(' ~ mark.sql ~ ') from ' ~ rows) > 0 %}
      {% do two_clocks._refuse("freshness needs a watermark that is a time, but " ~ watermark ~ " of " ~ place ~ " counts ids; name a time column, or say epoch s, ms or us if it is one") %}
    {% endif %}
    {% do mark.update({'units_per_second': 1}) %}
  {% endif %}
{% endmacro %}
