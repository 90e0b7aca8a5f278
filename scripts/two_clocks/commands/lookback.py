"""`two-clocks lookback`: how late rows come, what each look-back would have caught, and what it costs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.commands.check import read_vars, select_words
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE, EXIT_FOUND, CannotRun
from two_clocks.recovery.dbt import open_model
from two_clocks.watched_models import watched_models

# the latest row should leave as much of the look-back unused as lookback_headroom asks for by default
HEADROOM = 0.2
# catching everything is worth it while it does not read much more than catching 99.9 %
WORTH = 2


@dataclass
class Choice:
    """One look-back: what it is, what it would have caught, what it costs."""

    name: str
    seconds: int
    rows_reread: int | None = None
    rows_outside: int | None = None


@dataclass
class Advice:
    """What is known about one model and stream."""

    model: str
    name: str
    stream: str | None
    source: str
    watermark: str
    evidence: str
    units: int
    late: int
    choices: list[Choice] = field(default_factory=list)
    recommended_seconds: int | None = None
    note: str = ""

    @property
    def in_force(self) -> Choice:
        return self.choices[0]

    @property
    def is_short(self) -> bool:
        """Rows came later than the look-back in force, or nearly so."""
        return self.recommended_seconds is not None and self.choices[0].seconds * (1 - HEADROOM) < (
            self.choices[2].seconds if len(self.choices) > 2 else 0
        )


@click.command(name="lookback")
@common_options
@click.option("--select", "-s", multiple=True, help="dbt selectors of the models to look at. Default: all.")
@click.option(
    "--arrived-at",
    metavar="COLUMN",
    help="Column of the source that says when a row became visible there (a load time). With it lateness is exact.",
)
@click.option("--time-zone", help="Zone of watermarks stored without one. Default: UTC.")
@click.option("--vars", "variables", metavar="YAML", help="dbt vars, such as '{two_clocks_now: ...}'.")
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    select: tuple[str, ...],
    arrived_at: str | None,
    time_zone: str | None,
    variables: str | None,
) -> None:
    """How long the look-back should be.

    The ledger knows how late the rows were that its windows read, so it cannot know of rows later than the look-back of their time. A load-time column
    of the source (--arrived-at) knows all of them.

    Exit status: 0 the look-back in force would have caught 99.9 % with headroom to spare, 1 it would not, 2 it could not run.
    """
    # the artifacts of the build before stay as they are: `dbt retry` and others read them
    session = DbtSession(project_dir, profiles_dir, target, vars=read_vars(variables), artifacts=False)
    models = watched_models(session, select_words(select))
    asked = [{"id": model.unique_id, "streams": None} for model in models]
    windows = session.query(
        "{{ two_clocks.windows_in_force_sql(var('two_clocks_models', [])) }}", vars={"two_clocks_models": asked}
    )
    seen = {window["model"] for window in windows}
    for window in windows:
        check_watermark(session, window)
    advices = [advise(session, window, arrived_at, time_zone) for window in windows]

    if as_json:
        console.write_json([{**asdict(advice), "is_short": advice.is_short} for advice in advices])
    else:
        for advice in advices:
            show(advice)
        for model in models:
            if model.unique_id not in seen:
                console.note(f"{model.name}: never ran, so nothing is known about it.")
    short = any(advice.is_short for advice in advices)
    raise SystemExit(EXIT_FOUND if short else EXIT_FINE)


def check_watermark(session: DbtSession, window: dict[str, Any]) -> None:
    """The ledger's watermark becomes part of a query, so it has to be a column or what the model itself says.

    Raises:
        CannotRun: it is neither. Others may write into the ledger than those who run this.
    """
    watermark = window["watermark_column"] or ""
    node = session.manifest.nodes[window["model"]]
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$]*", watermark) or watermark in (node.raw_code or ""):
        return
    if watermark not in {own.watermark for own in open_model(session, window["model"]).windows}:
        raise CannotRun(
            f"The ledger says that the watermark of {window['name']} is {watermark!r}, which the model does not say: run the model, or look at who wrote that row."
        )


def advise(session: DbtSession, window: dict[str, Any], arrived_at: str | None, time_zone: str | None) -> Advice:
    """What the evidence says about one stream of a model."""
    source, watermark = window["source_relation"], window["watermark_column"]
    place = f"two_clocks._source_of_ledger({quoted(source)}), {quoted(watermark)}"
    zone = f", time_zone={quoted(time_zone)}" if time_zone else ""
    advice = Advice(window["model"], window["name"], window["stream"], source, watermark, "", 0, 0)
    if window["is_id"]:
        advice.note = "its watermark counts ids: no clock says how late a row is. nothing_lost and two-clocks reconcile find what a look-back missed."
        return advice

    if arrived_at:
        advice.evidence = f"rows of {source}, which arrived at {arrived_at}"
        row = session.query(f"{{{{ two_clocks.lateness_of_rows_sql({place}, {quoted(arrived_at)}{zone}) }}}}")[0]
    else:
        advice.evidence = "windows of the ledger"
        row = session.query(
            f"{{{{ two_clocks.lateness_in_ledger_sql({quoted(window['model'])}, {quoted(window['stream'])}) }}}}"
        )[0]
    advice.units, advice.late = int(row["units"] or 0), int(row["rows_late"] or 0)
    advice.choices = [Choice("in force", int(window["lookback_seconds"] or 0))]
    if advice.units:
        for name, column in (("99 %", "catches_99"), ("99.9 %", "catches_999"), ("all", "catches_all")):
            advice.choices.append(Choice(name, int(row[column] or 0)))
        advice.choices.append(Choice("recommended", 0))

    cost(session, advice, place, zone)
    if advice.units:
        recommend(advice)
        cost(session, advice, place, zone)
    if arrived_at and advice.units:
        lengths = [choice.seconds for choice in advice.choices]
        counts = session.query(
            f"{{{{ two_clocks.rows_outside_sql({place}, {quoted(arrived_at)}, {lengths}{zone}) }}}}"
        )[0]
        for index, choice in enumerate(advice.choices):
            choice.rows_outside = int(counts[f"outside_{index}"] or 0)
    return advice


def cost(session: DbtSession, advice: Advice, place: str, zone: str) -> None:
    lengths = [choice.seconds for choice in advice.choices]
    row = session.query(f"{{{{ two_clocks.rows_reread_sql({place}, {lengths}{zone}) }}}}")[0]
    for index, choice in enumerate(advice.choices):
        choice.rows_reread = int(row[f"reread_{index}"] or 0)


def recommend(advice: Advice) -> None:
    """The length that catches 99.9 %, or everything where that costs little more, with headroom, in whole hours or days."""
    by_name = {choice.name: choice for choice in advice.choices}
    base = by_name["99.9 %"]
    if (by_name["all"].rows_reread or 0) <= WORTH * max(base.rows_reread or 0, by_name["in force"].rows_reread or 0):
        base = by_name["all"]
    needed = base.seconds / (1 - HEADROOM)
    unit = 3600 if needed <= 72 * 3600 else 86400
    advice.recommended_seconds = by_name["recommended"].seconds = int(-(-needed // unit) * unit)


def quoted(text: str | None) -> str:
    """Text as a Jinja literal; its own braces cannot open a template inside one."""
    return (
        "none"
        if text is None
        else json.dumps(text, ensure_ascii=False)
        .replace("{", "\\u007b")
        .replace("}", "\\u007d")
        .replace("%", "\\u0025")
    )


def show(advice: Advice) -> None:
    stream = f" ({advice.stream})" if advice.stream else ""
    console.heading(console.safe(f"{advice.name}{stream}: {advice.source}, watermark {advice.watermark}"))
    if advice.note:
        console.note(console.safe(advice.note))
        return
    if not advice.units:
        console.note("No incremental window was counted yet, so nothing is known about lateness.")
        return
    console.note(console.safe(f"Evidence: {advice.units} {advice.evidence}; {rows(advice.late)} came late."))
    exact = advice.choices[0].rows_outside is not None
    columns = ["would have caught", "look-back", "rows re-read per run", *(["rows left outside"] if exact else [])]
    lines = [
        [
            choice.name,
            length(choice.seconds),
            f"{choice.rows_reread:,}",
            *([f"{choice.rows_outside:,}"] if exact else []),
        ]
        for choice in advice.choices
    ]
    console.print_table(columns, lines, right=columns[1:])
    for line in sentences(advice, exact):
        console.note(console.safe(line))


def sentences(advice: Advice, exact: bool) -> Sequence[str]:
    in_force, recommended = advice.choices[0], advice.choices[-1]
    verdict = (
        f"Too short: take lookback='{length(recommended.seconds)}' ({rows(recommended.rows_reread)} re-read per run instead of {in_force.rows_reread:,})."
        if advice.is_short
        else f"The look-back in force, {length(in_force.seconds)}, is long enough for what was seen."
    )
    if not exact:
        return [
            verdict,
            "Rows later than the look-back of their time are not in the ledger: nothing_lost and two-clocks reconcile find them, --arrived-at measures them.",
        ]
    held = recommended if advice.is_short else in_force
    if held.rows_outside:
        worst = advice.choices[3]
        return [
            verdict,
            f"Outside of it: {rows(held.rows_outside)}, up to {length(worst.seconds)} late; two-clocks reconcile finds them, two-clocks repair delivers them.",
        ]
    return [verdict, "Nothing seen so far stays outside of it."]


def rows(number: int | None) -> str:
    return "1 row" if number == 1 else f"{number or 0:,} rows"


def length(seconds: int) -> str:
    """A look-back as it may be written in the project."""
    if seconds and seconds % 86400 == 0:
        return f"{seconds // 86400} day{'s' if seconds != 86400 else ''}"
    if seconds and seconds % 3600 == 0:
        return f"{seconds // 3600} hour{'s' if seconds != 3600 else ''}"
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.1f} days"
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds} seconds"
