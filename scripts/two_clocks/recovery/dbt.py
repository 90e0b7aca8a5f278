"""What is asked of dbt: models by selection, their SQL and windows, and queries whose refusals are one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun, DatabaseBusy
from two_clocks.one_model import selector_of

_OWN_SENTENCE = re.compile(r"two_clocks: (?P<sentence>.*?\.)(?=\s*(?:>|$)|\s+in (?:macro|model)\b)", re.S)
# What a macro calls an argument or a var is an option here.
_OPTIONS = (
    (re.compile(r"source_columns=\{'([^']*)': 'its name in the source'\}"), r"--map \1=NAME"),
    (re.compile(r"\btwo_clocks_backfill_(from|to)\b"), r"--\1"),
    (re.compile(r"^(settle|until|watermark|epoch)\b"), r"--\1"),
    (re.compile(r"^(unique_key|target_watermark|time_zone)\b"), lambda found: "--" + found[0].replace("_", "-")),
    (re.compile(r"^columns\b"), "--column"),
)
_WHERE_IT_WAS_ASKED = re.compile(
    r"(sql_operation\.\S+?: |(?:Database|Compilation|Runtime) Error in \w+ \S+ \([^)]*\)\s*|dbt \w+ (?:could not run|failed): |a query could not run: "
    r"|\s*compiled code at \S+|LINE \d+:.*$)",
    re.S,
)


def options_for_dbt(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --vars: the replayed clock and the ledger's schema are vars, and these commands read both."""
    return click.option(
        "--vars",
        "dbt_vars",
        metavar="YAML",
        callback=_read_vars,
        help="dbt vars, as dbt itself takes them, such as '{two_clocks_now: 2024-06-09T01:00:00Z}'.",
    )(command)


def _read_vars(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any]:
    import yaml

    if not value:
        return {}
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError:
        read = None
    if not isinstance(read, dict):
        raise CannotRun(
            f"--vars is {value!r}, which cannot be read; write a mapping such as '{{two_clocks_now: 2024-06-09T01:00:00Z}}'."
        )
    return read


def open_session(
    project_dir: Path, profiles_dir: Path | None, target: str | None, dbt_vars: Mapping[str, Any]
) -> DbtSession:
    return DbtSession(project_dir, profiles_dir, target, vars=dbt_vars, artifacts=False)


