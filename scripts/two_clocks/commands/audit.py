"""`two-clocks audit`: which incremental models of a dbt project lose rows, told from its files alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import yaml
from rich.table import Table
from rich.text import Text

from two_clocks import console
from two_clocks.audit import formats
from two_clocks.audit.rules import AT_RISK, LOSES, NOT_JUDGED, SEVERITIES
from two_clocks.audit.run import Audit, audit_paths, reached
from two_clocks.cli_options import json_option
from two_clocks.errors import EXIT_FINE, EXIT_FOUND, CannotRun

STYLES = {LOSES: "bold red", AT_RISK: "yellow", "safe": "green", NOT_JUDGED: "dim"}


@click.command(name="audit")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--project-dir",
    type=click.Path(path_type=Path),
    envvar="DBT_PROJECT_DIR",
    help="A project to audit, where no PATH is given.",
)
@click.option(
    "--profiles-dir",
    type=click.Path(path_type=Path),
    hidden=True,
    help="Accepted as by every command; no profile is read.",
)
@click.option("--target", hidden=True, help="Accepted as by every command; nothing is connected to.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "sarif", "markdown"]), default="table", show_default=True
)
@json_option
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, "never"]),
    default="low",
    show_default=True,
    help="Exit with 1 where a finding is at least that severe.",
)
@click.option("--dialect", default="", help="The SQL dialect or adapter. Default: told from the files.")
@click.option("--vars", "variables", default="", help="dbt vars as YAML, as in dbt's own --vars.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the result to a file.")
@click.option("--brief", is_flag=True, help="The table only, without the findings below it.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Processes. Default: one for each core, in projects of more than 200 files.",
)
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[Path, ...],
    project_dir: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    form: str,
    as_json: bool,
    fail_on: str,
    dialect: str,
    variables: str,
    output: Path | None,
    brief: bool,
    workers: int | None,
) -> None:
    """Audits the incremental models, microbatch models and snapshots of a dbt project.

    PATH is a project, a folder of one or above several, or single model files. Only files are read: no dbt package needs to be
    installed, nothing is connected to, no secret is asked for.

    Exit status: 0 nothing at or above --fail-on; 1 findings; 2 it could not run.
    """
    form = "json" if as_json else form
    given = list(paths) or [project_dir or Path()]
    bar: dict[str, Any] = {}

    def advance(done: int, total: int) -> None:
        if total and "step" not in bar:
            bar["context"] = console.progress("Reading models", total)
            bar["step"] = bar["context"].__enter__()
        if "step" in bar:
            bar["step"]()

    try:
        audits = audit_paths(given, dialect, _variables(variables), advance, workers)
    finally:
        if "context" in bar:
            bar["context"].__exit__(None, None, None)
    if form == "json":
        _write(formats.dumped(formats.as_json(audits)), output)
    elif form == "sarif":
        _write(formats.dumped(formats.as_sarif(audits, Path.cwd())), output)
    elif form == "markdown":
        _write(formats.as_markdown(audits), output)
    elif output is not None:
        with output.open("w", encoding="utf-8") as stream:
            _print(audits, brief, stream)
    else:
        _print(audits, brief, sys.stdout)
    if form != "table" or output is not None:
        console.note(formats.summary(audits))
    found = fail_on != "never" and reached(audits, fail_on)
    context.exit(EXIT_FOUND if found else EXIT_FINE)


def _variables(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CannotRun(f"--vars is no valid YAML: {error}.") from error
    if not isinstance(value, dict):
        raise CannotRun("--vars must be a mapping such as '{start: 2024-01-01}'.")
    return {str(key): part for key, part in value.items()}


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"The result could not be written to {output}: {error.strerror}.") from error


def _print(audits: list[Audit], brief: bool, stream: Any) -> None:
    out = console._console(stream)
    rows = formats.worst_first(audits)
    if rows:
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("verdict", "model", "line", "strategy", "key", "watermark", "look-back", "rules"):
            table.add_column(heading, overflow="fold")
        for _, report in rows:
            cells = (
                console.safe(report.name),
                str(report.line) if report.findings else "",
                console.safe(report.strategy or report.kind),
                console.safe(", ".join(report.unique_key)),
                console.safe(report.watermark),
                console.safe(report.lookback),
                " ".join(sorted({finding.rule for finding in report.findings})),
            )
            table.add_row(Text(report.verdict, style=STYLES[report.verdict]), *(Text(cell) for cell in cells))
        out.print(table)
    if not brief:
        for audit, report in rows:
            if report.verdict == NOT_JUDGED:
                continue
            lines = formats.details(audit, report)
            if lines:
                out.print()
                for line in lines:
                    out.print(Text(line), soft_wrap=True)
    unjudged = [(audit, report) for audit, report in rows if report.verdict == NOT_JUDGED]
    if unjudged:
        out.print()
        out.print(Text("Not judged:", style="bold"))
        for _, report in unjudged:
            out.print(Text(f"{console.safe(report.path)}: {console.safe(report.reason)}"), soft_wrap=True)
    problems = [(path, problem) for audit in audits for path, problem in audit.problems]
    for path, problem in problems:
        out.print(Text(f"{console.safe(path)}: {console.safe(problem)}"), soft_wrap=True)
    out.print()
    out.print(Text(formats.summary(audits)), soft_wrap=True)
