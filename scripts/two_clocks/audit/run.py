"""Audits projects: finds them, judges each node, gathers the reports."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from two_clocks.audit.judge import Finding, Judge, Report, judge_with
from two_clocks.audit.project import Node, Project, load_project, project_above, projects_below
from two_clocks.audit.render import MacroLibrary, Surroundings
from two_clocks.audit.rules import LOSES, NOT_JUDGED, SEVERITIES
from two_clocks.audit.suggest import suggest
from two_clocks.errors import CannotRun

SECONDS_PER_MODEL = 20
YML = {".yml", ".yaml"}
PARALLEL_FROM = 200  # below that, starting processes costs more than it saves


class _Slow(BaseException):
    """A model took longer than the audit is willing to give."""


@dataclass
class Audit:
    """What was found in one project."""

    root: Path
    name: str
    dialect: str
    reports: list[Report] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    files: int = 0

    @property
    def findings(self) -> list[tuple[Report, Finding]]:
        """Every finding with its model."""
        return [(report, finding) for report in self.reports for finding in report.findings]


def audit_paths(
    paths: list[Path],
    dialect: str = "",
    variables: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> list[Audit]:
    """Audits every project that the paths belong to or hold; a path inside a project limits the audit to it."""
    chosen: dict[Path, list[Path] | None] = {}
    for path in paths:
        if not path.exists():
            raise CannotRun(f"There is no file or folder {path}.")
        path = path.resolve()
        above = project_above(path)
        if above is not None:
            # a yml file may change what holds for any model
            wanted = None if path == above or path.suffix.lower() in YML else path
            if wanted is None:
                chosen[above] = None
            elif chosen.get(above, []) is not None:
                chosen.setdefault(above, []).append(wanted)  # type: ignore[union-attr]
            continue
        if path.is_file() and path.suffix.lower() in YML and len(paths) > 1:
            continue  # a hook hands over whatever changed: this one belongs to no dbt project
        below = projects_below(path) if path.is_dir() else []
        if not below:
            raise CannotRun(
                f"There is no dbt_project.yml in, above or below {path}, so there is no dbt project to audit."
            )
        chosen.update(dict.fromkeys(below))
    return [audit_project(root, only, dialect, variables, progress, workers) for root, only in chosen.items()]


def audit_project(
    root: Path,
    only: list[Path] | None = None,
    dialect: str = "",
    variables: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> Audit:
    """Audits one project."""
    project = load_project(root, dialect, variables)
    nodes = list(project.nodes(only))
    audit = Audit(root, project.name, project.dialect, problems=project.problems, files=len(nodes))
    for number, report in enumerate(_judged(project, nodes, workers), 1):
        if report is not None:
            audit.reports.append(report)
        if progress is not None:
            progress(number, len(nodes))
    audit.reports.sort(key=lambda report: (report.path, report.name))
    return audit


def _judged(project: Project, nodes: list[Node], workers: int | None) -> Iterator[Report | None]:
    count = workers if workers is not None else min(os.cpu_count() or 1, 8)
    if count < 2 or len(nodes) < PARALLEL_FROM:
        for node in nodes:
            yield _judge_in_time(node, project)
        return
    _ = project.surroundings, project.dialect  # read once, before the processes start
    given = project.surroundings
    start = (given.library.blocks, given.variables, given.adapter, given.project_name, given.profile, project.dialect)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_start, initargs=start) as pool:
        yield from pool.map(_work, nodes, chunksize=16)


_WORKER: dict[str, Any] = {}


def _start(blocks: Any, variables: Any, adapter: str, name: str, profile: str, dialect: str) -> None:
    _WORKER["surroundings"] = Surroundings(MacroLibrary(blocks), variables, adapter, name, profile)
    _WORKER["dialect"] = dialect


def _work(node: Node) -> Report | None:
    return _finished(node, _WORKER["surroundings"], _WORKER["dialect"])


def _judge_in_time(node: Node, project: Project) -> Report | None:
    return _finished(node, project.surroundings, project.dialect)


def _finished(node: Node, surroundings: Any, dialect: str) -> Report | None:
    try:
        with _time_limit(SECONDS_PER_MODEL):
            worker = Judge(node, surroundings, dialect)
            report = judge_with(worker)
            if report is not None:
                report.diff = suggest(worker)
            return report
    except _Slow:
        return Judge(node, surroundings, dialect)._not_judged(f"reading it took more than {SECONDS_PER_MODEL} seconds")


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise _Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def counts(audits: list[Audit]) -> dict[str, int]:
    """How many models got which verdict."""
    out = {verdict: 0 for verdict in (LOSES, "at risk", "safe", NOT_JUDGED)}
    for audit in audits:
        for report in audit.reports:
            out[report.verdict] += 1
    return out


def reached(audits: list[Audit], level: str) -> bool:
    """Whether any finding is at least that severe."""
    least = SEVERITIES.index(level)
    return any(SEVERITIES.index(finding.severity) >= least for audit in audits for _, finding in audit.findings)
