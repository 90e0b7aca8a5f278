{#-
  Silence: models and streams whose last windows brought no fresh row, and why.

  Takes `scope` (see _scope.sql) and, in a test, the tested relation, which must hold a row. Returns SQL, one row per finding. `signal` is one of
    never_ran     no window was ever recorded, or every attempt failed
    vanished      a stream stopped being read while other streams of its model go on
    blind         the source moved, or rows lay in the window, and none was written
    stood_still   the source did not move
    not_counted   the windows were written by a strategy that does not count its rows

  rows_extracted alone tells nothing: a look-back re-reads stored rows while the source stands still. What does:
    - S moved past the end of the last fresh window, and still nothing was written;
    - the query returned nothing at all, although the row that gave T lies in every window;
    - rows came and went to quarantine, every one of them.
  A source that rests is no fault in its quiet times: windows whose wall clock lies in one are not counted. Blindness is a fault at any time.
  Where max_blind_windows is set, windows that brought late rows alone do not hide it either.
-#}
{% macro silence_sql(scope, tested=none) %}
with {{ two_clocks.signal_ctes(scope) }},
last_fresh as (
  select model, stream_name, min(recency) as recency
  from windows
  where rows_fresh > 0
  group by model, stream_name
),
streaks as (
  select
    windows.model,
    windows.stream_name,
    count(*) as windows_at_all,
    sum(case when windows.is_quiet = 1 then 0 else 1 end) as windows_counted,
    sum(case when windows.status = 'failed' then 1 else 0 end) as failed,
    sum(case when windows.status = 'succeeded' and windows.rows_extracted is null then 1 else 0 end) as not_counted,
    max(windows.started_at) as last_started_at
  from windows
  left join last_fresh
    on windows.model = last_fresh.model and windows.stream_name = last_fresh.stream_name
  where last_fresh.recency is null or windows.recency < last_fresh.recency
  group by windows.model, windows.stream_name
),
silent as (
  select
    newest.*,
    streaks.windows_at_all,
    streaks.windows_counted,
    streaks.failed,
    streaks.not_counted,
    base.started_at as last_fresh_at,
    base.window_to as base_window_to,
    coalesce({{ two_clocks._mark_sql('base', 'window_to') }}, 'none') as base_mark,
    coalesce({{ two_clocks._order_sql('newest', 'source_watermark') }} > {{ two_clocks._order_sql('base', 'window_to') }}, base.window_to_value is null and newest.source_watermark_value is not null) as source_moved,
    coalesce({{ two_clocks._order_sql('newest', 'source_watermark') }} < {{ two_clocks._order_sql('newest', 'target_watermark') }}, false) as source_is_behind
  from streaks
  inner join windows as newest
    on streaks.model = newest.model and streaks.stream_name = newest.stream_name and newest.recency = 1
  left join last_fresh
    on streaks.model = last_fresh.model and streaks.stream_name = last_fresh.stream_name
  left join windows as base
    on last_fresh.model = base.model and last_fresh.stream_name = base.stream_name and last_fresh.recency = base.recency
  where
    -- rows from before a model had streams carry no name
    newest.stream_name <> ''
    or not exists (select 1 from windows as other where other.model = newest.model and other.stream_name <> '' and other.started_at > newest.started_at)
),
weighed as (
  select
    silent.*,
    case
      when silent.window_to_value is null or silent.status <> 'succeeded' then 0
      when silent.source_moved then 1
      when silent.rows_extracted = 0 then 1
      when silent.rows_extracted > 0 and silent.rows_extracted = silent.rows_quarantined then 1
      else 0
    end as is_blind
  from silent
),
judged as (
  select
    weighed.*,
    case when weighed.is_blind = 1 then weighed.windows_at_all else weighed.windows_counted end as windows_in_a_row,
    case
      when weighed.failed = weighed.windows_at_all and weighed.last_fresh_at is null then 'never_ran'
      when weighed.is_blind = 1 and weighed.not_counted = 0 and weighed.windows_at_all - weighed.failed >= weighed.max_blind_windows then 'blind'
      when weighed.windows_counted < weighed.max_windows then null
      when weighed.not_counted > 0 then 'not_counted'
      -- a source that moved on did not stand still: what failed is to blame
      when weighed.failed = weighed.windows_at_all or (weighed.failed > 0 and weighed.source_moved) then 'failing'
      else 'stood_still'
    end as signal
  from weighed
),
last_newer as (
  select model, stream_name, min(recency) as recency
  from windows
  where rows_newer > 0
  group by model, stream_name
),
late_only as (
  select
    newest.*,
    {{ two_clocks._mark_sql('base', 'window_to') }} as base_mark,
    (select count(*) from windows as since where since.model = newest.model and since.stream_name = newest.stream_name
       and since.recency < base.recency and since.status = 'succeeded') as windows_in_a_row
  from last_newer
  inner join windows as base
    on last_newer.model = base.model and last_newer.stream_name = base.stream_name and last_newer.recency = base.recency
  inner join windows as newest
    on last_newer.model = newest.model and last_newer.stream_name = newest.stream_name and newest.recency = 1
  where newest.judges_newer_rows = 1
    and newest.status = 'succeeded' and newest.rows_extracted is not null
    and {{ two_clocks._order_sql('newest', 'source_watermark') }} > {{ two_clocks._order_sql('base', 'window_to') }}
    and not exists (select 1 from judged where judged.model = newest.model and judged.stream_name = newest.stream_name and judged.signal is not null)
),
never_recorded as (
  select expected.*, coalesce(listed.stream_name, '') as stream_name
  from expected
  left join expected_streams as listed on expected.model = listed.model
  where not exists (
    select 1 from windows
    where windows.model = expected.model and (listed.stream_name is null or windows.stream_name = listed.stream_name)
  )
),
last_of_stream as (
  select model, name, stream_name, max_windows, max(started_at) as last_started_at
  from windows
  group by model, name, stream_name, max_windows
),
vanished as (
  select
    last_of_stream.*,
    (select count(distinct later.invocation_id) from windows as later
     where later.model = last_of_stream.model and later.started_at > last_of_stream.last_started_at and later.invocation_id <> gone.invocation_id) as runs_without
  from last_of_stream
  inner join windows as gone
    on last_of_stream.model = gone.model and last_of_stream.stream_name = gone.stream_name and gone.recency = 1
  where last_of_stream.stream_name <> ''
),
findings as (
  select
    'never_ran' as signal,
    never_recorded.model,
    never_recorded.stream_name,
    case when never_recorded.built then 'the ledger holds no window of it, although its table exists' else 'it never ran: it has no table and no window' end as what_happened,
    {{ two_clocks._place_sql('never_recorded') }} as where_,
    case when never_recorded.built
         then 'see that its post-hook is two_clocks.record_window() and that it reads through two_clocks.windowed(), then dbt run --select ' || never_recorded.name
         else 'dbt run --select ' || never_recorded.name end as what_to_do,
    cast(0 as {{ dbt.type_bigint() }}) as windows_in_a_row,
    cast(null as {{ dbt.type_string() }}) as last_fresh_at,
    cast(null as {{ dbt.type_string() }}) as window_
  from never_recorded

  union all
  select
    judged.signal,
    judged.model,
    judged.stream_name,
    case judged.signal
      when 'never_ran' then 'it never ran through: all of its ' || judged.windows_at_all || ' windows failed, the last with: ' || coalesce(judged.message, 'no message')
      when 'not_counted' then 'its last ' || judged.windows_at_all || ' windows do not say how many rows they wrote, so silence cannot be told from work'
      else judged.windows_in_a_row || case when judged.windows_in_a_row = 1 then ' window' else ' windows in a row' end || ' brought no fresh row: '
        || case judged.signal
          when 'failing' then case when judged.failed = judged.windows_at_all then 'all' else {{ two_clocks._number_sql('judged.failed') }} end || ' of them failed' || case when judged.status = 'failed' then ', the last with: ' || coalesce(judged.message, 'no message') else '' end
          when 'blind' then
            case when judged.source_moved
                 then 'the model was blind while its source moved on from ' || judged.base_mark || ' to ' || {{ two_clocks._mark_sql('judged', 'source_watermark') }}
                      || ' (' || coalesce({{ two_clocks._number_sql('judged.rows_extracted') }}, 'no') || ' rows extracted by the last one)'
                 when judged.rows_extracted = 0
                 then 'the model was blind: source rows lie in the window, and its query returned none of them'
                 else 'all ' || {{ two_clocks._number_sql('judged.rows_extracted') }} || ' rows that the last one extracted went to quarantine' end
          else 'the source stood still, '
            || case when judged.source_watermark_value is null then 'it shows no row that is due'
                    when judged.source_is_behind then 'it even lies behind the target (S ' || {{ two_clocks._mark_sql('judged', 'source_watermark') }} || ', T ' || {{ two_clocks._mark_sql('judged', 'target_watermark') }} || ')'
                    else 'its newest watermark is still ' || {{ two_clocks._mark_sql('judged', 'source_watermark') }} end
          end
        || case when judged.failed > 0 and judged.signal <> 'failing' then ' (' || judged.failed || ' of them failed)' else '' end
    end as what_happened,
    {{ two_clocks._place_sql('judged') }} || ', ' || {{ two_clocks._range_sql('judged') }} as where_,
    case judged.signal
      when 'never_ran' then 'mend what the message says, then dbt run --select ' || judged.name
      when 'failing' then 'mend what the message says, then dbt run --select ' || judged.name || ': it starts again where the last success ended'
      when 'not_counted' then 'use incremental_strategy newest_wins, or drop this test'
      when 'blind' then 'compare the filters and joins of the model with the rows of ' || judged.source_relation || ' after ' || judged.base_mark || '; once mended, the next run delivers them. If so few rows pass by intent, raise max_blind_windows (now ' || judged.max_blind_windows || ')'
      else 'ask the job that loads ' || judged.source_relation || '; if the source may rest this long, raise max_windows (now ' || judged.max_windows || ') or name its rests in quiet'
    end as what_to_do,
    judged.windows_in_a_row,
    {{ two_clocks._number_sql('judged.last_fresh_at') }} as last_fresh_at,
    {{ two_clocks._range_sql('judged') }} as window_
  from judged
  where judged.signal is not null

  union all
  select
    'blind' as signal,
    late_only.model,
    late_only.stream_name,
    late_only.windows_in_a_row || case when late_only.windows_in_a_row = 1 then ' window' else ' windows in a row' end || ' brought late rows and none newer than ' || late_only.base_mark
      || ': the model was blind while its source moved on to ' || {{ two_clocks._mark_sql('late_only', 'source_watermark') }} as what_happened,
    {{ two_clocks._place_sql('late_only') }} || ', ' || {{ two_clocks._range_sql('late_only') }} as where_,
    'compare the filters and joins of the model with the rows of ' || late_only.source_relation || ' after ' || late_only.base_mark
      || '; once mended, the next run delivers them. If so few rows pass by intent, raise max_blind_windows (now ' || late_only.max_blind_windows || ')' as what_to_do,
    late_only.windows_in_a_row,
    cast(null as {{ dbt.type_string() }}) as last_fresh_at,
    {{ two_clocks._range_sql('late_only') }} as window_
  from late_only
  where late_only.windows_in_a_row >= late_only.max_blind_windows

  union all
  select
    'vanished' as signal,
    vanished.model,
    vanished.stream_name,
    'the stream vanished: ' || vanished.runs_without || ' runs of its model read other streams and not this one' as what_happened,
    {{ two_clocks._place_sql('vanished') }} as where_,
    'bring its windowed(..., stream=''' || vanished.stream_name || ''') back, or name the streams that are left in the test: streams: [...]' as what_to_do,
    vanished.runs_without as windows_in_a_row,
    {{ two_clocks._number_sql('vanished.last_started_at') }} as last_fresh_at,
    cast(null as {{ dbt.type_string() }}) as window_
  from vanished
  where vanished.runs_without >= vanished.max_windows
)
select what_happened, where_, what_to_do, signal, model, nullif(stream_name, '') as stream, windows_in_a_row, last_fresh_at, window_
from findings
{%- if tested %}
union all
{{ two_clocks._empty_table_sql(tested, scope[0], {'signal': 'text', 'model': 'text', 'stream': 'text', 'windows_in_a_row': 'number', 'last_fresh_at': 'text', 'window_': 'text'}) }}
{%- endif %}
{% endmacro %}
