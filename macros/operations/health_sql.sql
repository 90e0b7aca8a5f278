{#-
  One row per model and stream: is it alive, how far behind, how close to its look-back. The SQL of the view two_clocks_health, and of
  `two-clocks status`, which must also do where no ledger exists yet: it hands in its rows as SQL.
-#}
{% macro health_sql(ledger_rows=none) %}
with windows as (
    select
        ledger.*,
        coalesce(stream, '') as stream_name,
        rows_inserted + rows_updated as rows_fresh,
        row_number() over (partition by model, coalesce(stream, '') order by started_at desc, finished_at desc) as recency
    from {{ '(' ~ ledger_rows ~ ')' if ledger_rows else two_clocks.ledger_relation() }} as ledger
),

-- A backfill brings old rows by intent, so it says nothing about silence or lateness. A skipped window proved that nothing came.
regular as (
    select * from windows where status = 'succeeded' and kind in ('incremental', 'initial', 'full_refresh')
),

last_signs as (
    select
        model,
        stream_name,
        max(case when status in ('succeeded', 'skipped') and kind <> 'backfill' then started_at end) as last_success_at,
        max(case when status = 'succeeded' and kind <> 'backfill' and rows_fresh > 0 then started_at end) as last_fresh_at,
        max(started_at) as last_attempt_at
    from windows
    group by model, stream_name
),

newest as (
    select * from (
        select regular.*, row_number() over (partition by model, stream_name order by started_at desc, finished_at desc) as regular_recency
        from regular
    ) as ranked
    where regular_recency = 1
),

tallies as (
    select
        windows.model,
        windows.stream_name,
        -- also skipped and failed ones, as no_empty_window_streak counts them: neither brought a fresh row
        sum(case when windows.kind <> 'backfill'
                  and (last_signs.last_fresh_at is null or windows.started_at > last_signs.last_fresh_at) then 1 else 0 end) as windows_without_fresh_rows,
        sum(case when windows.status = 'failed'
                  and (last_signs.last_success_at is null or windows.started_at > last_signs.last_success_at) then 1 else 0 end) as open_failures,
        max(case when windows.status = 'succeeded' and windows.kind = 'incremental' then windows.max_lateness_seconds end) as max_lateness_seconds,
        sum(coalesce(windows.rows_quarantined, 0)) as rows_quarantined,
        count(*) as windows_recorded
    from windows
    inner join last_signs
        on windows.model = last_signs.model and windows.stream_name = last_signs.stream_name
    group by windows.model, windows.stream_name
),

clock as (
    select {{ two_clocks.logical_now_sql() }} as wall_clock
)

select
    last_signs.model,
    nullif(last_signs.stream_name, '') as stream,
    last_signs.last_success_at,
    newest.wall_clock as last_wall_clock,
    newest.source_watermark,
    {{ two_clocks.seconds_between('newest.source_watermark', 'clock.wall_clock', 'timestamp', none) }} as lag_seconds,
    tallies.windows_without_fresh_rows,
    tallies.max_lateness_seconds,
    newest.lookback_seconds,
    -- the share of the look-back that the latest row ever seen has left unused; below zero a row was luckier than the look-back
    case when newest.lookback_seconds > 0
         then 1 - coalesce(tallies.max_lateness_seconds, 0) * 1.0 / newest.lookback_seconds end as lookback_headroom,
    tallies.open_failures,
    last_signs.last_attempt_at,
    tallies.rows_quarantined,
    tallies.windows_recorded
from last_signs
inner join tallies
    on last_signs.model = tallies.model and last_signs.stream_name = tallies.stream_name
left join newest
    on last_signs.model = newest.model and last_signs.stream_name = newest.stream_name
cross join clock
{% endmacro %}
