"""From a reconciliation to the smallest set of windows that brings the lost rows back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from two_clocks.dbt_session import DbtSession
from two_clocks.recovery.backfilling import (
    Point,
    Written,
    as_literal,
    check_sink,
    known_windows,
    point,
    run_range,
    written_since,
)
from two_clocks.recovery.dbt import ask
from two_clocks.recovery.lock import Lock
from two_clocks.recovery.reconciling import LISTED_BUCKETS, LOST, Pair, Reconciliation

# Lost watermarks with no more rows than this between them are read in one window: one more dbt run costs about as much.
MERGE_ROWS = 20_000

# More different watermarks than this are not looked at one by one; the widest gaps between them are.
MOST_POINTS = 10_000

# Keys of orphans that one statement deletes.
ORPHANS_AT_ONCE = 5_000


@dataclass(frozen=True)
class Range:
    """A window to read again: from one lost watermark to another, both included."""

    lower: Point
    upper: Point
    lost: int
    rows_expected: int  # at least: rows tied with the upper end are not known
    lost_at_end: int


def windows_to_read(session: DbtSession, found: Reconciliation, merge_rows: int = MERGE_ROWS) -> list[Range]:
    """Ranges that hold every lost watermark, begin and end with one, and are split only where a split saves reading.

    Two lost watermarks are neighbours unless more than `merge_rows` rows of the source lie between them. No set of
    fewer windows covers them all without reading such a stretch for nothing.
    """
    window = found.pair.window
    lost = sorted(point(difference.source_watermark, window.kind) for difference in found.of(*LOST))
    if not lost:
        return []
    points = _most_separate(sorted(set(lost)))
    arguments = {
        "relation": window.source_relation,
        "watermark": window.watermark_sql,
        "kind": window.kind,
        "type": window.watermark_type,
        "starts": [as_literal(one, window.kind) for one in points],
        "end": as_literal(lost[-1], window.kind),
    }
    counted = ask(session, "{{ two_clocks.chunk_counts_query() }}", {"two_clocks_chunks": arguments})
    rows_from = {int(row["chunk"]): int(row["rows_found"]) for row in counted}

    ranges: list[Range] = []
    for place, start in enumerate(points):
        end = bisect_left(lost, points[place + 1]) if place + 1 < len(points) else len(lost)
        here = lost[bisect_left(lost, start) : end]
        between = rows_from.get(place - 1, 0)  # from the watermark before up to this one
        if ranges and between <= merge_rows:
            last = ranges[-1]
            rows = last.rows_expected - last.lost_at_end + between + len(here)
            ranges[-1] = Range(last.lower, here[-1], last.lost + len(here), rows, len(here))
        else:
            ranges.append(Range(start, here[-1], len(here), len(here), len(here)))
    return ranges


def _most_separate(points: Sequence[Any]) -> list[Any]:
    """The points, or those that follow the widest gaps where there are too many to count between all of them."""
    if len(points) <= MOST_POINTS:
        return list(points)
    by_gap = sorted(range(1, len(points)), key=lambda place: points[place] - points[place - 1], reverse=True)
    return [points[place] for place in sorted([0, *by_gap[: MOST_POINTS - 1]])]


def repair_by_windows(
    session: DbtSession, found: Reconciliation, ranges: Sequence[Range], lock: Lock, advance: Any
) -> Written:
    """Reads each range again, as one dbt run with the backfill vars."""
    model = found.pair.model
    known = known_windows(session, model)
    for number, one in enumerate(ranges, start=1):
        lock.check()
        name = f"window {number} of {len(ranges)}"
        run_range(session, model, found.pair.window, one.lower, one.upper, name, f"{name} of a repair")
        advance(f"{model.name}: {name}")
    return written_since(session, model, known)


def repair_by_key(session: DbtSession, found: Reconciliation) -> Written:
    """Upserts exactly the lost rows, in one transaction."""
    row = ask(session, "{{ two_clocks.repair_by_key() }}", {"two_clocks_reconcile": _arguments(found)})[0]
    inserted, updated = int(row["rows_inserted"]), int(row["rows_updated"])
    return Written(extracted=inserted + updated, inserted=inserted, updated=updated)


def delete_orphans(session: DbtSession, found: Reconciliation) -> None:
    """Deletes the orphans of a reconciliation that a person has seen, each only if it still is one."""
    keys = [list(difference.key) for difference in found.of("orphaned")]
    for start in range(0, len(keys), ORPHANS_AT_ONCE):
        given = {"two_clocks_reconcile": _arguments(found), "two_clocks_orphans": keys[start : start + ORPHANS_AT_ONCE]}
        ask(session, "{{ two_clocks.delete_orphans() }}", given)


def _arguments(found: Reconciliation) -> dict[str, Any]:
    """What was compared, once more: the same rows up to the same watermark, in the buckets that differed."""
    return {**found.arguments, "in_buckets": found.buckets if len(found.buckets) <= LISTED_BUCKETS else "all"}


def check_sinks(session: DbtSession, pairs: Sequence[Pair]) -> None:
    """No row is read again into a sink that is not idempotent.

    Raises:
        CannotRun: a key repeats in a target, or holds a NULL.
    """
    for pair in pairs:
        check_sink(session, pair.name, pair.target, pair.unique_key, bool(pair.arguments.get("target_is_name")))
