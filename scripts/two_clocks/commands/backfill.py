"""`two-clocks backfill`: a range of the past read again, chunk by chunk, into a sink that is known to be idempotent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE
from two_clocks.recovery.backfilling import (
    Plan,
    Point,
    Step,
    Written,
    known_windows,
    plan_as_json,
    plan_backfill,
    resume,
    run_plan,
    spoken,
    written_since,
)
from two_clocks.recovery.dbt import find_models, open_session, options_for_dbt
from two_clocks.recovery.lock import only_one
from two_clocks.recovery.reconciling import tidy

SHOWN_CHUNKS = 30

# What one more dbt run costs, told in rows, so that the time left is right for small chunks too.
ROWS_PER_RUN = 20_000


@click.command(name="backfill")
@click.option("--select", "select", multiple=True, required=True, help="Models, as dbt selects them. May be repeated.")
@click.option(
    "--from",
    "lower",
    required=True,
    metavar="MOMENT",
    help="Where to begin: a date, an ISO 8601 time, or an integer. Included.",
)
@click.option(
    "--to", "upper", required=True, metavar="MOMENT", help="Where to end. Included; a date is that whole day."
)
@click.option("--chunk", default="1d", show_default=True, metavar="DURATION", help="How much one dbt run reads.")
@click.option("--dry-run", is_flag=True, help="Show the plan and run nothing.")
@click.option("--restart", is_flag=True, help="Begin with the first chunk, even where an attempt was interrupted.")
@options_for_dbt
@common_options
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    select: Sequence[str],
    lower: str,
    upper: str,
    chunk: str,
    dry_run: bool,
    restart: bool,
) -> None:
    """Read a range of the past again, in dbt runs of one chunk each, and upsert it.

    Refused unless the sink is idempotent: a unique key that is declared, and neither NULL nor repeated in the table.
    Interrupted at any moment, the same command goes on after the last chunk that was finished.

    Exit status: 0 done; 2 it could not run, or a chunk failed.
    """
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    words = [word for text in select for word in text.split()]
    # Every model is planned before the first one is touched.
    plans = [plan_backfill(session, unique_id, lower, upper, chunk) for unique_id in find_models(session, words)]
    if dry_run:
        for plan in plans:
            show_plan(plan)
        document = [plan_as_json(plan) for plan in plans]
    else:
        document = run_plans(session, plans, restart)
    if as_json:
        console.write_json({"dry_run": dry_run, "models": document})
    raise SystemExit(EXIT_FINE)


def run_plans(session: DbtSession, plans: Sequence[Plan], restart: bool) -> list[dict[str, Any]]:
    """Model after model in dependency order: a model begins when those it reads from are complete."""
    document = []
    with ExitStack() as stack:
        locks = [stack.enter_context(only_one(session, plan.model.name, plan.model.relation)) for plan in plans]
        for planned, lock in zip(plans, locks, strict=True):
            # what is finished is asked under the lock: nobody else finishes chunks now
            plan = planned if restart else resume(session, planned)
            show_plan(plan)
            known = known_windows(session, plan.model)
            with progress(plan) as advance:
                for step in run_plan(session, plan, lock):
                    advance(step)
            written = written_since(session, plan.model, known)
            show_written(plan, written)
            document.append({**plan_as_json(plan), **vars(written)})
    return document


# --- showing ---------------------------------------------------------------------------------------------------------


def show_plan(plan: Plan) -> None:
    chunks, name = plan.chunks, console.safe(plan.model.name)
    rows = sum(chunk.rows_expected for chunk in chunks)

    def say(point: Point) -> str:
        return spoken(point, plan.window.units_per_second)

    console.heading(
        f"{name}: {len(chunks):,} {'chunk' if len(chunks) == 1 else 'chunks'} from {say(chunks[0].lower)} to {say(chunks[-1].upper)}, "
        f"{rows:,} rows in the source"
    )
    if plan.finished:
        console.note(
            f"Resuming: {len(plan.finished):,} of {len(chunks):,} chunks were finished by an attempt that was interrupted, the last of them at "
            f"{tidy(plan.finished_at)} (UTC); --restart begins anew."
        )
    shown = chunks if len(chunks) <= SHOWN_CHUNKS else [*chunks[: SHOWN_CHUNKS - 5], *chunks[-3:]]
    console.print_table(
        ["Chunk", "From", "To", "Rows", ""],
        [
            [
                chunk.number,
                say(chunk.lower),
                say(chunk.upper),
                f"{chunk.rows_expected:,}",
                "finished" if chunk.number in plan.finished else "",
            ]
            for chunk in shown
        ],
        right=["Chunk", "Rows"],
    )
    if len(shown) < len(chunks):
        console.note(f"{len(chunks) - len(shown):,} chunks in between are not shown; --dry-run --json has all.")


def show_written(plan: Plan, written: Written) -> None:
    console.note(
        f"{console.safe(plan.model.name)}: {len(plan.remaining):,} chunks run, {written.extracted:,} rows read, "
        f"{written.inserted:,} inserted, {written.updated:,} updated."
    )


@contextmanager
def progress(plan: Plan) -> Iterator[Any]:
    """Chunks, rows and time left on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    weights = {chunk.number: chunk.rows_expected + ROWS_PER_RUN for chunk in plan.chunks}
    rows = sum(chunk.rows_expected for chunk in plan.chunks if chunk.number in plan.finished)
    done = len(plan.finished)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[chunks]}", markup=False),
        TextColumn("{task.fields[rows]}", markup=False),
        TimeRemainingColumn(),
        console=console.to_stderr(),
        transient=True,
    ) as bar:

        def words() -> dict[str, str]:
            return {"chunks": f"{done:,}/{len(plan.chunks):,} chunks", "rows": f"{rows:,} rows"}

        task = bar.add_task(
            console.safe(plan.model.name), total=sum(weights[chunk.number] for chunk in plan.remaining), **words()
        )

        def advance(step: Step) -> None:
            nonlocal rows, done
            rows, done = rows + step.chunk.rows_expected, done + 1
            bar.update(task, advance=weights[step.chunk.number], **words())

        yield advance
