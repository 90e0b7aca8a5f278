"""Any history of a source and of its syncs, as a machine that Hypothesis plays and, where it fails, shortens.

After each history the independent judge (judge.py) looks at the sink and at what the project's own tests say: each row is delivered in
its newest visible version, or named. A history that breaks that is told as a timeline.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from soak.feed import LOADS, Feed
from soak.judge import Judge, Named, Row, lost_keys, newest
from soak.lab import BEGIN, LOOKBACK, OLDEST, Lab, Seen
from soak.rivals import batches_between

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

# how long before the wall clock a writer says that it changed a row: ties, late rows, clocks that are fast, and none
AGES = [timedelta(0), MINUTE, HOUR, LOOKBACK, 7 * HOUR, 30 * HOUR, 3 * DAY, -5 * MINUTE, -2 * DAY, None]
PAUSES = [timedelta(0), HOUR, LOOKBACK, DAY, 4 * DAY]
LOOKBACKS = [timedelta(0), LOOKBACK, 2 * DAY]

change = st.tuples(st.integers(1, 4), st.sampled_from(AGES))
changes = st.lists(change, min_size=1, max_size=4)
many_changes = st.lists(change, min_size=4, max_size=8)
loads = st.sampled_from(sorted(LOADS))
pauses = st.sampled_from(PAUSES)
one_day = st.tuples(changes, loads, pauses)
Day = tuple[list[tuple[int, timedelta | None]], str, timedelta]


class History(RuleBasedStateMachine):
    """One source, one sink, one wall clock."""

    lab: ClassVar[Lab]
    tally: ClassVar[Tally]

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGIN + 9 * HOUR
        self.feed, self.judge = Feed(), Judge()
        self.timeline: list[str] = []
        self.copies: list[str] = []
        self.there = Seen()
        self.plays = not self.tally.is_over()

    # ---- the source ----

    @initialize(rows=many_changes, which=loads, lookback=st.sampled_from(LOOKBACKS), overwrites=st.booleans())
    def begins(
        self, rows: list[tuple[int, timedelta | None]], which: str, lookback: timedelta, overwrites: bool
    ) -> None:
        if not self.plays:
            raise SkipTest("the time is over")  # which Hypothesis hands on at once
        self.lookback, self.overwrites = lookback, overwrites
        self.lab.clear()
        self.tally.began()
        self.people_change(rows)
        self.tell(
            f"the source {'holds one row of a key' if overwrites else 'keeps all versions'}, the look-back is {lookback}"
        )
        self.load_shows(which)
        self.sync(timedelta(0))

    @rule(days=st.lists(one_day, min_size=2, max_size=3))
    def days_pass(self, days: list[Day]) -> None:
        for day in days:
            self.day_passes(day)

    def day_passes(self, day: Day) -> None:
        """What most days are like: some changes, a load, a run."""
        rows, which, pause = day
        self.people_change(rows)
        self.load_shows(which)
        self.sync(pause)

    def people_change(self, rows: list[tuple[int, timedelta | None]]) -> None:
        made = [self.feed.change(key, None if age is None else self.now - age) for key, age in rows]
        if made:
            self.tell("changed: " + told(made))

    @rule(rows=changes, which=loads, pause=pauses)
    def load_repeats_itself(self, rows: list[tuple[int, timedelta | None]], which: str, pause: timedelta) -> None:
        self.people_change(rows)
        self.load_shows(which, again=True)
        self.sync(pause)

    def load_shows(self, which: str, again: bool = False) -> None:
        brought = self.feed.load(which, again, self.overwrites)
        self.source_is_as_loaded()
        self.tell(f"load of {which}: {told(brought)}")

    @rule(key=st.integers(1, 4), then=one_day)
    def row_is_deleted(self, key: int, then: Day) -> None:
        self.feed.delete(key)
        self.source_is_as_loaded()
        self.tell(f"row {key} is deleted")
        self.day_passes(then)

    @rule(loads_ago=st.integers(1, 3), refilled=st.booleans(), then=one_day)
    def source_is_restored(self, loads_ago: int, refilled: bool, then: Day) -> None:
        self.feed.restore(loads_ago, refilled)
        self.source_is_as_loaded()
        self.tell(f"the source is put back by {loads_ago} loads: {told(self.feed.visible)}")
        self.day_passes(then)

    def source_is_as_loaded(self) -> None:
        self.lab.show(self.feed)
        self.judge.source_shows(self.feed.visible)

    # ---- the syncs ----

    @rule(pause=pauses, lookback=st.sampled_from(LOOKBACKS))
    def run_sync(self, pause: timedelta, lookback: timedelta) -> None:
        self.sync(pause, lookback)

    @rule(
        pause=pauses,
        where=st.sampled_from(["early", "late"]),
        full_refresh=st.booleans(),
        times=st.sampled_from([1, 1, 3]),
    )
    def run_fails(self, pause: timedelta, where: str, full_refresh: bool, times: int) -> None:
        """A run breaks, and its orchestrator tries again: nothing of it may stay."""
        self.now += pause
        before = self.there
        for _ in range(times):
            arguments = ["--full-refresh"] if full_refresh else []
            run = self.lab.run(self.now, *arguments, is_first=before.sink is None, variables={"fails": where})
            self.must(not run.result.success, "a run that cannot succeed did")
        self.there = self.lab.look()
        self.must(self.there.sink == before.sink, "a run that failed left something behind")
        failed = self.there.windows[len(before.windows) :]
        self.must(
            [window["status"] for window in failed] == ["failed"] * times, f"the ledger does not say so: {failed}"
        )
        self.tell(f"{times} runs{' with --full-refresh' if full_refresh else ''} fail ({where})")

    @rule(pause=pauses, may_shrink=st.booleans())
    def full_refresh(self, pause: timedelta, may_shrink: bool) -> None:
        self.now += pause
        before = self.there.sink
        variables = {"two_clocks_max_shrink": 1} if may_shrink else {}
        run = self.lab.run(self.now, "--full-refresh", is_first=True, variables=variables)
        outcome = run.statuses().get("sink")
        self.there = self.lab.look()
        self.tell(f"full refresh: {outcome}")
        if outcome == "success":
            self.judge.rebuilt(self.feed.visible, self.now)
        else:
            self.must("would go" in run.errors(), f"the full refresh failed: {run.errors()}")
            self.must(self.there.sink == before, "a full refresh that was refused replaced something")

    @rule(first=st.sampled_from([age for age in AGES if age is not None]), length=st.sampled_from(PAUSES))
    def backfill(self, first: timedelta, length: timedelta) -> None:
        low = self.now - first
        high = low + length
        before = self.there.sink
        given = {"two_clocks_backfill_from": low.isoformat(), "two_clocks_backfill_to": high.isoformat()}
        run = self.lab.run(self.now, models=["sink"], variables=given)
        if "microbatch" in self.lab.rivals and self.lab.stored("microbatch") is not None:
            # of the others it alone knows how
            self.lab.run(self.now, *batches_between(max(low, OLDEST), max(high, OLDEST)), models=["microbatch"])
        self.there = self.lab.look()
        self.tell(f"backfill {low} to {high}: {run.statuses().get('sink')}")
        if run.result.success:
            self.judge.backfilled(self.feed.visible, before or [], self.now, low, high)
            self.must(furthest(self.there.sink, self.now) == furthest(before, self.now), "a backfill moved T")
        else:
            self.must("hole" in run.errors(), f"the backfill failed: {run.errors()}")
            self.must(self.there.sink == before, "a backfill that was refused wrote something")

    @rule(then=one_day)
    def sink_is_backed_up(self, then: Day) -> None:
        self.copies = [model for model in self.lab.models if self.lab.stored(model) is not None]
        for model in self.copies:
            self.lab.put_back(model, copy=None, keep_as=f"copy_of_{model}")
        self.tell("the sink is backed up")
        self.day_passes(then)

    @precondition(lambda self: self.copies)
    @rule(then=one_day)
    def sink_is_restored(self, then: Day) -> None:
        for model in self.copies:
            if self.lab.stored(model) is not None:
                self.lab.put_back(model, copy=f"copy_of_{model}")
        self.there = self.lab.look()
        self.judge.restored(self.there.sink or [])
        self.tell(f"the sink is put back: {told(self.there.sink or [])}")
        self.day_passes(then)

    def sync(self, pause: timedelta, lookback: timedelta | None = None) -> None:
        """A normal run, with the look-back of this history or with another one."""
        self.now += pause
        before = self.there
        lookback = self.lookback if lookback is None else lookback
        options = {"lookback": f"{int(lookback.total_seconds())} seconds"}
        run = self.lab.run(self.now, is_first=before.sink is None, **options)
        self.tell(
            f"run{'' if lookback == self.lookback else f' with a look-back of {lookback}'}: {run.statuses().get('sink')}"
        )
        self.must(run.statuses().get("sink") == "success", f"the run failed: {run.errors()}")
        self.there = self.lab.look()
        new = self.there.windows[len(before.windows) :]
        self.must([window["status"] for window in new] == ["succeeded"], f"the run is not in the ledger: {new}")
        inserted = len(self.there.sink or []) - len(before.sink or [])
        self.must(new[0]["rows_inserted"] == inserted, f"{inserted} inserted, and the ledger has {new}")
        self.tally.ran(run.statuses())
        # while a range is searched for poison, less is read, and windows_contiguous says so
        if not before.leaves_out:
            self.judge.ran(self.feed.visible, before.sink or [], self.now, lookback)

    # ---- the end ----

    def teardown(self) -> None:
        """One last run, and then everything is there or named."""
        if not self.plays:
            return
        self.sync(MINUTE)
        sink = self.there.sink or []
        named = self.lab.signals(self.now)
        complaints = self.judge.complaints(self.feed.visible, sink, self.now, named)
        self.must(not complaints, "; ".join(complaints))
        self.tally.ended(self, named)

    def tell(self, event: str) -> None:
        self.timeline.append(f"{self.now:%a %d %H:%M}  {event}")

    def must(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.tally.deadline = None  # the history is played again, to find the shortest that does the same
            self.tally.is_broken = True
            raise AssertionError(
                "\n".join(
                    [
                        otherwise,
                        *self.timeline,
                        f"source: {told(self.feed.visible)}",
                        f"sink: {told(self.there.sink or [])}",
                    ]
                )
            )


class Tally:
    """What was played, and what each way to sync lost in it."""

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline
        self.is_broken = False  # a promise was, in the history that was played last
        self.said: Callable[[], None] = lambda: None  # called now and then in a long run
        self.histories = self.runs = self.rows = self.named = 0
        self.lost: Counter[str] = Counter()
        self.lossy: Counter[str] = Counter()
        self.doubled: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._last: dict[str, str] = {}

    def is_over(self) -> bool:
        """Whether the time is over, so that no further history is begun."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def began(self) -> None:
        self._last = {}

    def ran(self, statuses: dict[str, str]) -> None:
        self.runs += 1
        self._last = statuses

    def ended(self, history: History, named: Named) -> None:
        """Count what is lost at the end although dbt called the last run of it a success."""
        self.histories += 1
        if self.histories % 25 == 0:
            self.said()
        visible, now = history.feed.visible, history.now
        self.rows += len(newest(visible, now))
        lost = lost_keys(visible, history.there.sink or [], now)
        marks = newest(visible, now)
        said = {key for key in lost if key in named.lost or named.leaves_out(marks[key].at)}
        self.named += len(said)
        self.lost["sink"] += len(lost - said)
        for model in history.lab.rivals:
            if self._last.get(model) != "success":
                self.refused[model] += 1
                continue
            sink = history.lab.stored(model) or []
            lost = lost_keys(visible, sink, now)
            self.lost[model] += len(lost)
            self.lossy[model] += bool(lost)
            self.doubled[model] += sum(count > 1 for count in Counter(row.id for row in sink).values())


def machine(lab: Lab, deadline: float | None = None) -> type[History]:
    """The machine on one lab, with a tally of its own; it begins no history after `deadline`, a time.monotonic()."""
    return type("History", (History,), {"lab": lab, "tally": Tally(deadline)})


def told(rows: list[Row]) -> str:
    return (
        ", ".join(
            f"{row.id} '{row.note}' of {row.at:%a %d %H:%M}" if row.at else f"{row.id} '{row.note}' of NULL"
            for row in rows
        )
        or "no row"
    )


def furthest(rows: list[Row] | None, now: datetime) -> datetime | None:
    return max((row.at for row in rows or [] if row.at and row.at <= now), default=None)


def play(
    history: type[History], count: int, steps: int, prepare: Callable[..., Any] = lambda made: made, **more: Any
) -> None:
    """Plays up to `count` histories of so many steps each; what breaks a promise is raised as its shortest history."""
    run_state_machine_as_test(
        prepare(history),
        _min_steps=steps,  # without it many histories would end after a step or none
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            **more,
        ),
    )
