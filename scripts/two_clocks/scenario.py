"""Plays the two-clock scenario through real dbt runs, and reads from the database what came of it.

Nothing here knows what will be lost: the models under models/demo/outcome say it, from what the runs did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from two_clocks.dbt_session import DbtSession

SYNCS = (
    "crm_grades_wall_clock",
    "crm_grades_data_clock",
    "crm_grades_lookback",
    "crm_grades_after_load",
    "crm_grades",
)
PACKAGE_SYNC = "crm_grades"

LOAD_MODELS = ("load_log", "grade_grades")
SYNC_MODELS = ("path:models/demo/by_hand", "path:models/demo/sync", "sync_windows")

TIMELINE = "select * from {{ ref('timeline') }} order by happens_at, place, number_of_it"
ODS_HAS_MONDAY_GRADE = """
    select count(*) as found from {{ source('ods', 'grade_grades') }} as gg
    inner join {{ ref('monday_grade') }} as monday
        on monday.grade_id = gg.id and monday.timemodified = gg.timemodified
"""
WINDOWS = "select * from {{ ref('sync_windows') }}"
OUTCOMES = "select * from {{ ref('grade_outcomes') }} order by sync, timemodified, grade_id"
LEDGER_WRITES = """
    select coalesce(sum(rows_inserted + rows_updated), 0) as written, coalesce(sum(rows_extracted), 0) as read_rows
    from {{ two_clocks.ledger_relation() }}
"""


@dataclass(frozen=True)
class Event:
    """One thing that happens. Times are UTC."""

    at: datetime
    kind: str  # change, load or sync
    what: str
    ods_has_monday_grade: bool


@dataclass(frozen=True)
class Window:
    """What one sync did in one run. Times are epoch seconds, None where there is no such end."""

    watermark_from: int | None
    watermark_to: int | None
    rows_read: int
    rows_written: int
    has_monday_grade: bool


@dataclass(frozen=True)
class Outcome:
    """What became of one grade in one sync: the columns of grade_outcomes, times in epoch seconds."""

    sync: str
    grade_id: int
    is_lost: bool
    reason: str | None
    facts: dict[str, int | None]


@dataclass
class Replay:
    events: list[Event] = field(default_factory=list)
    windows: dict[tuple[int, str], Window] = field(default_factory=dict)  # by epoch of the run and sync
    outcomes: list[Outcome] = field(default_factory=list)

    def outcomes_of(self, sync: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.sync == sync]

    def lost_by(self, sync: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes_of(sync) if outcome.is_lost]


def prepare(session: DbtSession) -> list[dict[str, Any]]:
    """Loads the scenario into the database and returns its events in order."""
    session.invoke(["seed", "--full-refresh"], check=True)
    session.invoke(["run", "--select", "load_contents", "timeline", "monday_grade"], check=True)
    return session.query(TIMELINE)


def play(
    session: DbtSession,
    timeline: Sequence[dict[str, Any]],
    advance: Callable[[str], None],
    from_scratch: bool = False,
) -> Replay:
    """Runs every load and every sync at its own moment, then reads what came of it.

    Args:
        session: dbt on an empty database, or on one that holds an earlier replay.
        timeline: what `prepare` returned.
        advance: called before each event with a text for a person.
        from_scratch: the first sync rebuilds its sinks, whatever they hold.
    """
    replay = Replay()
    first_sync = {"options": ["--full-refresh"], "vars": {"two_clocks_max_shrink": 1}} if from_scratch else {}
    ods_has_monday_grade = False
    for happening in timeline:
        at = happening["happens_at"].replace(tzinfo=timezone.utc)
        advance(f"{at:%a %H:%M} {happening['kind']}")
        now = {"two_clocks_now": iso(at)}
        if happening["kind"] == "load":
            session.invoke(["run", "--select", *LOAD_MODELS], vars=now, check=True)
            ods_has_monday_grade = session.query(ODS_HAS_MONDAY_GRADE)[0]["found"] > 0
        elif happening["kind"] == "sync":
            arguments = ["run", "--select", *SYNC_MODELS, *first_sync.get("options", [])]
            session.invoke(arguments, vars={**now, **first_sync.get("vars", {})}, check=True)
            first_sync = {}
        replay.events.append(Event(at, happening["kind"], _words(happening), ods_has_monday_grade))

    session.invoke(["run", "--select", "grade_outcomes"], vars=now, check=True)
    replay.windows = {(int(row["run_at"]), row["sync"]): _window(row) for row in session.query(WINDOWS)}
    replay.outcomes = [_outcome(row) for row in session.query(OUTCOMES)]
    return replay


def contents(session: DbtSession) -> dict[str, list[dict[str, Any]]]:
    """Every row of every sink, to compare one replay with the next."""
    return {sync: session.query(f"select * from {{{{ ref('{sync}') }}}} order by grade_id") for sync in SYNCS}


def ledger_writes(session: DbtSession) -> tuple[int, int]:
    """How many rows the package's sync has written and read so far, as its ledger counts them."""
    counted = session.query(LEDGER_WRITES)[0]
    return int(counted["written"]), int(counted["read_rows"])


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _words(happening: dict[str, Any]) -> str:
    prefix = {"change": f"grade {happening['number_of_it']}: ", "load": "ODS load, "}.get(happening["kind"], "sync")
    return prefix + (happening["what"] or "")


def _window(row: dict[str, Any]) -> Window:
    return Window(
        watermark_from=_whole(row["watermark_from"]),
        watermark_to=_whole(row["watermark_to"]),
        rows_read=int(row["rows_read"] or 0),
        rows_written=int(row["rows_written"] or 0),
        has_monday_grade=bool(row["has_monday_grade"]),
    )


def _outcome(row: dict[str, Any]) -> Outcome:
    told = {"sync", "grade_id", "is_lost", "reason"}
    return Outcome(
        sync=row["sync"],
        grade_id=int(row["grade_id"]),
        is_lost=bool(row["is_lost"]),
        reason=row["reason"],
        facts={name: _whole(value) for name, value in row.items() if name not in told},
    )


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
