{#-
  Look-back headroom: models and streams whose latest row came so late that little of the look-back was left.

  Takes `scope` (see _scope.sql) and, in a test, the tested relation, which must hold a row. Returns SQL, one row per finding; `signal` is headroom, not_counted or never_ran.
  The lateness is the greatest that any normal window recorded; the look-back is the one of the newest window, so that
  a longer one answers the finding.
-#}
{% macro headroom_sql(scope, tested=none) %}
with {{ two_clocks.signal_ctes(scope) }},
seen as (
  select
    model,
    stream_name,
    max(max_lateness_seconds) as max_lateness_seconds,
    sum(coalesce(rows_late, 0)) as rows_late,
    sum(case when rows_extracted is null then 1 else 0 end) as not_counted
  from windows
  where status = 'succeeded'
  group by model, stream_name
),
latest as (
  select * from (
    select worst.*, row_number() over (partition by worst.model, worst.stream_name order by worst.max_lateness_seconds desc, worst.recency) as rank_
    from windows as worst
    where worst.max_lateness_seconds is not null
  ) as ranked
  where ranked.rank_ = 1
),
judged as (
  select
    newest.*,
    seen.max_lateness_seconds as greatest_lateness,
    seen.rows_late as late_so_far,
    latest.wall_clock as seen_at,
    case
      when seen.not_counted > 0 and seen.max_lateness_seconds is null then 'not_counted'
      when newest.source_watermark is null and newest.source_watermark_value is not null and seen.rows_late > 0 then 'not_measured'
      when seen.max_lateness_seconds > (1 - newest.min_headroom) * newest.lookback_seconds then 'headroom'
    end as signal
  from windows as newest
  inner join seen on newest.model = seen.model and newest.stream_name = seen.stream_name
  left join latest on newest.model = latest.model and newest.stream_name = latest.stream_name
  where newest.recency = 1
),
findings as (
  select
    'never_ran' as signal,
    expected.model,
    cast(null as {{ dbt.type_string() }}) as stream,
    'no window of it succeeded yet, so no lateness was ever measured' as what_happened,
    'model ' || expected.name as where_,
    'dbt run --select ' || expected.name as what_to_do,
    cast(null as {{ dbt.type_bigint() }}) as max_lateness_seconds,
    cast(null as {{ dbt.type_bigint() }}) as lookback_seconds
  from expected
  where not exists (select 1 from windows where windows.model = expected.model and windows.status in ('succeeded', 'skipped'))

  union all
  select
    judged.signal,
    judged.model,
    nullif(judged.stream_name, '') as stream,
    case judged.signal
      when 'not_counted' then 'its windows do not say how late their rows were, so the look-back cannot be judged'
      when 'not_measured' then judged.late_so_far || ' rows came late, but the watermark counts ids, and no clock says how late that is'
      else 'a row came ' || {{ two_clocks._span_sql('judged.greatest_lateness') }} || ' late (seen ' || cast(judged.seen_at as {{ dbt.type_string() }}) || '), and the look-back is '
        || {{ two_clocks._span_sql('judged.lookback_seconds') }}
        || case when judged.greatest_lateness > judged.lookback_seconds then ': it was luck that it was read' else ': a slightly later one would be lost' end
    end as what_happened,
    {{ two_clocks._place_sql('judged') }} as where_,
    case judged.signal
      when 'headroom' then 'raise the look-back (two-clocks lookback --select ' || judged.name || ' says what each length would catch and cost), then repair what came later than it'
      when 'not_measured' then 'compare source and target with nothing_lost or two-clocks reconcile instead'
      else 'use incremental_strategy newest_wins, or drop this test'
    end as what_to_do,
    judged.greatest_lateness as max_lateness_seconds,
    judged.lookback_seconds
  from judged
  where judged.signal is not null
)
select what_happened, where_, what_to_do, signal, model, stream, max_lateness_seconds, lookback_seconds
from findings
{%- if tested %}
union all
{{ two_clocks._empty_table_sql(tested, scope[0], {'signal': 'text', 'model': 'text', 'stream': 'text', 'max_lateness_seconds': 'number', 'lookback_seconds': 'number'}) }}
{%- endif %}
{% endmacro %}
