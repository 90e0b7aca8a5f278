"""A long backfill in pieces: each piece is one dbt run with the two backfill vars, and the ledger knows which are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun
from two_clocks.recovery.dbt import Model, Window, ask, open_model, refusal
from two_clocks.recovery.lock import Lock
from two_clocks.recovery.reconciling import LEDGER_WINDOWS, plain
from two_clocks.recovery.words import counted

# More dbt runs than anybody waits for: a sign that the chunk was meant to be longer.
MOST_CHUNKS = 10_000

# An attempt that rested longer than this is not taken up again: the source may have changed under the chunks it finished.
RESUME_WITHIN = timedelta(hours=24)

Point = datetime | date | int


@dataclass(frozen=True)
class Chunk:
    """A closed range of watermarks, both ends included."""

    number: int
    lower: Point
    upper: Point
    rows_expected: int = 0


@dataclass(frozen=True)
class Plan:
    model: Model
    window: Window  # of the stream whose watermark reaches furthest
    chunks: tuple[Chunk, ...]
    asked: str = ""  # the range in the words of who asked: its end may lie past what the target holds, which moves on
    finished: frozenset[int] = frozenset()  # numbers of chunks that an interrupted attempt has finished
    finished_at: str | None = None

    def part(self, chunk: Chunk) -> str:
        """What the ledger says of the window of a chunk: no other backfill's chunk is called the same."""
        return f"chunk {chunk.number} of {len(self.chunks)} of the backfill {self.asked}"

    @property
    def remaining(self) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk.number not in self.finished]


@dataclass
class Written:
    """What the ledger says that the chunks read and wrote."""

    extracted: int = 0
    inserted: int = 0
    updated: int = 0
    runs: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(
            self.extracted + other.extracted,
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.runs + other.runs,
        )


@dataclass
class Step:
    plan: Plan
    chunk: Chunk
    written: Written = field(default_factory=Written)


# --- planning: nothing here writes -----------------------------------------------------------------------------------


def plan_backfill(session: DbtSession, unique_id: str, lower: str, upper: str, chunk: str) -> Plan:
    """Everything that can be refused is refused here, before the first chunk of the first model.

    Raises:
        CannotRun: with one sentence why this model cannot be backfilled over this range.
    """
    model = open_for_backfill(session, unique_id, lower, upper)
    check_sink(session, model.name, model.relation, model.unique_key)
    plan = with_expected_rows(session, model, _cut(session, model, chunk))
    return replace(plan, asked=" ".join(f"from {lower} to {upper} by {chunk}".split()))


def open_for_backfill(session: DbtSession, unique_id: str, lower: str, upper: str) -> Model:
    """The model as a backfill of this range would run it; window() itself refuses what it would refuse then."""
    node = session.manifest.nodes[unique_id]
    if node.config.materialized != "incremental":
        raise CannotRun(
            f"Model {node.name} is not incremental but a {node.config.materialized}: a run of it reads everything anyway, so there is nothing to backfill."
        )
    if not node.config.unique_key:
        raise CannotRun(
            f"Model {node.name} declares no unique_key, so a backfill would store rows twice: declare one first."
        )
    model = open_model(session, unique_id, full_refresh=False, vars=bounds_as_vars(lower, upper))
    if not model.is_windowed:
        raise CannotRun(
            f"Model {model.name} reads its source through no window of this package, so the ends of a backfill would mean nothing to it; `two-clocks repair` can bring back its lost rows."
        )
    if len({window.kind for window in model.windows}) > 1:
        raise CannotRun(
            f"The streams of model {model.name} have watermarks of different kinds, which no common chunk can cut: backfill it with dbt itself."
        )
    return model


def bounds_as_vars(lower: str, upper: str) -> dict[str, str]:
    return {"two_clocks_backfill_from": lower, "two_clocks_backfill_to": upper}


def check_sink(session: DbtSession, name: str, relation: str, unique_key: Sequence[str], is_name: bool = False) -> None:
    """Checked before anything is read again: a sweep over a sink that is not idempotent makes a bad night worse.

    Raises:
        CannotRun: the key holds NULLs or repeats.
    """
    sink = {"relation": relation, "unique_key": list(unique_key), "name": name, "is_name": is_name}
    found = ask(session, "{{ two_clocks.sink_check_query() }}", {"two_clocks_sink": sink})[0]
    key, place = ", ".join(unique_key), plain(relation)
    repeated, nulls = int(found["repeated_keys"]), int(found["null_rows"])
    if repeated:
        raise CannotRun(
            f"{counted(repeated, 'key stands', 'keys stand')} in more than one row of {place} ({key}), so it is no idempotent "
            "sink: remove the copies or rebuild it before anything is read again."
        )
    if nulls:
        raise CannotRun(
            f"{counted(nulls, 'row of', 'rows of')} {place} {'has' if nulls == 1 else 'have'} a NULL in the unique key ({key}), "
            "so it is no idempotent sink: fill or remove them before anything is read again."
        )


