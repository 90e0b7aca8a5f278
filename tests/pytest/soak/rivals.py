"""The model under test and the other ways to write it, all real dbt models on the same feed.

`fails` is a var of the histories: 'early' breaks the query, 'late' breaks what comes after the write. It hits every model alike.
"""

from __future__ import annotations

from datetime import datetime, timedelta

BREAKS_EARLY = "{% if var('fails', '') == 'early' %}cross join nowhere.nothing{% endif %}"
BREAKS_LATE = "{% if var('fails', '') == 'late' %}select * from nowhere.nothing{% else %}select 1{% endif %}"
WALL_CLOCK = "cast('{{ var('two_clocks_now') | replace('Z', '') | replace('T', ' ') }}' as timestamp)"

OURS = f"""\
{{{{ config(unique_key='id', post_hook="{BREAKS_LATE}") }}}}
select id, note, changed_at
from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }}}} as feed
{BREAKS_EARLY}
"""

# as most people write it: what is newer than the newest that is there
STOCK = f"""\
{{{{ config(materialized='incremental', unique_key='id', post_hook="{BREAKS_LATE}") }}}}
select id, note, changed_at
from (
  -- a stock model keeps no version of several apart by itself: its author has to, or the run fails or doubles
  select *, row_number() over (partition by id order by changed_at desc, note desc) as version
  from {{{{ source('ods', 'feed') }}}} as feed
  {{% if is_incremental() %}}
  where changed_at > (select coalesce(max(changed_at), timestamp '0001-01-01') from {{{{ this }}}})
  {{% else %}}
  where changed_at is not null
  {{% endif %}}
) as feed
{BREAKS_EARLY}
where version = 1
"""

# the seed of this project: windows back to back, each from where the last one ended to the wall clock
BY_WALL_CLOCK = f"""\
{{{{ config(materialized='incremental', unique_key='id', post_hook=["update {{{{ this }}}} set synced_until = {WALL_CLOCK}", "{BREAKS_LATE}"]) }}}}
select id, note, changed_at, {WALL_CLOCK} as synced_until
from (
  select *, row_number() over (partition by id order by changed_at desc, note desc) as version
  from {{{{ source('ods', 'feed') }}}} as feed
  where changed_at <= {WALL_CLOCK}
  {{% if is_incremental() %}}
    and changed_at > coalesce((select max(synced_until) from {{{{ this }}}}), timestamp '0001-01-01')
  {{% endif %}}
) as feed
{BREAKS_EARLY}
where version = 1
"""

MICROBATCH = """\
{{{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='changed_at', batch_size='day',
    begin='{begin}', lookback={lookback_days}{unique_key}, post_hook="{breaks_late}") }}}}
select id, note, changed_at
from (
  select *, row_number() over (partition by id order by changed_at desc, note desc) as version
  from {{{{ source('ods_with_event_time', 'feed') }}}}
) as feed
{breaks_early}
where version = 1
"""

# name of the model -> how it is called in a table
NAMES = {
    "sink": "two_clocks",
    "stock": "incremental model, > max(target)",
    "by_wall_clock": "last run's wall clock to now",
    "microbatch": "dbt microbatch",
}


def rival_models(engine: str, begin: datetime, lookback: timedelta) -> dict[str, str]:
    """SQL by model. Microbatch gets the look-back of ours, rounded up to its batches."""
    return {
        "stock": STOCK,
        "by_wall_clock": BY_WALL_CLOCK,
        "microbatch": MICROBATCH.format(
            begin=begin.date(),
            lookback_days=lookback_days(lookback),
            # dbt-duckdb refuses a key here, dbt-postgres wants one
            unique_key=", unique_key='id'" if engine == "postgres" else "",
            breaks_late=BREAKS_LATE,
            breaks_early=BREAKS_EARLY,
        ),
    }


def lookback_days(lookback: timedelta) -> int:
    return max(1, -(-lookback // timedelta(days=1)))


def batches_between(first: datetime, last: datetime) -> list[str]:
    """Microbatch's own backfill: whole days."""
    midnight = datetime.combine(last.date(), datetime.min.time()) + timedelta(days=1)
    return ["--event-time-start", f"{first:%Y-%m-%d}", "--event-time-end", f"{midnight:%Y-%m-%d}"]


def batches_at(now: datetime, begin: datetime, lookback: timedelta, is_first: bool) -> list[str]:
    """The options that make microbatch run what it would choose by itself at that wall clock, which it cannot be told."""
    midnight = datetime.combine(now.date(), datetime.min.time())
    end = midnight if midnight == now else midnight + timedelta(days=1)
    start = begin if is_first else max(begin, end - timedelta(days=lookback_days(lookback) + 1))
    end = max(end, start + timedelta(days=1))
    return ["--event-time-start", f"{start:%Y-%m-%d}", "--event-time-end", f"{end:%Y-%m-%d}"]
