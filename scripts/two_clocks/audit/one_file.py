"""The audit of one file whose text is at hand, for linters and editors."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from two_clocks.audit.judge import Finding, judge
from two_clocks.audit.project import Node, Project, load_project, project_above
from two_clocks.audit.render import Surroundings, clean
from two_clocks.audit.sql_reader import ADAPTER_DIALECTS
from two_clocks.audit.symbols import Notebook, Unknown
from two_clocks.errors import CannotRun

_MAY_MATTER = re.compile(r"incremental|\bsnapshot\b|two_clocks|microbatch")


@lru_cache(maxsize=16)
def _project(root: Path, changed: float) -> Project | None:
    try:
        return load_project(root)
    except CannotRun:
        return None


def _project_of(path: Path) -> Project | None:
    root = project_above(path)
    if root is None:
        return None
    return _project(root, (root / "dbt_project.yml").stat().st_mtime)


@lru_cache(maxsize=128)
def findings_of(text: str, path: str, dialect: str) -> tuple[Finding, ...]:
    """What the audit finds in the text of a file. The file's project is read for what it sets, where there is one."""
    text = clean(text)
    sql_dialect = ADAPTER_DIALECTS.get(dialect, dialect)
    place = Path(path) if path else None
    project = _project_of(place.resolve()) if place is not None and place.exists() else None
    if project is not None and place is not None:
        nodes = project.nodes_of(place, text)
        if nodes is None:
            return ()
        surroundings = project.surroundings
        sql_dialect = sql_dialect or project.dialect
    elif _MAY_MATTER.search(text):
        nodes, surroundings = [_lonely(text, path)], Surroundings(adapter=sql_dialect)
    else:
        return ()
    found: list[Finding] = []
    for node in nodes:
        report = judge(node, surroundings, sql_dialect)
        found += report.findings if report is not None else []
    return tuple(sorted(found, key=lambda finding: (finding.offset, finding.rule)))


def _lonely(text: str, path: str) -> Node:
    """A file outside any project: what it does not say of itself may be said elsewhere."""
    config: dict[str, Any] = {}
    says_materialized = re.search(r"\bmaterialized\s*[=:'\"]", text)
    if not says_materialized and "is_incremental" in text:
        config = {"materialized": "incremental", "unique_key": Unknown(Notebook(), "set elsewhere")}
    kind = "snapshot" if re.search(r"\{%[-+]?\s*snapshot\s", text) else "model"
    return Node(Path(path or "model.sql").stem, path, kind, text, config)
