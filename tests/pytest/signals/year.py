"""A year in the life of the signals: simulated sources, healthy and with one fault each, synchronised every night by real dbt.

    python tests/pytest/signals/year.py                  the full year, on DuckDB, printed
    python tests/pytest/signals/year.py --write FILE     the same, put between the markers in a Markdown file
    python tests/pytest/signals/year.py --nights 40      a short one

Two healthy sources run all year. Nine more run like the first of them until something goes wrong; each of these years starts shortly
before its fault, on several days of the week, and ends when a signal names it or after a month. Nothing here knows what a signal is about:
it is `two-clocks check` that speaks.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import yaml

HERE = Path(__file__).resolve()
for place in (HERE.parents[1], HERE.parents[3] / "scripts"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

from support.engines import SOURCE_SCHEMA, DuckdbWarehouse, Warehouse  # noqa: E402
from support.project import Project  # noqa: E402

from two_clocks.commands.check import (  # noqa: E402
    Finding,
    declared_findings,
    freshness_findings,
    ledger_findings,
)
from two_clocks.dbt_session import DbtSession  # noqa: E402
from two_clocks.watched_models import signal_settings, watched_models  # noqa: E402

FIRST_DAY = date(2024, 1, 8)
SYNC_AT = timedelta(hours=29)  # 05:00 on the next day
COLUMNS = {"id": "integer", "note": "varchar(50)", "changed_at": "timestamp"}
LOG_COLUMNS = {"source": "varchar(50)", "loaded_at": "timestamp"}

# Days on which nobody changes anything: two bank holidays on Mondays, one in the middle of a week, the term break, the end of the year.
HOLIDAYS = (date(2024, 4, 1), date(2024, 5, 1), date(2024, 5, 27))
BREAKS = ((date(2024, 7, 22), date(2024, 8, 11)), (date(2024, 12, 24), date(2025, 1, 5)))

LOOKBACK = "4 days"
# A rest shows in the windows of the night after it, and on Mondays in that of the weekend before.
QUIET = [
    *[[str(day), str(day + timedelta(days=1))] for day in HOLIDAYS],
    *[[str(first), str(last + timedelta(days=1))] for first, last in BREAKS],
]


@dataclass
class Change:
    """A row was inserted or edited in the source."""

    at: datetime
    id: int
    note: str
    shown_after: int = 0  # nights by which the copy shows it later than it should
    null_watermark: bool = False
    copies: int = 1


@dataclass
class Source:
    """A source that a nightly load copies, with its own rhythm."""

    name: str
    rests_at_weekends: bool = True
    seed: int = 1
    fault: Callable[[Source, date], None] | None = None
    fault_on: date | None = None
    random: random.Random = field(init=False)
    next_id: int = 1
    waiting: list[tuple[date, Change]] = field(default_factory=list)
    # what a fault may change
    load_runs: bool = True
    load_shows: bool = True
    note: str = "x"
    changes_hook: Callable[[list[Change], date], list[Change]] | None = None
    after_load: Callable[[Warehouse, date], None] | None = None

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.name} {self.seed}")

    def changes_of(self, day: date) -> list[Change]:
        """What people did on one day: nothing on days of rest, much at the end of a month, some of it edits."""
        if self.rests_at_weekends and (
            day.weekday() >= 5 or day in HOLIDAYS or any(first <= day <= last for first, last in BREAKS)
        ):
            return []
        busy = self.random.randint(12, 30) if day.weekday() < 5 else self.random.randint(2, 6)
        if (day + timedelta(days=2)).month != day.month:
            busy *= 5
        changes = []
        for _ in range(busy):
            at = datetime.combine(day, datetime.min.time()) + timedelta(
                seconds=self.random.randint(7 * 3600, 21 * 3600)
            )
            edited = self.next_id > 50 and self.random.random() < 0.2
            row = self.random.randint(max(1, self.next_id - 50), self.next_id - 1) if edited else self.next_id
            self.next_id += 0 if edited else 1
            changes.append(Change(at, row, self.note, self.late_nights()))
        return changes

    def late_nights(self) -> int:
        """Lateness with a long tail: most rows show the same night, some one night later, few two or three."""
        draw = self.random.random()
        return 0 if draw < 0.97 else 1 if draw < 0.99 else 2 if draw < 0.998 else 3

    def live(self, warehouse: Warehouse, day: date) -> None:
        """One day and the load of the night after it."""
        if self.fault and self.fault_on and day >= self.fault_on:
            self.fault(self, day)
        changes = self.changes_of(day)
        if self.changes_hook:
            changes = self.changes_hook(changes, day)
        self.waiting += [(day + timedelta(days=change.shown_after), change) for change in changes]
        if not self.load_runs:
            return
        # loads drift by hours, and are through before the sync
        loaded_at = datetime.combine(day, datetime.min.time()) + timedelta(
            hours=22, minutes=self.random.randint(22, 22 + 340)
        )
        due = [change for shown_on, change in self.waiting if shown_on <= day] if self.load_shows else []
        if self.load_shows:
            self.waiting = [(shown_on, change) for shown_on, change in self.waiting if shown_on > day]
        store(warehouse, self.name, due)
        warehouse.insert(f"{SOURCE_SCHEMA}.load_log", [{"source": self.name, "loaded_at": loaded_at}])
        if self.after_load:
            self.after_load(warehouse, day)


def store(warehouse: Warehouse, table: str, changes: Sequence[Change]) -> None:
    """The load: an upsert into the copy, as wholesale as loads are."""
    newest: dict[int, Change] = {}
    for change in sorted(changes, key=lambda change: change.at):
        newest[change.id] = change
    if not newest:
        return
    keys = ", ".join(map(str, newest))
    # a late change that was overtaken by a newer edit is never shown
    known = {
        row["id"]: row["changed_at"]
        for row in warehouse.query(
            f"select id, max(changed_at) as changed_at from {SOURCE_SCHEMA}.{table} where id in ({keys}) group by id"
        )
    }
    fresh = [c for c in newest.values() if known.get(c.id) is None or known[c.id] <= c.at]
    if not fresh:
        return
    warehouse.execute(f"delete from {SOURCE_SCHEMA}.{table} where id in ({', '.join(str(c.id) for c in fresh)})")
    values = ", ".join(
        f"({c.id}, '{c.note}', {'null' if c.null_watermark else repr(str(c.at))})"
        for c in fresh
        for _ in range(c.copies)
    )
    warehouse.execute(f"insert into {SOURCE_SCHEMA}.{table} values {values}")


# ---- the faults: each is told the day, from the day it begins ----


def load_missing(source: Source, day: date) -> None:
    source.load_runs = False


def load_partial(source: Source, day: date) -> None:
    """Half of one day's rows are left out; what was left out comes a week later, beyond the look-back."""
    if day == source.fault_on:
        source.changes_hook = lambda changes, _: [
            Change(c.at, c.id, c.note, 7 if i % 2 else c.shown_after) for i, c in enumerate(changes)
        ]
    else:
        source.changes_hook = None