def _cut(session: DbtSession, model: Model, chunk: str) -> list[Chunk]:
    length = ask(
        session,
        "{% if execute %}{% set length = two_clocks._read_duration({'value': var('two_clocks_chunk'), 'name': '--chunk'}, '1 day', zero_allowed=false) %}"
        "select {{ length.amount }} as amount, {{ 1 if length.is_number else 0 }} as is_number{% else %}select 1 as one{% endif %}",
        {"two_clocks_chunk": chunk},
    )[0]
    kind, units = model.windows[0].kind, model.windows[0].units_per_second
    ends = [
        (point(window.clocks["window_from_value"], kind), point(window.clocks["window_to_value"], kind))
        for window in model.windows
    ]
    lower, upper, slowest = min(end[0] for end in ends), max(end[1] for end in ends), min(end[1] for end in ends)
    step: Any = timedelta(seconds=int(length["amount"]))
    if kind == "integer":
        if units is None and not int(length["is_number"]):
            raise CannotRun(
                f"--chunk is '{chunk}', a length of time, but the watermark {model.windows[0].watermark} of {model.name} counts in integers: write a plain number of ids."
            )
        step = int(length["amount"]) * (units or 1)
    elif kind == "date" and step.seconds:
        raise CannotRun(
            f"--chunk is '{chunk}', but the watermark {model.windows[0].watermark} of {model.name} is a date: write whole days."
        )

    starts = []
    start = lower
    while start <= upper:
        # a stream that is behind refuses a range that starts after its watermark: its last chunk is everybody's last
        if start == lower or start <= slowest:
            starts.append(start)
        if len(starts) > MOST_CHUNKS:
            raise CannotRun(
                f"--chunk is '{chunk}', which cuts the range into more than {MOST_CHUNKS:,} pieces: write a longer one."
            )
        start += step
    # Whole values are cut between two of them. Times are not: the end of one chunk is the start of the next, because no
    # smallest step is known in every engine, and a row read twice is harmless while a row read never is not.
    smallest: Any = {"integer": 1, "date": timedelta(days=1)}.get(kind, timedelta(0))
    uppers = [min(following - smallest, upper) for following in starts[1:]] + [upper]
    return [
        Chunk(number, lower, upper) for number, (lower, upper) in enumerate(zip(starts, uppers, strict=True), start=1)
    ]


def with_expected_rows(session: DbtSession, model: Model, chunks: Sequence[Chunk]) -> Plan:
    """The plan with the rows that each chunk will find in the source."""
    expected = [0] * len(chunks)
    for window in model.windows:
        kind = window.kind
        arguments = {
            "relation": window.source_relation,
            "watermark": window.watermark_sql,
            "kind": kind,
            "type": window.watermark_type,
            "starts": [as_literal(chunk.lower, kind) for chunk in chunks],
            "end": as_literal(chunks[-1].upper, kind),
        }
        for row in ask(session, "{{ two_clocks.chunk_counts_query() }}", {"two_clocks_chunks": arguments}):
            expected[int(row["chunk"])] += int(row["rows_found"])
    furthest = max(model.windows, key=lambda window: point(window.clocks["window_to_value"], window.kind))
    counted = tuple(replace(chunk, rows_expected=count) for chunk, count in zip(chunks, expected, strict=True))
    return Plan(model, furthest, counted)


# --- the same moment in the words of a window, a literal, the ledger and a var -----------------------------------------


def point(text: str, kind: str) -> Point:
    if kind == "integer":
        return int(text)
    if kind == "date":
        return date.fromisoformat(text[:10])
    whole, _, rest = text.removesuffix("+00").partition(".")
    return datetime.fromisoformat(f"{whole}.{(rest + '000000')[:6]}")


def as_literal(point: Point, kind: str) -> str:
    if not isinstance(point, datetime):
        return str(point)
    return point.isoformat(sep=" ", timespec="microseconds") + ("+00" if kind == "timestamptz" else "")


def as_var(point: Point, kind: str) -> str:
    """A bound as the backfill vars take it: never a bare date where a time is meant, which would be a whole day."""
    if not isinstance(point, datetime):
        return str(point)
    return point.isoformat(timespec="microseconds") + ("Z" if kind == "timestamptz" else "")


