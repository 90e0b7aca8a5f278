"""`two-clocks replay`: the two-clock scenario with real dbt runs, and what each way of syncing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from two_clocks import console, poison_act, scenario
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE, EXIT_FOUND, CannotRun
from two_clocks.private_database import TARGETS, private_database
from two_clocks.recovery import final_act
from two_clocks.scenario import PACKAGE_SYNC, SYNCS, Event, Outcome, Replay, Window

HEADINGS = {
    "crm_grades_wall_clock": "wall\nclock",
    "crm_grades_data_clock": "data\nclock",
    "crm_grades_lookback": "look-\nback",
    "crm_grades_after_load": "after\nload",
    "crm_grades": "two_\nclocks",
}

# The days of the scenario that need no date to be told apart.
FIRST_DAY, LAST_DAY = date(2024, 6, 3), date(2024, 6, 8)

# One sentence for each reason that grade_outcomes can give; the names are its columns.
REASONS = {
    "closed_ahead": "the window was closed at {closed_to}, when the ODS reached only to {reached_then}",
    "late": "the watermark already stood at {closed_to} when the load of {shown_at} first showed it",
    "tie": "it carries the very second of the watermark, {closed_to}, and a strict > does not read that second again",
    "future_row": "the window was closed at {closed_to}, when the ODS reached only to {reached_then}: "
    "a row dated {furthest_then} had made min(now, max) the wall clock",
    "ods_empty": "the window was closed at {closed_to}, when the ODS was empty",
    "no_clock": "the window was closed at {closed_to}, when the ODS was empty: min(now, nothing) is the wall clock",
    "lookback_too_short": "the load of {shown_at} first showed it, {delay} after the change; "
    "the next run looked back only to {first_seen_from}",
    "load_behind": "the load confirmed at {closed_to} carried data only to {load_carried_to}",
    "load_empty": "the load confirmed at {closed_to} was empty",
    "overwritten": "it was read, and then overwritten with the older version of {delivered_timemodified}: "
    "the upsert does not compare versions",
    "not_reached": "no window has reached it yet",
}


@click.command(name="replay")
@click.option(
    "--project-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default="the current folder",
    help="The two_clocks project itself: its seeds and demo models are the scenario.",
)
@click.option(
    "--profiles-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Replay on a target of this folder's profiles.yml. Default: on a private database, gone afterwards.",
)
@click.option(
    "--target",
    help=f"A private database ({' or '.join(TARGETS)}; default {TARGETS[0]}), or an output of the profile.",
)
@click.option(
    "--json",
    "json_file",
    is_flag=False,
    flag_value="-",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path),
    metavar="[FILE]",
    help="Write the outcome as JSON to FILE, or to standard output.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=0, max=50),
    default=1,
    show_default=True,
    help="Replay this many times more over the result, and show what that changed.",
)
@click.option(
    "--recover", is_flag=True, help="End with the recovery of what the wall clock lost: reconcile, repair, reconcile."
)
@click.option("--poison", is_flag=True, help="Show quarantine and its circuit breaker before that.")
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    json_file: Path | None,
    repeat: int,
    recover: bool,
    poison: bool,
) -> None:
    """Replay the two-clock scenario and show what each way of syncing lost.

    Every load of the ODS and every sync is a real dbt run at its own moment (the var two_clocks_now).

    Exit status: 0 the package's own sync lost nothing; 1 it lost rows; 2 the replay could not run.
    """
    check_writable(json_file)
    with open_session(project_dir.resolve(), profiles_dir, target) as session:
        replay, repeats = play_all(session, repeat, from_scratch=profiles_dir is not None)
        show_timeline(replay)
        show_losses(replay)
        for number, changes in enumerate(repeats, start=2):
            show_repeat(number, changes)
        poisoned = poison_act.play(session, scenario.iso(replay.events[-1].at)) if poison else None
        recovery = final_act.play(session, scenario.iso(replay.events[-1].at)) if recover else None

    optional = {"repeats": repeats, "poison": poisoned, "recovery": recovery}
    write_json(json_file, {**as_json(replay), **{name: value for name, value in optional.items() if value}})
    raise SystemExit(EXIT_FOUND if replay.lost_by(PACKAGE_SYNC) else EXIT_FINE)


# --- running ---------------------------------------------------------------------------------------------------------


@contextmanager
def open_session(project_dir: Path, profiles_dir: Path | None, target: str | None) -> Iterator[DbtSession]:
    """dbt on the database that was asked for; a private one is stopped and removed at the end."""
    if not (project_dir / "seeds" / "demo").is_dir():
        raise CannotRun(f"There is no scenario in {project_dir}: the replay needs the two_clocks project itself.")
    if profiles_dir:
        yield DbtSession(project_dir, profiles_dir, target)
        return
    with private_database(target or TARGETS[0], project_dir) as database:
        yield DbtSession(
            project_dir, database.profiles_dir, database.target, target_path=database.target_path, artifacts=False
        )


def play_all(session: DbtSession, repeat: int, from_scratch: bool) -> tuple[Replay, list[dict[str, Any]]]:
    """The replay, and for each repetition what it changed."""
    console.note("Loading the scenario ...")
    timeline = scenario.prepare(session)
    repeats = []
    with console.progress("Replaying", total=len(timeline) * (repeat + 1)) as advance:
        replay = scenario.play(session, timeline, advance, from_scratch)
        for _ in range(repeat):
            before, (written_before, read_before) = scenario.contents(session), scenario.ledger_writes(session)
            scenario.play(session, timeline, advance)
            after, (written_after, read_after) = scenario.contents(session), scenario.ledger_writes(session)
            repeats.append(
                {
                    "changed_models": [sync for sync in SYNCS if before[sync] != after[sync]],
                    "rows_read": read_after - read_before,
                    "rows_written": written_after - written_before,
                }
            )
    return replay, repeats


def check_writable(json_file: Path | None) -> None:
    """A mistyped path should not cost a whole replay."""
    if json_file and str(json_file) != "-" and not json_file.absolute().parent.is_dir():
        raise CannotRun(f"The folder of {json_file} does not exist, so the JSON has nowhere to go.")


def write_json(json_file: Path | None, value: dict[str, Any]) -> None:
    if json_file is None:
        return
    if str(json_file) == "-":
        console.write_json(value)
        return
    try:
        json_file.write_text(json.dumps(value, indent=2) + "\n")
    except OSError as error:
        raise CannotRun(f"{json_file} cannot be written: {error.strerror}.") from error


def as_json(replay: Replay) -> dict[str, Any]:
    """The contract's shape: runs, and per model what was expected, delivered and lost."""
    return {
        "runs": [_run_as_json(replay, event) for event in replay.events],
        "models": {sync: _model_as_json(replay, sync) for sync in SYNCS},
    }


