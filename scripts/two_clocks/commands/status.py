"""`two-clocks status`: how the syncs are, worst first, in ten seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.commands.check import Finding, ledger_findings, read_vars, select_words
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE
from two_clocks.watched_models import Watched, signal_settings, watched_models

HEALTH = "{{ two_clocks.health_sql(two_clocks._ledger_rows_sql(two_clocks.ledger_relation()) if execute else 'select 1 as one') if execute else 'select 1 as one' }}"

# worst first; what is not here is fine
ORDER = (
    "never_ran",
    "open_failures",
    "failing",
    "emptied",
    "open_range",
    "blind",
    "gap",
    "went_back",
    "vanished",
    "stood_still",
    "lag",
    "headroom",
    "quarantined",
    "not_counted",
    "ok",
)
WORDS = {
    "never_ran": "never ran",
    "open_failures": "failing",
    "failing": "failing",
    "emptied": "emptied",
    "open_range": "open range",
    "blind": "blind",
    "gap": "gap",
    "went_back": "source went back",
    "vanished": "stream vanished",
    "stood_still": "source still",
    "lag": "behind",
    "headroom": "look-back short",
    "quarantined": "quarantine",
    "not_counted": "not counted",
    "ok": "ok",
}


@click.command(name="status")
@common_options
@click.option("--select", "-s", multiple=True, help="dbt selectors of the models to show. Default: all.")
@click.option("--vars", "variables", metavar="YAML", help="dbt vars, such as '{two_clocks_now: ...}'.")
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    select: tuple[str, ...],
    variables: str | None,
) -> None:
    """One line for each model and stream, worst first.

    Tells and does not judge: the exit status is 0 whatever the state is; `two-clocks check` is for orchestrators.
    """
    # the artifacts of the build before stay as they are: `dbt retry` and others read them
    session = DbtSession(project_dir, profiles_dir, target, vars=read_vars(variables), artifacts=False)
    models = watched_models(session, select_words(select))
    rows = states(
        models,
        session.query(HEALTH),
        ledger_findings(session, [Watched(m.unique_id, m.name) for m in models], signal_settings(models)),
    )
    if as_json:
        console.write_json(rows)
    else:
        show(rows)
    raise SystemExit(EXIT_FINE)


def states(
    models: Sequence[Watched], health: Sequence[dict[str, Any]], findings: Sequence[Finding]
) -> list[dict[str, Any]]:
    """One mapping per model and stream, worst first."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for row in health:
        by_model.setdefault(row["model"], []).append(row)
    rows = []
    for model in models:
        for row in by_model.get(model.unique_id) or [{"model": model.unique_id, "stream": None}]:
            mine = [f for f in findings if f.model == model.unique_id and f.stream in (row["stream"], None)]
            worst = min((f.signal for f in mine), key=_rank, default="ok")
            rows.append({"state": worst, "name": model.name, **row, "findings": [f.what_happened for f in mine]})
    return sorted(rows, key=lambda row: (_rank(row["state"]), -(row.get("lag_seconds") or 0), row["name"]))


def _rank(signal: str) -> int:
    return ORDER.index(signal) if signal in ORDER else 0


def show(rows: Sequence[dict[str, Any]]) -> None:
    columns = ("state", "model", "data up to", "lag", "last success", "quiet", "headroom", "failed")
    table = [
        (
            Text(WORDS.get(row["state"], row["state"]), style="green" if row["state"] == "ok" else "bold red"),
            row["name"] + (f" ({row['stream']})" if row["stream"] else ""),
            _minute(row.get("source_watermark")),
            _span(row.get("lag_seconds")),
            _minute(row.get("last_success_at")),
            _count(row.get("windows_without_fresh_rows")),
            _share(row.get("lookback_headroom")),
            _count(row.get("open_failures")),
        )
        for row in rows
    ]
    console.print_table(columns, table, right=("lag", "quiet", "headroom", "failed"))
    bad = sum(row["state"] != "ok" for row in rows)
    console.note(
        f"{len(rows)} syncs, {bad} with a finding. two-clocks check says what to do."
        if bad
        else f"{len(rows)} syncs, all well."
    )


def _minute(moment: Any) -> str:
    return "-" if moment is None else str(moment)[:16]


def _span(seconds: Any) -> str:
    if seconds is None:
        return "-"
    seconds = int(seconds)
    for length, unit in ((86400 * 2, "d"), (3600 * 2, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // {'d': 86400, 'h': 3600, 'min': 60}[unit]} {unit}"
    return f"{seconds} s"


def _share(share: Any) -> str:
    return "-" if share is None else f"{float(share):.0%}"


def _count(number: Any) -> str:
    return "-" if number is None else str(int(number)) if number else ""