def source_frozen(source: Source, day: date) -> None:
    """The loads run and say so, and bring the same as yesterday."""
    source.load_shows = False


def filter_blind(source: Source, day: date) -> None:
    """Upstream renames the value that the model's filter asks for."""
    source.note = "renamed upstream"


def rows_too_late(source: Source, day: date) -> None:
    """A department delivers last week's rows."""
    if day == source.fault_on:
        at = datetime.combine(day - timedelta(days=8), datetime.min.time()) + timedelta(hours=11)
        late = [Change(at + timedelta(minutes=n), source.next_id + n, "x") for n in range(5)]
        source.next_id += 5
        source.waiting += [(day, change) for change in late]


def clock_skew(source: Source, day: date) -> None:
    """One writer's clock is two days fast."""
    source.changes_hook = lambda changes, _: [
        Change(c.at + timedelta(days=2), c.id, c.note, c.shown_after) if i % 10 == 0 else c
        for i, c in enumerate(changes)
    ]


def duplicate_keys(source: Source, day: date) -> None:
    """A join upstream multiplies rows."""
    source.changes_hook = lambda changes, _: [
        Change(c.at, c.id, c.note, c.shown_after, copies=2 if i % 7 == 0 else 1) for i, c in enumerate(changes)
    ]


def source_restored(source: Source, day: date) -> None:
    """The copy is put back to the state of five days ago, and its loads go on from there without what was lost."""
    if day == source.fault_on:
        before = datetime.combine(day - timedelta(days=5), datetime.min.time())
        source.changes_hook = lambda changes, _: []

        def put_back(warehouse: Warehouse, today: date) -> None:
            if today == source.fault_on:
                warehouse.execute(f"delete from {SOURCE_SCHEMA}.{source.name} where changed_at > '{before}'")

        source.after_load = put_back
    else:
        source.changes_hook = None


