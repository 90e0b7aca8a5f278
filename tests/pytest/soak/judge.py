"""What has to be in a sink, said once more in plain Python: nothing here knows how the project decides anything.

The judge watches a history from outside. It is told what the source shows, what the sink holds and which commands dbt called a
success, and derives from the promises of docs/contract.md, sections 2, 4 and 6, what must have been delivered by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple


class Row(NamedTuple):
    """A version of a row, in the source or in the sink."""

    id: int
    note: str
    at: datetime | None  # the watermark


class Mark(NamedTuple):
    """Where a key stands: its watermark, and what it says there."""

    at: datetime
    note: str


@dataclass
class Named:
    """What the project's own signals say at the end."""

    lost: set[int] = field(default_factory=set)  # keys that nothing_lost names
    invalid: Counter[Row] = field(default_factory=Counter)  # rows that watermark_valid names
    left_out: list[tuple[datetime | None, datetime]] = field(default_factory=list)  # ranges with both ends
    gaps: list[str] = field(default_factory=list)

    def leaves_out(self, at: datetime) -> bool:
        """Whether a watermark lies in a range that is said to be left out."""
        return any((low is None or low <= at) and at <= high for low, high in self.left_out)


def eligible(rows: Iterable[Row], now: datetime) -> list[Row]:
    """Rows with a watermark that is not in the future."""
    return [row for row in rows if row.at is not None and row.at <= now]


def newest(rows: Iterable[Row], now: datetime) -> dict[int, Mark]:
    """The newest version of each key; of several with one watermark the one that says the greatest."""
    best: dict[int, Mark] = {}
    for row in eligible(rows, now):
        best[row.id] = max(best.get(row.id, Mark(datetime.min, "")), Mark(row.at, row.note))  # type: ignore[arg-type]
    return best


class Judge:
    """Keeps what was promised so far, and says at the end what was broken."""

    def __init__(self) -> None:
        self.seen: set[Row] = set()
        self.promised: dict[int, Mark] = {}

    def source_shows(self, rows: Iterable[Row]) -> None:
        self.seen |= set(rows)

    def ran(self, visible: Collection[Row], sink_before: Collection[Row], now: datetime, lookback: timedelta) -> None:
        """A normal run succeeded: the look-back, measured from the data's clocks, was read."""
        shown, stored = eligible(visible, now), eligible(sink_before, now)
        start = datetime.min
        if shown and stored:
            start = min(max(row.at for row in shown), max(row.at for row in stored)) - lookback  # type: ignore[type-var]
        self._promise([row for row in shown if row.at >= start], now)  # type: ignore[operator]

    def backfilled(
        self, visible: Collection[Row], sink_before: Collection[Row], now: datetime, first: datetime, last: datetime
    ) -> None:
        """A backfill succeeded: what lies in its range was read, up to where the sink had come before."""
        end = min(last, max(row.at for row in eligible(sink_before, now)))  # type: ignore[type-var]
        self._promise([row for row in eligible(visible, now) if first <= row.at <= end], now)  # type: ignore[operator]

    def rebuilt(self, visible: Collection[Row], now: datetime) -> None:
        """A full refresh succeeded: the sink holds what the source shows, and need not hold anything else."""
        self.promised = {}
        self._promise(visible, now)

    def restored(self, sink: Collection[Row]) -> None:
        """The sink was put back to an older state from outside: only what is in it is still there."""
        held = {row.id: Mark(row.at, row.note) for row in sink if row.at is not None}
        self.promised = {key: min(mark, held[key]) for key, mark in self.promised.items() if key in held}

    def _promise(self, rows: Iterable[Row], now: datetime) -> None:
        for key, mark in newest(rows, now).items():
            # with an equal watermark, what was read last counts
            if key not in self.promised or self.promised[key].at <= mark.at:
                self.promised[key] = mark

    def complaints(self, visible: Collection[Row], sink: Collection[Row], now: datetime, named: Named) -> list[str]:
        """Everything that is wrong at the end, one sentence each."""
        held = {row.id: row for row in sink}
        said = [f"row {key} is there {n} times" for key, n in Counter(row.id for row in sink).items() if n > 1]
        said += [f"row {row} was never in the source" for row in sink if row not in self.seen]
        said += [f"row {row} was read before it was due" for row in sink if row.at and row.at > now]
        for key, mark in self.promised.items():
            row = held.get(key)
            if row is None or row.at is None or row.at < mark.at:
                said.append(f"row {key} of {mark.at} was read by a run that succeeded, and the sink holds {row}")
            elif row.at == mark.at and row.note != mark.note:
                said.append(f"row {key} of {mark.at} says {row.note}, and {mark.note} was read last")
        lost = lost_keys(visible, sink, now)
        for key in sorted(lost - named.lost):
            if not named.leaves_out(newest(visible, now)[key].at):
                said.append(f"row {key} is lost and nothing names it: the sink holds {held.get(key)}")
        said += [f"row {key} is named as lost, and is not" for key in sorted(named.lost - lost)]
        said += [f"a gap between windows: {gap}" for gap in named.gaps]
        invalid = Counter(row for row in visible if row.at is None or row.at > now)
        if invalid != named.invalid:
            said.append(
                f"watermark_valid names {dict(named.invalid)}, and {dict(invalid)} have no watermark or a future one"
            )
        return said


def lost_keys(visible: Collection[Row], sink: Collection[Row], now: datetime) -> set[int]:
    """Keys whose newest visible version is not in the sink; a sink that is ahead of its source has lost nothing."""
    held: dict[int, list[Row]] = {}
    for row in sink:
        held.setdefault(row.id, []).append(row)
    said = {(row.id, row.at, row.note) for row in visible}
    lost = set()
    for key, mark in newest(visible, now).items():
        if not any(
            row.at is not None and (row.at > mark.at or ((row.id, mark.at, row.note) in said and row.at == mark.at))
            for row in held.get(key, [])
        ):
            lost.add(key)
    return lost
