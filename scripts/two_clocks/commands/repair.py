"""`two-clocks repair`: what reconcile finds is brought back, and reconcile is asked again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.commands.reconcile import comparison_options, pairs_asked_for, show
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE, EXIT_FOUND, CannotRun
from two_clocks.recovery.backfilling import Written, spoken
from two_clocks.recovery.dbt import open_session, options_for_dbt
from two_clocks.recovery.lock import Lock, only_one
from two_clocks.recovery.reconciling import LOST, Reconciliation, reconcile
from two_clocks.recovery.repairing import (
    MERGE_ROWS,
    Range,
    check_sinks,
    delete_orphans,
    repair_by_key,
    repair_by_windows,
    windows_to_read,
)
from two_clocks.recovery.words import counted

SHOWN_KEYS = 20
SHOWN_WINDOWS = 30


@dataclass
class Repair:
    """One comparison on its way: what was found, what is to be done, what came of it."""

    before: Reconciliation
    ranges: list[Range] | None  # None: by key
    written: Written | None = None
    orphans_deleted: int = 0
    after: Reconciliation | None = None

    @property
    def lost(self) -> int:
        return len(self.before.of(*LOST))

    @property
    def orphans(self) -> int:
        return len(self.before.of("orphaned"))


@click.command(name="repair")
@comparison_options
@click.option(
    "--merge-rows",
    type=click.IntRange(min=0),
    default=MERGE_ROWS,
    show_default=True,
    help="Lost rows with no more source rows than this between them are read in one window.",
)
@click.option("--by-key", is_flag=True, help="Upsert exactly the lost rows, in place of reading windows again.")
@click.option(
    "--delete-orphans", "deletes_orphans", is_flag=True, help="Delete rows that are gone from the source, too."
)
@click.option("--dry-run", is_flag=True, help="Show what would be done and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Where there is no terminal to ask on, this is the only yes.")
@options_for_dbt
@common_options
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    merge_rows: int,
    by_key: bool,
    deletes_orphans: bool,
    dry_run: bool,
    yes: bool,
    **asked: Any,
) -> None:
    """Find lost rows as reconcile does, bring them back, and reconcile again.

    A windowed model reads the windows that hold them again, by backfills of their own; any other table has exactly the lost
    rows upserted, by key. Orphans are reported and stay, unless --delete-orphans is given.

    Exit status: 0 nothing is lost (any more); 1 something still is; 2 it could not run.
    """
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    pairs = pairs_asked_for(session, **asked)
    check_sinks(session, pairs)
    repairs = [plan(session, reconcile(session, pair), by_key, merge_rows) for pair in pairs]
    for one in repairs:
        show(one.before, SHOWN_KEYS)
        show_plan(one, deletes_orphans)
    if not dry_run and any(one.lost or (deletes_orphans and one.orphans) for one in repairs):
        ask_first(repairs, deletes_orphans, yes)
        carry_out(session, repairs, deletes_orphans)
    if as_json:
        console.write_json({"dry_run": dry_run, "repairs": [as_document(one) for one in repairs]})
    still_lost = any((one.after or one.before).of(*LOST) for one in repairs)
    raise SystemExit(EXIT_FOUND if still_lost else EXIT_FINE)


def plan(session: DbtSession, found: Reconciliation, by_key: bool, merge_rows: int = MERGE_ROWS) -> Repair:
    if by_key or not found.pair.window or found.pair.arguments.get("source_is_name"):
        return Repair(found, None)
    if found.clocks["target_watermark"] is None and found.of(*LOST):
        raise CannotRun(
            f"The table of {found.pair.name} holds no rows, so there are no windows to read again: run the model normally, "
            "which then reads everything."
        )
    return Repair(found, windows_to_read(session, found, merge_rows))


def ask_first(repairs: Sequence[Repair], deletes_orphans: bool, yes: bool) -> None:
    """A backfill is a run like any other. What writes past the model, or deletes, is asked for.

    Raises:
        CannotRun: there is nobody to ask, or the answer is no.
    """
    by_key = sum(one.lost for one in repairs if one.ranges is None)
    orphans = sum(one.orphans for one in repairs) if deletes_orphans else 0
    acts = [f"upsert {counted(by_key, 'row')} by key"] * bool(by_key) + [f"delete {counted(orphans, 'orphan')}"] * bool(
        orphans
    )
    if yes or not acts:
        return
    act = " and ".join(acts)
    if not sys.stdin.isatty():
        raise CannotRun(f"To {act} needs a yes, and there is no terminal to ask on: give --yes. Nothing was written.")
    if not click.confirm(act[0].upper() + act[1:] + "?", default=False, err=True):
        raise CannotRun("The answer was no. Nothing was written.")


def carry_out(session: DbtSession, repairs: Sequence[Repair], deletes_orphans: bool) -> None:
    """Repairs in dependency order, each under its lock, and looks again."""
    with ExitStack() as stack:
        locks: dict[str, Lock] = {}
        for one in repairs:
            pair = one.before.pair
            if pair.target not in locks:  # the streams of one model share it
                locks[pair.target] = stack.enter_context(only_one(session, pair.name, pair.target))
        steps = sum(len(one.ranges) if one.ranges is not None else 1 for one in repairs)
        with console.progress("Repairing", total=steps) as advance:
            for one in repairs:
                if one.ranges:
                    one.written = repair_by_windows(
                        session, one.before, one.ranges, locks[one.before.pair.target], advance
                    )
                elif one.lost:
                    one.written = repair_by_key(session, one.before)
                    advance(one.before.pair.name)
                if deletes_orphans and one.orphans:
                    delete_orphans(session, one.before)
        for one in repairs:
            one.after = reconcile(session, one.before.pair)
            show_outcome(one)


# --- showing ---------------------------------------------------------------------------------------------------------


def show_plan(one: Repair, deletes_orphans: bool) -> None:
    name = console.safe(one.before.pair.name)
    if one.orphans and not deletes_orphans:
        console.note(
            f"{name}: {counted(one.orphans, 'orphan is', 'orphans are')} reported only; --delete-orphans deletes them."
        )
    if one.ranges is None:
        if one.lost:
            console.note(f"{name}: {counted(one.lost, 'row')} will be upserted by key, and no other is written.")
        return
    if not one.ranges:
        return
    console.note(f"{name}: {counted(len(one.ranges), 'window')} to read again for {counted(one.lost, 'lost row')}.")
    units = one.before.pair.window.units_per_second
    console.print_table(
        ["From", "To", "Lost rows", "Rows to read (about)"],
        [
            [spoken(r.lower, units), spoken(r.upper, units), f"{r.lost:,}", f"{r.rows_expected:,}"]
            for r in one.ranges[:SHOWN_WINDOWS]
        ],
        right=["Lost rows", "Rows to read (about)"],
    )
    if len(one.ranges) > SHOWN_WINDOWS:
        console.note(f"{len(one.ranges) - SHOWN_WINDOWS:,} more windows; --json has all.")


def show_outcome(one: Repair) -> None:
    before, after = one.before.counts(), one.after.counts()
    one.orphans_deleted = max(0, before["orphaned"] - after["orphaned"])
    console.heading(
        f"{console.safe(one.before.pair.name)}: {'nothing is lost' if not one.after.of(*LOST) else 'rows are still lost'}"
    )
    console.print_table(
        ["", "Before", "After"],
        [
            [what, f"{before[what]:,}", f"{after[what]:,}"]
            for what in before
            if before[what] or after[what] or what != "differs"
        ],
        right=["Before", "After"],
    )
    if not one.written:
        return
    how = (
        f"were read again in {counted(one.written.runs, 'window')}"
        if one.ranges is not None
        else "were upserted by key"
    )
    console.note(
        f"{counted(one.lost, 'row was', 'rows were')} lost; {one.written.extracted:,} {how}, "
        f"{one.written.inserted:,} inserted and {one.written.updated:,} updated."
    )


def as_document(one: Repair) -> dict[str, Any]:
    return {
        "name": one.before.pair.name,
        "model": one.before.pair.model.unique_id if one.before.pair.model else None,
        "way": "by key" if one.ranges is None else "by windows",
        "before": one.before.counts(),
        "after": one.after.counts() if one.after else None,
        "windows": [
            {"from": spoken(r.lower), "to": spoken(r.upper), "rows_lost": r.lost, "rows_expected": r.rows_expected}
            for r in one.ranges or []
        ],
        "rows_lost": one.lost,
        "rows_read": one.written.extracted if one.written else None,
        "rows_inserted": one.written.inserted if one.written else None,
        "rows_updated": one.written.updated if one.written else None,
        "orphans_deleted": one.orphans_deleted,
        "keys": one.before.as_json()["keys"],
    }
