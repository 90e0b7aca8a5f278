"""What each contender loses, without a word, in three weeks with a bad load and a missed run.

Every night the source loads a day, then every contender runs. For three nights the load fails, and is made good the night
after; for five nights nothing runs, and nobody tells the tools. Late rows come all the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from side_by_side.contenders import Contender, Moment
from side_by_side.feed import ARRIVALS, COLUMNS, KEY, LOOKBACK_HOURS, TABLE
from side_by_side.lab import Lab, Say, lab

NIGHTS = 15
LOAD_FAILS = (3, 4, 5)
NOTHING_RUNS = (8, 9, 10, 11, 12)
DAY = 1440


def measure(engine: str, rows: int, kinds: Sequence[type[Contender]], say: Say, nights: int = NIGHTS) -> dict[str, Any]:
    with lab(engine, rows, list(kinds), say) as here:
        start, last, owed = here.now, here.now, 0
        for night in range(1, nights + 1):
            owed += 1
            if night not in LOAD_FAILS:
                for _ in range(owed):
                    here.load(DAY)
                owed = 0
            if night in NOTHING_RUNS:
                continue
            # the wall clock goes on where the data does not
            now = start + timedelta(days=night)
            for contender in here.in_turn():
                here.run(contender, Moment(now, last))
            last = now
            say(f"night {night} of {nights}")
        return {
            "rows": rows,
            "nights": nights,
            "arrived": _arrived(here),
            "contenders": {one.name: {"title": one.title, **_losses(here, one, start)} for one in here.contenders},
            "skipped": here.skipped,
        }


def _arrived(here: Lab) -> int:
    return int(here.databases()[0].value(f"select count(*) from {ARRIVALS}"))


def _losses(here: Lab, contender: Contender, start: datetime) -> dict[str, Any]:
    """Lost rows by what became of the night that they belong to."""
    same = " and ".join(f"t.{name} is not distinct from s.{name}" for name in COLUMNS if name != KEY)
    query = contender.database.query
    rows = query(
        f"select coalesce(a.late_hours, 0) > {LOOKBACK_HOURS} as late, cast(coalesce(a.load, 0) as integer) as night, count(*) "
        f"from {TABLE} as s left join {contender.table} as t on t.{KEY} = s.{KEY} and {same} "
        f"left join {ARRIVALS} as a on a.{KEY} = s.{KEY} and a.timemodified = s.timemodified "
        f"where t.{KEY} is null group by 1, 2"
    )
    reasons = {"too late": 0, "load failed": 0, "nothing ran": 0, "otherwise": 0}
    for late, night, count in rows:
        reason = (
            "too late"
            if late
            else "load failed"
            if night in LOAD_FAILS
            else "nothing ran"
            if night in NOTHING_RUNS
            else "otherwise"
        )
        reasons[reason] += int(count)
    return {"reasons": reasons, **asdict(here.judge(contender))}
