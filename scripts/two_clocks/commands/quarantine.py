"""`two-clocks quarantine`: the rows that were set aside, and what a person can do about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE, EXIT_FOUND, CannotRun
from two_clocks.one_model import selector_of
from two_clocks.operations import run_operation
from two_clocks.recovery.dbt import ask, find_models, find_windowed_models, open_session, options_for_dbt, refusal

RANGES = "{{ two_clocks.open_ranges_sql(var('two_clocks_models', []), var('two_clocks_released', false)) }}"
LETTERS = "{{ two_clocks.letters_sql(var('two_clocks_models', []), var('two_clocks_released', false)) }}"

SHOWN_ROW = 60
# One run for each moment at which a bad row lies, up to so many; more than that, and one run reads from the first to the last.
SINGLE_MOMENTS = 10


@click.group(name="quarantine")
def command() -> None:
    """Rows that were set aside: list them, try them again, or let them go."""


@command.command(name="list")
@click.option(
    "--select", "select", multiple=True, help="Models, as dbt selects them. Default: all that read through a window."
)
@click.option("--all", "released", is_flag=True, help="Settled rows too.")
@options_for_dbt
@common_options
def list_letters(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    select: Sequence[str],
    released: bool,
) -> None:
    """Show what is in quarantine, the last seen first, and the ranges that no run could read. Exit status 0, whatever there is: `two-clocks check` judges."""
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    models = chosen_models(session, select)
    letters, ranges = read_letters(session, models, released), read_ranges(session, models, released)
    if as_json:
        console.write_json({"letters": letters, "ranges": ranges})
    else:
        show(letters, released)
        show_ranges(ranges)
    raise SystemExit(EXIT_FINE)


@command.command(name="retry")
@click.option("--select", "select", multiple=True, required=True, help="Models, as dbt selects them. May be repeated.")
@options_for_dbt
@common_options
def retry_letters(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    select: Sequence[str],
) -> None:
    """Read again where bad rows lie: once as usual, then each place that the usual window does not reach.

    Exit status: 0 nothing is left in quarantine; 1 something is; 2 it could not run.
    """
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    report = []
    for unique_id in chosen_models(session, select):
        before, ranges_before = read_letters(session, [unique_id]), read_ranges(session, [unique_id])
        failure = retry_model(session, unique_id, ranges_before) if before or ranges_before else None
        after, ranges = read_letters(session, [unique_id]), read_ranges(session, [unique_id])
        report.append(
            {
                "model": unique_id,
                "before": len(before),
                "after": len(after),
                "letters": after,
                "ranges": ranges,
                "failure": failure,
            }
        )
        name = session.manifest.nodes[unique_id].name
        console.note(f"{name}: {len(before)} in quarantine before, {len(after)} after.")
        if failure:
            console.note(f"{name}: the run over an open range still fails: {console.safe(failure)}")
    if as_json:
        console.write_json(report)
    else:
        show([letter for one in report for letter in one["letters"]], released=False)
        show_ranges([found for one in report for found in one["ranges"]])
    raise SystemExit(EXIT_FOUND if any(one["after"] or one["ranges"] for one in report) else EXIT_FINE)


@command.command(name="release")
@click.option("--select", "select", multiple=True, required=True, help="Models, as dbt selects them. May be repeated.")
@click.option(
    "--key", "keys", multiple=True, help="The key of a row as `list` shows it, or its letter. May be repeated."
)
@click.option("--rule", help="All rows that break this rule.")
@click.option("--reason", required=True, help="Why; it is kept with the row.")
@options_for_dbt
@common_options
def release_letters(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    select: Sequence[str],
    keys: Sequence[str],
    rule: str | None,
    reason: str,
) -> None:
    """Let rows go without delivering them: the decision that they are not wanted.

    The same row is not brought up again; a changed one that still breaks a rule is. To deliver a row, mend it at the source, or
    change the rule and `retry`.
    """
    if not reason.strip():
        raise CannotRun("--reason is empty; say why these rows are not wanted.")
    if not keys and not rule:
        raise CannotRun("Nothing is named; name rows with --key or --rule.")
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    models = chosen_models(session, select)
    letters = [
        letter
        for letter in read_letters(session, models)
        if (not keys or letter["key"] in keys or letter["letter_id"] in keys) and rule in (None, letter["rule"])
    ]
    known = {letter["key"] for letter in letters} | {letter["letter_id"] for letter in letters}
    missing = [key for key in keys if key not in known]
    if missing or not letters:
        raise CannotRun(
            f"Nothing open in quarantine is named {', '.join(missing) or rule}; `two-clocks quarantine list` shows what is."
        )
    run_operation(
        session,
        "release_letters_by_hand",
        {
            "two_clocks_release": {
                "models": models,
                "letters": [letter["letter_id"] for letter in letters],
                "reason": reason.strip(),
            }
        },
    )
    if as_json:
        console.write_json(letters)
    console.note(f"{len(letters)} let go: {console.safe(reason.strip())}")
    raise SystemExit(EXIT_FINE)


@command.command(name="write-off")
@click.option("--select", "select", multiple=True, required=True, help="Models, as dbt selects them. May be repeated.")
@click.option("--reason", required=True, help="Why; it is kept with the range.")
@options_for_dbt
@common_options
def write_off_ranges(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    select: Sequence[str],
    reason: str,
) -> None:
    """Give up the ranges that were pinned: windows go on leaving them out, and nothing speaks of them any more."""
    if not reason.strip():
        raise CannotRun("--reason is empty; say why these rows are given up.")
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    models = chosen_models(session, select)
    pinned = [found for found in read_ranges(session, models) if found["state"] == "pinned"]
    if not pinned:
        raise CannotRun("No range of these models is pinned; `two-clocks quarantine list` shows what there is.")
    given = {"models": models, "ranges": [found["range_id"] for found in pinned], "reason": reason.strip()}
    run_operation(session, "write_off_ranges", {"two_clocks_write_off": given})
    if as_json:
        console.write_json(pinned)
    show_ranges(pinned)
    console.note(f"{len(pinned)} written off: {console.safe(reason.strip())}")
    raise SystemExit(EXIT_FINE)


# --- reading and running ---------------------------------------------------------------------------------------------


def chosen_models(session: DbtSession, select: Sequence[str]) -> list[str]:
    words = [word for text in select for word in text.split()]
    return find_models(session, words) if words else find_windowed_models(session)


def read_letters(session: DbtSession, models: Sequence[str], released: bool = False) -> list[dict[str, Any]]:
    return ask(session, LETTERS, {"two_clocks_models": list(models), "two_clocks_released": released})


def read_ranges(session: DbtSession, models: Sequence[str], settled: bool = False) -> list[dict[str, Any]]:
    return ask(session, RANGES, {"two_clocks_models": list(models), "two_clocks_released": settled})


def retry_model(session: DbtSession, unique_id: str, ranges_before: Sequence[dict[str, Any]]) -> str | None:
    """Runs the model over all that waits; returns why open ranges still cannot be read, if they cannot."""
    selector = selector_of(session, unique_id)
    failure = None
    if ranges_before:
        try:
            session.invoke(["run", "--select", selector], vars={"two_clocks_retry_ranges": True}, check=True)
            for found in read_ranges(session, [unique_id]):
                upper = found["upper_value"]
                lower = found["lower_value"] or ("0" if upper.isdigit() else "1000-01-01")
                bounds = {"two_clocks_backfill_from": lower, "two_clocks_backfill_to": upper}
                session.invoke(["run", "--select", selector], vars=bounds, check=True)
        except CannotRun as error:
            failure = refusal(error).message
    if not failure:
        session.invoke(["run", "--select", selector], check=True)
    # what is left lies below the usual window, or has no place in time at all
    moments = [letter["watermark_value"] for letter in read_letters(session, [unique_id]) if letter["watermark_value"]]
    for lower, upper in ranges(moments):
        bounds = {"two_clocks_backfill_from": lower, "two_clocks_backfill_to": upper}
        try:
            session.invoke(["run", "--select", selector], vars=bounds, check=True)
        except CannotRun as error:
            # above the target's watermark lies what the usual run has just read
            if "starts after the target's watermark" not in error.message:
                raise
    return failure


def ranges(moments: Sequence[str]) -> list[tuple[str, str]]:
    """Each moment by itself where there are few; else all of them in one, sorted as the type sorts them."""
    distinct = sorted(set(moments), key=lambda text: (len(text), text) if text.lstrip("-").isdigit() else (0, text))
    if len(distinct) <= SINGLE_MOMENTS:
        return [(moment, moment) for moment in distinct]
    return [(distinct[0], distinct[-1])]


# --- showing ---------------------------------------------------------------------------------------------------------


def show(letters: Sequence[dict[str, Any]], released: bool) -> None:
    if letters:
        columns = ["Model", "Rule", "Key", "Watermark", "First seen", "Last seen", "Times", "Row"]
        console.print_table(
            [*columns, *(["Settled"] if released else [])],
            [
                [
                    letter["model"].split(".")[-1] + (f" ({letter['stream']})" if letter["stream"] else ""),
                    letter["rule"],
                    letter["key"] if letter["key"] is not None else f"NULL, letter {letter['letter_id']}",
                    letter["watermark_value"] or "none",
                    str(letter["first_seen"])[:16],
                    str(letter["last_seen"])[:16],
                    int(letter["times_seen"]),
                    _short(letter["row_json"]),
                    *([_settled(letter)] if released else []),
                ]
                for letter in letters
            ],
            right=["Times"],
        )
    waiting = sum(letter["released_at"] is None for letter in letters)
    console.note(f"{waiting} in quarantine." if waiting else "Nothing is in quarantine.")


def show_ranges(ranges: Sequence[dict[str, Any]]) -> None:
    if not ranges:
        return
    console.print_table(
        ["Model", "Range", "State", "Failed", "Since", "The database's error"],
        [
            [
                found["model"].split(".")[-1] + (f" ({found['stream']})" if found["stream"] else ""),
                f"{'[' if found['state'] in ('pinned', 'written_off') else '('}{found['lower_value'] or 'the beginning'}, {found['upper_value']}]",
                found["state"].replace("_", " ") + (f": {found['reason']}" if found["reason"] else ""),
                int(found["failures"]),
                str(found["opened_at"])[:16],
                found["message"],
            ]
            for found in ranges
        ],
        right=["Failed"],
    )


def _short(row: str | None) -> str:
    if row is None:
        return "not kept"
    return row if len(row) <= SHOWN_ROW else row[: SHOWN_ROW - 1] + "…"


def _settled(letter: dict[str, Any]) -> str:
    if letter["released_at"] is None:
        return ""
    who = "by hand, " if letter["released_by"] == "person" else ""
    return f"{str(letter['released_at'])[:16]} {who}{letter['released_why']}"