def ask(session: DbtSession, jinja_sql: str, vars: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows of a query, names in lower case.

    Raises:
        CannotRun: with the one sentence that matters.
    """
    try:
        rows = session.query(jinja_sql, vars)
    except CannotRun as error:
        raise refusal(error) from error
    return [{name.lower(): value for name, value in row.items()} for row in rows]


def refusal(error: CannotRun | str) -> CannotRun:
    """A macro's own sentence where there is one, else the database's, without where dbt was when it heard it."""
    if isinstance(error, DatabaseBusy):
        return error
    message = error if isinstance(error, str) else error.message
    own = _OWN_SENTENCE.search(message)
    if own:
        sentence = own["sentence"]
        for name, option in _OPTIONS:
            sentence = name.sub(option, sentence)
        return CannotRun(sentence[0].upper() + sentence[1:])
    said = _WHERE_IT_WAS_ASKED.sub("", message).strip()
    return CannotRun(f"The database said: {said}{'' if said.endswith('.') else '.'}")


@dataclass(frozen=True)
class Window:
    """A window that a model reads its source through: what window() was asked for, with every value read."""

    stream: str
    source_relation: str
    watermark: str  # as the model names it
    watermark_sql: str
    watermark_type: str
    target_watermark: str
    kind: str
    units_per_second: int | None
    time_zone: str | None
    target_filter: str | None
    lookback: int
    clocks: dict[str, Any] = field(default_factory=dict)

    @property
    def epoch(self) -> str | None:
        if self.kind != "integer":
            return None
        return {1: "s", 1000: "ms", 1000000: "us", None: "id"}[self.units_per_second]


@dataclass(frozen=True)
class Model:
    """A model as dbt knows it, with the SQL that it runs and the windows that this SQL asked for."""

    unique_id: str
    name: str
    selector: str
    relation: str
    materialized: str
    unique_key: tuple[str, ...]
    sql: str
    windows: tuple[Window, ...]
    reads_everything: bool  # the SQL is that of a full refresh

    @property
    def is_windowed(self) -> bool:
        return bool(self.windows)


def find_models(session: DbtSession, select: Sequence[str]) -> list[str]:
    """unique_ids of models in dependency order.

    Raises:
        CannotRun: nothing is selected.
    """
    result = session.invoke(
        ["ls", "--resource-type", "model", "--output", "json", "--output-keys", "unique_id", "--select", *select]
    )
    found = {json.loads(line)["unique_id"] for line in result.result or []}
    if not found:
        raise CannotRun(
            f"No model of the project is selected by {' '.join(select)}: name one as in `dbt run --select`."
        )
    return in_dependency_order(session, found)


def find_windowed_models(session: DbtSession) -> list[str]:
    """Every incremental model whose SQL asks for a window."""
    asks = {"macro.two_clocks.windowed", "macro.two_clocks.window"}
    found = {
        node.unique_id
        for node in session.manifest.nodes.values()
        if node.resource_type == "model"
        and node.config.materialized == "incremental"
        and asks & set(node.depends_on.macros)
    }
    return in_dependency_order(session, found)


def in_dependency_order(session: DbtSession, unique_ids: set[str]) -> list[str]:
    parents = session.manifest.parent_map if session.manifest.parent_map else _parents(session)
    ordered: list[str] = []
    seen: set[str] = set()

    def visit(unique_id: str) -> None:
        stack = [(unique_id, iter(sorted(parents.get(unique_id, ()))))]
        seen.add(unique_id)
        while stack:
            current, ahead = stack[-1]
            step = next((parent for parent in ahead if parent not in seen), None)
            if step is None:
                stack.pop()
                if current in unique_ids:
                    ordered.append(current)
            else:
                seen.add(step)
                stack.append((step, iter(sorted(parents.get(step, ())))))

    for unique_id in sorted(unique_ids):
        if unique_id not in seen:
            visit(unique_id)
    return ordered


def _parents(session: DbtSession) -> dict[str, list[str]]:
    return {
        node.unique_id: list(node.depends_on.nodes)
        for node in session.manifest.nodes.values()
        if hasattr(node, "depends_on")
    }


def open_model(
    session: DbtSession, unique_id: str, full_refresh: bool = True, vars: Mapping[str, Any] | None = None
) -> Model:
    """Compiles one model, which reads its clocks and writes nothing.

    Args:
        full_refresh: True gives the SQL that would rebuild the model; False that of the next normal run, or of a backfill
            where `vars` name one.

    Raises:
        CannotRun: the model cannot be compiled; a refusal of window() comes through in its own words.
    """
    node = session.manifest.nodes[unique_id]
    selector = selector_of(session, unique_id)
    try:
        result = session.invoke(
            ["compile", "--select", selector, *(["--full-refresh"] if full_refresh else [])], vars=vars, check=True
        )
    except CannotRun as error:
        raise refusal(error) from error
    compiled = result.result.results[0].node
    key = compiled.config.unique_key or ()
    book = _run_book(session, unique_id)
    windows = tuple(_window(stream, cut) for stream, cut in book.items())
    is_full = (
        full_refresh
        and not any(cut["kind"] == "incremental" for cut in book.values())
        and compiled.config.full_refresh is not False
    )
    return Model(
        unique_id=unique_id,
        name=node.name,
        selector=selector,
        relation=compiled.relation_name,
        materialized=str(compiled.config.materialized),
        unique_key=(key,) if isinstance(key, str) else tuple(key),
        sql=compiled.compiled_code.strip().rstrip(";"),
        windows=windows,
        reads_everything=is_full,
    )


def _run_book(session: DbtSession, unique_id: str) -> dict[str, Any]:
    """What window() noted about the model in the last command, by stream (macros/windows/_run_book.sql)."""
    invocations = session.manifest.flat_graph.get("two_clocks", {})
    books = list(invocations.values())[-1] if invocations else {}
    return books.get(unique_id, {}).get("windows", {})


def _window(stream: str, cut: Mapping[str, Any]) -> Window:
    request, watermark = cut["request"], cut["watermark"]
    return Window(
        stream=stream,
        source_relation=request["relation"],
        watermark=request["watermark"],
        watermark_sql=watermark["sql"],
        watermark_type=watermark["type"],
        target_watermark=request["target_watermark"],
        kind=watermark["kind"],
        units_per_second=watermark["units_per_second"],
        time_zone=request["time_zone"],
        target_filter=request["target_filter"],
        lookback=request["lookback"]["amount"],
        clocks=dict(cut["clocks"]),
    )


def target_exists(session: DbtSession, unique_id: str) -> bool:
    node = session.manifest.nodes[unique_id]
    found = ask(
        session,
        "{% if execute %}{% set place = var('two_clocks_place') %}select {{ 0 if adapter.get_relation(database=place.database, "
        "schema=place.schema, identifier=place.identifier) is none else 1 }} as found{% else %}select 1 as found{% endif %}",
        {"two_clocks_place": {"database": node.database, "schema": node.schema, "identifier": node.alias}},
    )
    return bool(found[0]["found"])