def watermark_nulled(source: Source, day: date) -> None:
    """A release stops filling the column."""
    source.changes_hook = lambda changes, _: [
        Change(c.at, c.id, c.note, c.shown_after, null_watermark=True) for c in changes
    ]


# name -> what happens, the function, when a run could first know it
FAULTS: dict[str, tuple[str, Callable[[Source, date], None], str]] = {
    "load_missing": ("the nightly load does not run any more", load_missing, "the first run"),
    "load_partial": (
        "a load leaves out half of its rows, and brings them a week later",
        load_partial,
        "the run that sees them come",
    ),
    "source_frozen": (
        "loads run and say so, and bring nothing new",
        source_frozen,
        "the third run: two empty nights are a weekend",
    ),
    "filter_blind": ("upstream renames a value, and the model's filter keeps nothing", filter_blind, "the first run"),
    "rows_too_late": ("five rows come eight days late, beyond the look-back", rows_too_late, "the first run"),
    "clock_skew": ("a writer's clock is two days fast", clock_skew, "the first run"),
    "duplicate_keys": ("a join upstream multiplies rows", duplicate_keys, "the first run"),
    "source_restored": ("the source is put back to five days ago", source_restored, "the first run"),
    "watermark_nulled": ("a release stops filling the watermark", watermark_nulled, "the first run"),
}
# runs after the fault before anybody could know: the rows left out by a partial load show themselves when they come
KNOWABLE = {"load_partial": 8, "source_frozen": 3}

MODEL = """\
{{{{ config(unique_key='id') }}}}
select id, note, changed_at
from {{{{ two_clocks.windowed(source('ods', '{name}'), 'changed_at', lookback='{lookback}') }}}} as feed
where note <> 'renamed upstream'
"""


def write_project(project: Project, sources: Sequence[Source]) -> None:
    """The models, and the settings that docs/signals.md recommends for a nightly source that rests at weekends."""
    tables = []
    for source in sources:
        project.source(source.name, COLUMNS)
        project.model(f"sink_{source.name}", MODEL.format(name=source.name, lookback=LOOKBACK))
    project.source("load_log", LOG_COLUMNS)
    for source in sources:
        of_source = f"(select * from {SOURCE_SCHEMA}.load_log where source = '{source.name}')"
        tables.append(
            {
                "name": source.name,
                "config": {
                    "loaded_at_query": f'{{{{ two_clocks.data_clock_query("{of_source} as load_log", "loaded_at") }}}}',
                    "freshness": {"error_after": {"count": 24, "period": "hour"}},
                },
                "data_tests": [{"two_clocks.idempotent_sink": {"arguments": {"unique_key": "id"}}}],
                "columns": [{"name": "changed_at", "data_tests": [{"two_clocks.watermark_valid": {}}]}],
            }
        )
    tables.append({"name": "load_log"})
    content = {"version": 2, "sources": [{"name": SOURCE_SCHEMA, "schema": SOURCE_SCHEMA, "tables": tables}]}
    project.write("models/sources.yml", yaml.safe_dump(content))

    streak = {"max_windows": 3, "max_blind_windows": 1, "quiet": QUIET}
    models = [
        {
            "name": f"sink_{source.name}",
            "data_tests": [
                {"two_clocks.no_empty_window_streak": {"arguments": streak}},
                {
                    "two_clocks.nothing_lost": {
                        "arguments": {
                            "source_relation": f"source('ods', '{source.name}')",
                            "unique_key": "id",
                            "watermark": "changed_at",
                            "source_filter": "note <> 'renamed upstream'",
                            "buckets": 256,
                        }
                    }
                },
            ],
        }
        for source in sources
    ]
    project.write("models/sync/sinks.yml", yaml.safe_dump({"version": 2, "models": models}))