def _run_as_json(replay: Replay, event: Event) -> dict[str, Any]:
    run = {
        "at": scenario.iso(event.at),
        "kind": event.kind,
        "what": event.what,
        "monday_grade_in_ods": event.ods_has_monday_grade,
    }
    if event.kind == "sync":
        run["models"] = {
            sync: {
                "window_from": window.watermark_from,
                "window_to": window.watermark_to,
                "rows_read": window.rows_read,
                "rows_written": window.rows_written,
                "has_monday_grade": window.has_monday_grade,
            }
            for sync in SYNCS
            if (window := _window_of(replay, event, sync))
        }
    return run


def _model_as_json(replay: Replay, sync: str) -> dict[str, Any]:
    expected, lost = replay.outcomes_of(sync), replay.lost_by(sync)
    return {
        "rows_expected": len(expected),
        "rows_delivered": len(expected) - len(lost),
        "rows_lost": len(lost),
        "lost_keys": [outcome.grade_id for outcome in lost],
        "reasons": {outcome.grade_id: explain(outcome) for outcome in lost},
    }


# --- showing ---------------------------------------------------------------------------------------------------------


def show_timeline(replay: Replay) -> None:
    console.heading("Two clocks: a grade is changed on Monday at 10:00. Who delivers it?")
    console.print_table(
        ["Time", "What happens", "In the\nODS?", *HEADINGS.values()],
        [
            [
                spoken(event.at.timestamp()),
                _what(replay, event),
                _mark(event.ods_has_monday_grade),
                *(_cell(replay, event, sync) for sync in SYNCS),
            ]
            for event in replay.events
        ],
        right=["In the\nODS?", *HEADINGS.values()],
    )
    console.note("A number is how many rows that run wrote. ✓ or ✗: the Monday 10:00 grade is there, or is not.")
    console.note(
        "(a, b] is the wall clock's window. [a, b] is this package's, on the data's clock, both ends included."
    )


