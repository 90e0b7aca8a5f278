{#-
  How late rows come, and what each look-back would have caught.

  lateness_in_ledger_sql   from the windows of the ledger: their greatest lateness. It cannot know of rows later than the look-back
                           of their time, since no window read them.
  lateness_of_rows_sql     from the rows themselves, where a column says when a row became visible (`arrived_at`): how far each row
                           lay behind the newest watermark that had arrived before it.
  Both return one row: units (windows or rows seen), late, and the seconds that would have caught 99 %, 99.9 % and all.
-#}
{% macro lateness_in_ledger_sql(model_id, stream=none) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {%- set scope = two_clocks._scope_of_models([{'id': model_id, 'streams': [stream] if stream else none}]) -%}
with {{ two_clocks.signal_ctes(scope) }},
observed as (
  select coalesce(windows.max_lateness_seconds, 0) as lateness, coalesce(windows.rows_late, 0) as rows_late
  from windows
  where windows.status = 'succeeded' and windows.kind = 'incremental' and windows.rows_extracted is not null
),
ranked as (
  select observed.*, cume_dist() over (order by observed.lateness) as share from observed
)
select
  count(*) as units,
  coalesce(sum(ranked.rows_late), 0) as rows_late,
  sum(case when ranked.lateness > 0 then 1 else 0 end) as late,
  min(case when ranked.share >= 0.99 then ranked.lateness end) as catches_99,
  min(case when ranked.share >= 0.999 then ranked.lateness end) as catches_999,
  max(ranked.lateness) as catches_all
from ranked
{% endmacro %}


{% macro lateness_of_rows_sql(relation, watermark, arrived_at, time_zone=none, epoch=none) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
with {{ two_clocks._lateness_ctes(relation, watermark, arrived_at, time_zone, epoch) }},
ranked as (
  select observed.lateness, cume_dist() over (order by observed.lateness) as share from observed
)
select
  count(*) as units,
  sum(case when ranked.lateness > 0 then 1 else 0 end) as rows_late,
  sum(case when ranked.lateness > 0 then 1 else 0 end) as late,
  min(case when ranked.share >= 0.99 then ranked.lateness end) as catches_99,
  min(case when ranked.share >= 0.999 then ranked.lateness end) as catches_999,
  max(ranked.lateness) as catches_all
from ranked
{% endmacro %}


{# rows that each of several look-backs would have missed #}
{% macro rows_outside_sql(relation, watermark, arrived_at, lookbacks, time_zone=none, epoch=none) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
with {{ two_clocks._lateness_ctes(relation, watermark, arrived_at, time_zone, epoch) }}
select
  {%- for seconds in lookbacks %}
  sum(case when observed.lateness > {{ seconds | int }} then 1 else 0 end) as outside_{{ loop.index0 }},
  {%- endfor %}
  count(*) as rows_seen
from observed
{% endmacro %}


{# the newest watermark that had arrived before each arrival, and how far behind it every row lay #}
{% macro _lateness_ctes(relation, watermark, arrived_at, time_zone, epoch) %}
  {%- set mark = two_clocks._watermark_of(relation, watermark, time_zone, epoch) -%}
  {%- do two_clocks._must_be_a_time(mark, relation, watermark, relation) -%}
  {%- set is_column = modules.re.match('^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"|`[^`]+`)$', arrived_at | trim) is not none -%}
  {%- set arrival = two_clocks._column_sql(relation, arrived_at | trim) if is_column else '(' ~ arrived_at ~ ')' -%}
  {%- set due = two_clocks.watermark_from_utc('(select wall.wall_clock from wall)', mark.kind, mark.units_per_second, time_zone, mark.type) -%}
  wall as (
    select {{ two_clocks.logical_now_sql() }} as wall_clock
  ),
  arrivals as (
    select {{ mark.sql }} as mark, {{ arrival }} as arrived
    from {{ relation }}
    where {{ mark.sql }} <= {{ due }} and {{ arrival }} is not null
  ),
  batches as (
    select arrivals.arrived, max(arrivals.mark) as newest from arrivals group by arrivals.arrived
  ),
  clocks as (
    select batches.arrived, max(batches.newest) over (order by batches.arrived rows between unbounded preceding and 1 preceding) as stood_at
    from batches
  ),
  observed as (
    select
      case when clocks.stood_at is null or arrivals.mark >= clocks.stood_at then 0
           else {{ two_clocks.seconds_between('arrivals.mark', 'clocks.stood_at', mark.kind, mark.units_per_second) }} end as lateness
    from arrivals
    inner join clocks on arrivals.arrived = clocks.arrived
  )
{%- endmacro %}


{#- What a run of today would read with each of several look-backs: rows from S minus the look-back up to S. -#}
{% macro rows_reread_sql(relation, watermark, lookbacks, time_zone=none, epoch=none) %}
  {% if not execute %}{{ return('select 1 as one') }}{% endif %}
  {%- set mark = two_clocks._watermark_of(relation, watermark, time_zone, epoch) -%}
  {%- do two_clocks._must_be_a_time(mark, relation, watermark, relation) -%}
  {%- set due = two_clocks.watermark_from_utc('(select wall.wall_clock from wall)', mark.kind, mark.units_per_second, time_zone, mark.type) -%}
with wall as (
  select {{ two_clocks.logical_now_sql() }} as wall_clock
),
newest as (
  select max({{ mark.sql }}) as s from {{ relation }} where {{ mark.sql }} <= {{ due }}
)
select
  {%- for seconds in lookbacks %}
  sum(case when {{ mark.sql }} >= {{ two_clocks.shift_back('(select newest.s from newest)', seconds | int, mark.kind, mark.units_per_second, time_zone, mark.type) }} then 1 else 0 end) as reread_{{ loop.index0 }},
  {%- endfor %}
  count(*) as rows_seen
from {{ relation }}
where {{ mark.sql }} <= (select newest.s from newest)
{% endmacro %}


{# the newest window of every stream of some models: what is in force #}
{% macro windows_in_force_sql(models) %}
  {% if not execute or not models %}{{ return('select 1 as one from (select 1 as one) as nothing where 1 = 0') }}{% endif %}
with {{ two_clocks.signal_ctes(two_clocks._scope_of_models(models)) }}
select windows.model, windows.name, nullif(windows.stream_name, '') as stream, windows.source_relation, windows.watermark_column, windows.lookback_seconds,
  case when windows.source_watermark is null and windows.source_watermark_value is not null then 1 else 0 end as is_id
from windows
where windows.recency = 1
{% endmacro %}


{# a relation of the project by the plain name that the ledger keeps; none where the project has no such source or model #}
{% macro _relation_of_plain_name(name) %}
  {% for node in graph.sources.values() | list + graph.nodes.values() | list if node.resource_type in ['source', 'model', 'seed', 'snapshot'] %}
    {% set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.get('identifier') or node.alias) %}
    {% if two_clocks._plain_name(relation | string) == name %}{{ return(relation) }}{% endif %}
  {% endfor %}
  {{ return(none) }}
{% endmacro %}

{# the same, or a refusal: for queries that read the source itself #}
{% macro _source_of_ledger(name) %}
  {% if not execute %}{{ return(none) }}{% endif %}
  {% set relation = two_clocks._relation_of_plain_name(name) %}
  {% if relation is none %}
    {% do two_clocks._refuse("the ledger names the source " ~ two_clocks._shown(name) ~ ", which is neither a source nor a model of this project, so its rows cannot be counted") %}
  {% endif %}
  {{ return(relation) }}
{% endmacro %}