@dataclass
class Year:
    """A project that is built and checked every night."""

    project: Project
    warehouse: Warehouse
    sources: list[Source]
    runs: int = 0

    def __post_init__(self) -> None:
        self.session = DbtSession(
            self.project.directory,
            self.project.directory,
            target_path=self.project.directory / "target",
            vars={"two_clocks_now": ""},
            artifacts=False,
        )
        self.models: list[Any] = []

    def nights(self, first: date, count: int) -> Iterator[tuple[date, list[Finding]]]:
        for night in range(count):
            day = first + timedelta(days=night)
            for source in self.sources:
                source.live(self.warehouse, day)
            now = datetime.combine(day, datetime.min.time()) + SYNC_AT
            yield day, self.run(f"{now.isoformat()}Z")

    def run(self, now: str) -> list[Finding]:
        """What the orchestrator does: dbt run, then two-clocks check."""
        self.runs += 1
        self.session.vars = {"two_clocks_now": now}
        if not self.models:
            self.models = watched_models(self.session)
        self.session.invoke(["run", "--select", "sync"], check=True)
        findings = [
            *ledger_findings(self.session, self.models, signal_settings(self.models)),
            *declared_findings(self.session, self.models),
            *freshness_findings(self.session, self.models),
        ]
        self.warehouse.after_dbt()
        return findings


def live_before(year: Year, first: date, days: int = 30) -> None:
    """The sources have a past when the first sync meets them."""
    for source in year.sources:
        for ago in range(days, 0, -1):
            source.live(year.warehouse, first - timedelta(days=ago))


@dataclass
class Outcome:
    """What came of one fault, over all the days it began on."""

    fault: str
    runs_until_named: list[int | None] = field(default_factory=list)
    signals: set[str] = field(default_factory=set)
    words: str = ""


def start(directory: Path, sources: list[Source]) -> Year:
    directory.mkdir(parents=True, exist_ok=True)
    template = directory / "template"
    warehouse = DuckdbWarehouse(directory / "work")
    (directory / "work").mkdir(exist_ok=True)
    warehouse.profile["path"] = str(warehouse.path)
    Project.template(warehouse, template)
    project = Project.copy_of(template, warehouse, directory / "work")
    write_project(project, sources)
    return Year(project, warehouse, sources)


def healthy(
    directory: Path, nights: int, first_day: date = FIRST_DAY, say: Callable[[str], None] = lambda text: None
) -> tuple[int, list[str]]:
    """The healthy year: how many runs, and every false alarm."""
    year = start(directory, [Source("lms"), Source("erp", rests_at_weekends=False)])
    live_before(year, first_day)
    alarms = []
    for number, (day, findings) in enumerate(year.nights(first_day, nights), 1):
        alarms += [f"{day} {finding.line()}" for finding in findings]
        say(f"healthy night {number} of {nights}, {len(alarms)} false alarms")
    return year.runs, alarms