# --- resuming ----------------------------------------------------------------------------------------------------------


def resume(session: DbtSession, plan: Plan) -> Plan:
    """Takes up an attempt at the same plan that was interrupted, or leaves the plan as it is.

    The ledger is all there is to go by, and it is enough: a chunk and its row are committed together, and the row says
    which part of which backfill it is. Chunks run in order, so the last chunk marks an attempt as completed: what lies
    before its latest success belongs to a backfill that is over. So does what lies before a window of any other backfill.
    An attempt that rested for more than a day is not taken up again either. In doubt a chunk is repeated, which costs
    reads and nothing else.
    """
    numbers = {plan.part(chunk): chunk.number for chunk in plan.chunks}
    last = plan.part(plan.chunks[-1])
    finished: set[int] = set()
    finished_at = None
    later = None
    for row in ledger_of(session, plan.model):
        if row["kind"] != "backfill" or row["stream"] != plan.window.stream or row["window_to_value"] is None:
            continue
        part = row["message"]
        if part == last or part not in numbers:
            break
        at = point(row["finished_at"], "timestamp")
        if (later or point(row["asked_at"], "timestamp")) - at > RESUME_WITHIN:
            break
        later = at
        finished_at = finished_at or row["finished_at"]
        finished.add(numbers[part])
    return replace(plan, finished=frozenset(finished), finished_at=finished_at)


def ledger_of(session: DbtSession, model: Model) -> list[dict[str, Any]]:
    return ask(session, LEDGER_WINDOWS, {"two_clocks_model": model.unique_id})


# --- running -----------------------------------------------------------------------------------------------------------


def run_plan(session: DbtSession, plan: Plan, lock: Lock) -> Iterator[Step]:
    """Runs the remaining chunks in order, each as one dbt run. Yields after each one.

    Raises:
        CannotRun: a chunk failed, or the lock is lost. What is finished is finished: the same command goes on from there.
    """
    for chunk in plan.remaining:
        lock.check()
        name = f"chunk {chunk.number} of {len(plan.chunks)}"
        run_range(session, plan.model, plan.window, chunk.lower, chunk.upper, name, plan.part(chunk))
        yield Step(plan, chunk)


def run_range(
    session: DbtSession, model: Model, window: Window, lower: Point, upper: Point, name: str, part: str
) -> None:
    """One dbt run over one closed range; `name` is what a failure calls it, `part` what the ledger says of it."""
    bounds = bounds_as_vars(as_var(lower, window.kind), as_var(upper, window.kind))
    bounds["two_clocks_backfill_part"] = part
    try:
        session.invoke(["run", "--select", model.selector], vars=bounds, check=True)
    except CannotRun as error:
        because = refusal(error).message
        ends = ", ".join(spoken(point, window.units_per_second) for point in (lower, upper))
        raise CannotRun(
            f"{name} [{ends}] of {model.name} failed, and what was done before it stays done: {because}"
        ) from error


def known_windows(session: DbtSession, model: Model) -> set[str]:
    return {row["window_id"] for row in ledger_of(session, model)}


def written_since(session: DbtSession, model: Model, known: set[str]) -> Written:
    """What the backfill rows say that came into the ledger since it held the windows that are `known`."""
    new = [row for row in ledger_of(session, model) if row["kind"] == "backfill" and row["window_id"] not in known]
    return Written(
        extracted=sum(int(row["rows_extracted"]) for row in new),
        inserted=sum(int(row["rows_inserted"]) for row in new),
        updated=sum(int(row["rows_updated"]) for row in new),
        runs=len(new),
    )


def spoken(point: Point, units_per_second: int | None = None) -> str:
    """A bound for people: an epoch as the moment that it stands for, in UTC."""
    if isinstance(point, int) and units_per_second:
        seconds, rest = divmod(point, units_per_second)
        point = datetime(1970, 1, 1) + timedelta(seconds=seconds, microseconds=rest * (1_000_000 // units_per_second))
    if isinstance(point, datetime):
        return point.isoformat(sep=" ", timespec="microseconds" if point.microsecond else "seconds")
    return str(point)


def plan_as_json(plan: Plan) -> dict[str, Any]:
    kind = plan.window.kind
    return {
        "model": plan.model.unique_id,
        "chunks": [
            {
                "number": chunk.number,
                "from": as_literal(chunk.lower, kind),
                "to": as_literal(chunk.upper, kind),
                "rows_expected": chunk.rows_expected,
                "finished_before": chunk.number in plan.finished,
            }
            for chunk in plan.chunks
        ],
    }
