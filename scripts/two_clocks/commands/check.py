"""`two-clocks check`: everything that an orchestrator wants to know after `dbt build`, in one go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.concealed import concealed
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_FINE, EXIT_FOUND
from two_clocks.watched_models import Watched, signal_settings, watched_models

SIGNALS = "{{ two_clocks.signals_sql(var('two_clocks_models', [])) }}"
# Rows in quarantine are told of and fail nothing: the others were delivered.
LEVELS = {"quarantined": "warn"}
FINDINGS_OF_TEST = "{{ two_clocks.first_findings_sql(var('two_clocks_test_sql', 'select 1')) }}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `level` is error or warn; a warning alone fails nothing."""

    level: str
    signal: str
    where: str
    what_happened: str
    what_to_do: str
    model: str | None = None
    stream: str | None = None
    window: str | None = None

    def line(self) -> str:
        text = f"{self.level.upper():<5} {self.signal}  {self.where}: {self.what_happened}. To do: {self.what_to_do}."
        return console.safe(text)


@click.command(name="check")
@common_options
@click.option("--select", "-s", multiple=True, help="dbt selectors of the models to check. Default: all.")
@click.option("--max-windows", type=click.IntRange(min=1), help="Windows in a row without a fresh row. Default: 3.")
@click.option(
    "--min-headroom", type=click.FloatRange(0, 1), help="Share of the look-back to leave unused. Default: 0.2."
)
@click.option(
    "--max-lag", metavar="DURATION", help="How far windows may lie behind the wall clock, such as '36 hours'."
)
@click.option("--vars", "variables", metavar="YAML", help="dbt vars, such as '{two_clocks_now: ...}'.")
@click.option("--fail-on-warn", is_flag=True, help="Exit 1 for warnings too.")
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    select: tuple[str, ...],
    max_windows: int | None,
    min_headroom: float | None,
    max_lag: str | None,
    variables: str | None,
    fail_on_warn: bool,
) -> None:
    """Source freshness and every signal, after `dbt build`.

    Asks the ledger about each model that reads through a window, tests or no tests; runs the two_clocks tests that the project declares on
    these models and their sources; and measures the freshness of the sources they read. One line per finding. A limit that should hold for one model
    only is written in its config: meta: {two_clocks_max_windows: 30, two_clocks_min_headroom: 0.1, two_clocks_max_lag: 4 days}.

    Exit status: 0 nothing found, 1 a finding, 2 it could not run.
    """
    # the artifacts of the build before stay as they are: `dbt retry` and others read them
    session = DbtSession(project_dir, profiles_dir, target, vars=read_vars(variables), artifacts=False)
    models = watched_models(session, select_words(select))
    settings = signal_settings(models, max_windows=max_windows, min_headroom=min_headroom, max_lag=max_lag)
    findings = [
        *ledger_findings(session, models, settings),
        *declared_findings(session, models),
        *freshness_findings(session, models),
    ]
    findings.sort(key=lambda finding: (finding.level != "error", finding.where))

    failed = any(finding.level == "error" or fail_on_warn for finding in findings)
    if as_json:
        checked = [model.unique_id for model in models]
        console.write_json({"ok": not failed, "models": checked, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            console.note(finding.line())
        console.note(summary(len(models), findings))
    raise SystemExit(EXIT_FOUND if failed else EXIT_FINE)


def summary(models: int, findings: Sequence[Finding]) -> str:
    checked = f"{models} model{'s' if models != 1 else ''} checked"
    if not findings:
        return f"{checked}: nothing found."
    errors = sum(finding.level == "error" for finding in findings)
    return f"{checked}: {errors} error{'s' if errors != 1 else ''}, {len(findings) - errors} warnings."


def read_vars(text: str | None) -> dict[str, Any]:
    """--vars as dbt reads it."""
    if not text:
        return {}
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise click.BadParameter("it is no YAML", param_hint="--vars") from error
    if not isinstance(value, dict):
        raise click.BadParameter(
            "write a mapping such as '{two_clocks_now: 2024-06-03T12:00:00Z}'", param_hint="--vars"
        )
    # YAML makes a datetime of an unquoted time; dbt wants the text
    return {
        name: value if isinstance(value, (str, int, float, bool, list, dict)) else value.isoformat()
        for name, value in value.items()
    }


def select_words(select: Sequence[str]) -> list[str]:
    """--select may be given several times, and with several selectors each."""
    return [word for part in select for word in part.split()]


def ledger_findings(
    session: DbtSession, models: Sequence[Watched], settings: Sequence[dict[str, Any]]
) -> list[Finding]:
    """The signals that the ledger gives, but for those that a model's own tests see to."""
    asked = [{**setting, "skip": model.skip} for model, setting in zip(models, settings, strict=True)]
    rows = session.query(SIGNALS, vars={"two_clocks_models": asked})
    return [
        Finding(
            LEVELS.get(row["signal"], "error"),
            row["signal"],
            row["where_"],
            row["what_happened"],
            row["what_to_do"],
            row["model"],
            row["stream"],
            row["window_"],
        )
        for row in rows
    ]


def declared_findings(session: DbtSession, models: Sequence[Watched]) -> Iterator[Finding]:
    """What the tests find that the project declares on these models and their sources."""
    tests = {test.unique_id: (test, model) for model in models for test in model.tests}
    if not tests:
        return
    names = [test.name for test, _ in tests.values()]
    result = session.invoke(["test", "--select", *names, "--indirect-selection", "eager"])
    # read at once: the next command of the session forgets what this one compiled
    outcomes = [(outcome, outcome.node.compiled_code) for outcome in result.result.results]
    for outcome, compiled in outcomes:
        status = str(outcome.status)
        if outcome.node.unique_id not in tests or status in ("pass", "success", "skipped"):
            continue
        test, model = tests[outcome.node.unique_id]
        level = "warn" if status == "warn" else "error"
        signal = test.test_metadata.name
        if status == "error":
            yield Finding(
                level,
                signal,
                f"test {test.name}",
                f"it could not run: {concealed(' '.join(str(outcome.message).split()))}",
                "mend the test or what it reads",
                model.unique_id,
            )
            continue
        rows = session.query(FINDINGS_OF_TEST, vars={"two_clocks_test_sql": compiled})
        for row in rows:
            yield Finding(level, signal, row["where_"], row["what_happened"], row["what_to_do"], model.unique_id)
        if (outcome.failures or 0) > len(rows):
            more = outcome.failures - len(rows)
            yield Finding(
                level,
                signal,
                f"test {test.name}",
                f"and {more} more rows like these",
                f"dbt test --store-failures --select {test.name}",
                model.unique_id,
            )


def freshness_findings(session: DbtSession, models: Sequence[Watched]) -> Iterator[Finding]:
    """`dbt source freshness` of the sources that these models read, where freshness is declared."""
    sources = session.manifest.sources
    watched: dict[str, str] = {}
    for model in models:
        for name in model.sources:
            if _has_freshness(sources[name]):
                watched.setdefault(name, model.unique_id)
    if not watched:
        return
    selectors = [
        f"source:{sources[name].package_name}.{sources[name].source_name}.{sources[name].name}" for name in watched
    ]
    result = session.invoke(["source", "freshness", "--select", *selectors])
    for outcome in result.result.results:
        source = outcome.node
        status = str(outcome.status)
        if status == "pass" or source.unique_id not in watched:
            continue
        where = f"source {source.source_name}.{source.name}"
        if status in ("warn", "error") and getattr(outcome, "max_loaded_at", None) is not None:
            yield Finding(
                status,
                "source_freshness",
                where,
                _age_sentence(source, outcome, status),
                "ask the job that loads it; what it brings late is read by the next window",
                watched[source.unique_id],
            )
        else:
            message = concealed(" ".join(str(outcome.message or "dbt did not say why").split()))
            yield Finding(
                "error",
                "source_freshness",
                where,
                f"its freshness could not be measured: {message}",
                "see its loaded_at_query",
                watched[source.unique_id],
            )


def _has_freshness(source: Any) -> bool:
    freshness = source.freshness
    return bool(
        freshness
        and (freshness.warn_after or freshness.error_after)
        and (source.loaded_at_field or source.loaded_at_query)
    )


def _age_sentence(source: Any, outcome: Any, status: str) -> str:
    limit = source.freshness.error_after if status == "error" else source.freshness.warn_after
    allowed = f"{limit.count} {limit.period.value if hasattr(limit.period, 'value') else limit.period}s"
    if outcome.max_loaded_at.year == 1:
        return "it has no data clock: no row, or none with a watermark up to now"
    hours = outcome.age / 3600
    age = f"{hours:.0f} hours" if hours < 72 else f"{hours / 24:.0f} days"
    return f"its data clock is {age} old, more than the {allowed} allowed"
