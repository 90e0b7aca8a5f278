{#-
  Gaps: ranges between two windows in a row that no window ever read, and ranges that windows leave out because nothing in them can be read.

  Takes `scope` (see _scope.sql) and, in a test, the tested relation, which must hold a row. Returns SQL, one row per gap; `signal` is gap,
  left_out (an open range; see ../quarantine/open_ranges.sql) or never_ran.
  A window without a lower end (a first build, a full refresh, an emptied target) reads everything below its upper end, so only windows
  since the last one of that kind count. A later window or a backfill that reads the range closes it. Where there was none of that kind, the target
  is older than its ledger: what lies below the first window was never this package's to read, whatever has been backfilled down there.
-#}
{% macro gaps_sql(scope, tested=none) %}
with {{ two_clocks.signal_ctes(scope) }},
read_ as (
  select
    attempts.*,
    {{ two_clocks._order_sql('attempts', 'window_from') }} as from_key,
    {{ two_clocks._order_sql('attempts', 'window_to') }} as to_key
  from attempts
  where attempts.status = 'succeeded' and attempts.window_to_value is not null
),
last_whole as (
  select model, stream_name, max(started_at) as started_at
  from read_
  where window_from_value is null
  group by model, stream_name
),
first_regular as (
  select model, stream_name, min(started_at) as started_at
  from read_
  where kind <> 'backfill'
  group by model, stream_name
),
since as (
  select read_.*, last_whole.started_at is not null as has_whole, first_from.from_key as adopted_key
  from read_
  left join last_whole
    on read_.model = last_whole.model and read_.stream_name = last_whole.stream_name
  left join (
    select read_.model, read_.stream_name, min(read_.from_key) as from_key
    from read_
    inner join first_regular
      on read_.model = first_regular.model and read_.stream_name = first_regular.stream_name and read_.started_at = first_regular.started_at
    where read_.kind <> 'backfill'
    group by read_.model, read_.stream_name
  ) as first_from
    on read_.model = first_from.model and read_.stream_name = first_from.stream_name
  where last_whole.started_at is null or read_.started_at >= last_whole.started_at
),
ordered as (
  select
    since.*,
    max(since.to_key) over (
      partition by since.model, since.stream_name
      order by case when since.from_key is null then 0 else 1 end, since.from_key, since.to_key
      rows between unbounded preceding and 1 preceding
    ) as read_up_to_key
  from since
),
holes as (
  select * from ordered
  where read_up_to_key is not null and from_key is not null and from_key > read_up_to_key and (has_whole or from_key > adopted_key)
),
edges as (
  select
    holes.*,
    before_hole.window_to as edge,
    before_hole.window_to_value as edge_value,
    row_number() over (partition by holes.window_id, holes.model, holes.stream_name order by before_hole.started_at desc) as edge_rank
  from holes
  inner join since as before_hole
    on holes.model = before_hole.model and holes.stream_name = before_hole.stream_name and holes.read_up_to_key = before_hole.to_key
),
findings as (
  select
    'never_ran' as signal,
    expected.model,
    cast(null as {{ dbt.type_string() }}) as stream,
    'no window of it was ever read, so nothing says that its windows join' as what_happened,
    'model ' || expected.name as where_,
    'dbt run --select ' || expected.name as what_to_do,
    cast(null as {{ dbt.type_string() }}) as gap_from,
    cast(null as {{ dbt.type_string() }}) as gap_to
  from expected
  where not exists (select 1 from attempts where attempts.model = expected.model and attempts.status in ('succeeded', 'skipped'))

  union all
  select
    'gap' as signal,
    edges.model,
    nullif(edges.stream_name, '') as stream,
    'no window ever read the watermarks between ' || coalesce(cast(edges.edge as {{ dbt.type_string() }}), edges.edge_value) || ' and ' || {{ two_clocks._mark_sql('edges', 'window_from') }} as what_happened,
    {{ two_clocks._place_sql('edges') }} || ', before ' || {{ two_clocks._range_sql('edges') }} as where_,
    'dbt run --select ' || edges.name || ' --vars ''{two_clocks_backfill_from: "' || edges.edge_value || '", two_clocks_backfill_to: "' || edges.window_from_value
      || '"}'' and find out what moved the target''s watermark past its source' as what_to_do,
    edges.edge_value as gap_from,
    edges.window_from_value as gap_to
  from edges
  where edges.edge_rank = 1
  {%- if two_clocks._open_ranges_exist() %}

  union all
  select
    'left_out' as signal,
    open_.model,
    open_.stream,
    open_.what_happened,
    open_.where_,
    open_.what_to_do,
    open_.lower_value as gap_from,
    open_.upper_value as gap_to
  from ({{ two_clocks.range_signals_sql(scope) }}) as open_
  where not exists (select 1 from expected_streams as listed where listed.model = open_.model)
    or exists (select 1 from expected_streams as listed where listed.model = open_.model and listed.stream_name = coalesce(open_.stream, ''))
  {%- endif %}
)
select what_happened, where_, what_to_do, signal, model, stream, gap_from, gap_to
from findings
{%- if tested %}
union all
{{ two_clocks._empty_table_sql(tested, scope[0], {'signal': 'text', 'model': 'text', 'stream': 'text', 'gap_from': 'text', 'gap_to': 'text'}) }}
{%- endif %}
{% endmacro %}
