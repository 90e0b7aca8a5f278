"""Run after run on one feed: what a look-back costs when next to nothing has changed, and what it leaves behind.

Half an hour of the feed's clock lies between two runs, so that one row in a hundred of what the look-back reads again
is new or changed. After them comes the catch-up: thirty days of rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from side_by_side.contenders import Contender, Moment
from side_by_side.lab import Lab, Say, lab

MINUTES = 30
OUTAGE_DAYS = 30
DAY_OF_LOAD = 1440


def measure(
    engine: str, rows: int, kinds: Sequence[type[Contender]], runs: int, say: Say, outage_days: int = OUTAGE_DAYS
) -> dict[str, Any]:
    with lab(engine, rows, list(kinds), say) as here:
        last = here.now
        # not counted: parsing, first windows, cold caches
        _round(here, last, None)
        before = {one.name: here.size(one) for one in here.contenders}
        costs: dict[str, list[dict[str, float]]] = {one.name: [] for one in here.contenders}
        for number in range(1, runs + 1):
            last = here.now
            here.load(MINUTES)
            _round(here, last, costs)
            say(f"run {number} of {runs}")
        results = {one.name: _summary(here, one, costs[one.name], before[one.name]) for one in here.contenders}
        if outage_days:
            _catch_up(here, outage_days, results)
        return {
            "server": here.databases()[0].version() if here.contenders else "",
            "rows": rows,
            "runs": runs,
            "rows_per_run": here.feed.rows_of(MINUTES),
            "rows_per_day": here.feed.rows_per_day,
            "outage_days": outage_days,
            "contenders": results,
            "skipped": here.skipped,
        }


def _round(here: Lab, last: Any, costs: dict[str, list[dict[str, float]]] | None) -> None:
    for contender in here.in_turn():
        measured = here.run(contender, Moment(here.now, last))
        if measured and costs is not None:
            cost, work = measured
            costs[contender.name].append(
                {**asdict(cost), **({"database_" + k: v for k, v in asdict(work).items()} if work else {})}
            )


def _summary(here: Lab, contender: Contender, costs: list[dict[str, float]], before: Any) -> dict[str, Any]:
    after = here.size(contender)
    return {
        "title": contender.title,
        "medians": {name: median(run[name] for run in costs) for name in costs[0]},
        "peak_bytes": max(run["peak_bytes"] for run in costs),
        "dead_rows": after.dead_rows - before.dead_rows,
        "table_growth": after.table_bytes - before.table_bytes,
        "index_growth": after.index_bytes - before.index_bytes,
        "verdict": asdict(here.judge(contender)),
        "every_run": costs,
    }


def _catch_up(here: Lab, days: int, results: dict[str, Any]) -> None:
    last = here.now
    for _ in range(days):
        here.load(DAY_OF_LOAD)
    here.say(f"catching up with {days} days")
    for contender in here.in_turn():
        measured = here.run(contender, Moment(here.now, last, says_range=True))
        if measured:
            cost, work = measured
            results[contender.name]["catch_up"] = {
                **asdict(cost),
                **({"database_" + k: v for k, v in asdict(work).items()} if work else {}),
                "verdict": asdict(here.judge(contender)),
            }