def show_losses(replay: Replay) -> None:
    for sync in SYNCS:
        expected, lost = replay.outcomes_of(sync), replay.lost_by(sync)
        console.heading(f"{sync}: {len(expected) - len(lost)} of {len(expected)} grades delivered, {len(lost)} lost")
        if lost:
            console.print_table(
                ["Key", "Changed", "In the sink", "Why"],
                [
                    [outcome.grade_id, spoken(outcome.facts["timemodified"]), _stored(outcome), explain(outcome)]
                    for outcome in lost
                ],
                right=["Key"],
            )


def show_repeat(number: int, changes: dict[str, Any]) -> None:
    changed = ", ".join(changes["changed_models"]) or "no sink"
    console.heading(
        f"Replay {number}, over the result of the one before, changed {changed}: "
        f"{PACKAGE_SYNC} read {changes['rows_read']} rows again and wrote {changes['rows_written']}."
    )


def explain(outcome: Outcome) -> str:
    """Why a grade is lost, in one sentence, from what the runs did."""
    words = {name: spoken(value) for name, value in outcome.facts.items()}
    words["delay"] = f"{round((outcome.facts['shown_at'] - outcome.facts['timemodified']) / 3600)} hours"
    return REASONS[outcome.reason].format(**words)


def spoken(epoch: float | None) -> str:
    """A moment (epoch seconds, told in UTC) as people say it, with seconds only where there are some."""
    if epoch is None:
        return "nothing"
    if epoch == 0:
        return "the beginning"
    at = datetime.fromtimestamp(epoch, timezone.utc)
    clock = f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
    if FIRST_DAY <= at.date() <= LAST_DAY:
        return f"{at:%a} {clock}"
    return f"{at.day} {at:%b} {clock}" if at.year == FIRST_DAY.year else f"{at:%Y-%m-%d} {clock}"


def _what(replay: Replay, event: Event) -> Text | str:
    if event.kind != "sync":
        return event.what
    wall_clock, ours = (_window_of(replay, event, sync) for sync in ("crm_grades_wall_clock", PACKAGE_SYNC))
    has_window = ours is not None and ours.watermark_to is not None
    return Text(f"sync ({_ends(wall_clock)}]\n" + (f"     [{_ends(ours)}]" if has_window else "     nothing to read"))


def _ends(window: Window | None) -> str:
    return f"{spoken(window.watermark_from or 0)}, {spoken(window.watermark_to)}" if window else "unknown"


def _cell(replay: Replay, event: Event, sync: str) -> Text | str:
    window = _window_of(replay, event, sync)
    return Text.assemble(f"{window.rows_written} ", _mark(window.has_monday_grade)) if window else ""


def _mark(found: bool) -> Text:
    return Text("✓", style="green") if found else Text("✗", style="red")


def _stored(outcome: Outcome) -> str:
    version = outcome.facts["delivered_timemodified"]
    return "missing" if version is None else f"that of {spoken(version)}"


def _window_of(replay: Replay, event: Event, sync: str) -> Window | None:
    return replay.windows.get((int(event.at.timestamp()), sync)) if event.kind == "sync" else None