def faulty(
    directory: Path,
    fault_on: date,
    faults: Sequence[str],
    nights_before: int = 8,
    nights_after: int = 12,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, tuple[int | None, Finding | None]]:
    """Every fault begins on the same day, each in a source of its own. How many runs until a signal names it, and what it says."""
    sources = [Source(name, seed=fault_on.toordinal(), fault=FAULTS[name][1], fault_on=fault_on) for name in faults]
    year = start(directory, sources)
    first = fault_on - timedelta(days=nights_before)
    live_before(year, first)
    named: dict[str, tuple[int | None, Finding | None]] = {}
    for day, findings in year.nights(first, nights_before + nights_after):
        runs = (day - fault_on).days + 1
        for finding in findings:
            name = next((name for name in faults if speaks_of(finding, name)), None)
            assert runs > 0, f"a false alarm before the fault: {day} {finding.line()}"
            if name and name not in named:
                named[name] = (runs, finding)
        say(f"faults of {fault_on}: night {runs}, {len(named)} of {len(faults)} named")
        if len(named) == len(faults):
            break
    return {name: named.get(name, (None, None)) for name in faults}


def speaks_of(finding: Finding, name: str) -> bool:
    return name in finding.where or (finding.model or "").endswith(f"sink_{name}")


# ---- the report ----

BEGIN, END = "<!-- year: begin -->", "<!-- year: end -->"


def table(runs: int, alarms: Sequence[str], outcomes: Sequence[Outcome], starts: Sequence[date]) -> str:
    days = ", ".join(day.strftime("%A %d %B %Y") for day in starts)
    lines = [
        f"Healthy: {runs} nightly runs of two sources, {len(alarms)} false alarm{'s' if len(alarms) != 1 else ''}.",
        "",
        f"Faults, each begun on {days}:",
        "",
        "| fault | a run could first know | runs until named | named by | in these words |",
        "| --- | --- | --- | --- | --- |",
    ]
    for outcome in outcomes:
        what, _, knowable = FAULTS[outcome.fault]
        counts = ", ".join("never" if count is None else str(count) for count in outcome.runs_until_named)
        signals = ", ".join(f"`{signal}`" for signal in sorted(outcome.signals))
        words = outcome.words.replace("|", "\\|")
        lines.append(f"| {what} | {knowable} | {counts} | {signals} | {words} |")
    return "\n".join([*lines, *[f"- {alarm}" for alarm in alarms[:20]]])


def report(directory: Path, nights: int, starts: Sequence[date], say: Callable[[str], None]) -> str:
    runs, alarms = healthy(directory / "healthy", nights, say=say)
    outcomes = {name: Outcome(name) for name in FAULTS}
    for number, day in enumerate(starts):
        for name, (count, finding) in faulty(directory / f"faults{number}", day, list(FAULTS), say=say).items():
            outcomes[name].runs_until_named.append(count)
            if finding:
                outcomes[name].signals.add(finding.signal)
                outcomes[name].words = outcomes[name].words or finding.what_happened
    return table(runs, alarms, list(outcomes.values()), starts)


def main() -> None:
    parser = argparse.ArgumentParser(description="A year in the life of the signals.")
    parser.add_argument("--nights", type=int, default=365, help="length of the healthy year")
    parser.add_argument("--write", type=Path, help="a Markdown file whose table between the markers is replaced")
    arguments = parser.parse_args()
    # a Tuesday, a Friday, and a Wednesday at the end of a month
    starts = (date(2024, 3, 5), date(2024, 6, 14), date(2024, 10, 30))[: 3 if arguments.nights > 60 else 1]
    began = time.monotonic()

    def say(text: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{text:<70}", nl=False, err=True)

    with tempfile.TemporaryDirectory(prefix="two_clocks_year_") as directory:
        text = report(Path(directory), arguments.nights, starts, say)
    say("")
    click.echo(f"{time.monotonic() - began:.0f} seconds", err=True)
    if arguments.write:
        page = arguments.write.read_text()
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        arguments.write.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")
    else:
        click.echo(text)


if __name__ == "__main__":
    main()
