"""dbt in processes of its own: to be killed at a statement of our choice, or to be held there."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from support.project import Project

WRITES = re.compile(r"\b(create|insert|merge|update|delete|drop|alter|commit)\b", re.IGNORECASE)
LEDGER_ROW = re.compile(r"insert\s+into\s+\S*two_clocks_window_ledger", re.IGNORECASE)


def start(project: Project, *arguments: str, before_statement: Callable[[int, str], None], **options: Any) -> int:
    """`dbt run` in a process of its own; returns its id. It ends with 0 if dbt succeeded."""
    project.manifest()
    child = os.fork()
    if child:
        return child
    # nothing of pytest's may run in here: no output, no clean-up, no fixture
    status = 3
    try:
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            status = (
                0 if project.attempt(*arguments, before_statement=before_statement, **options).result.success else 2
            )
    finally:
        os._exit(status)


def run_killed_before(project: Project, statement: int, *arguments: str, **options: Any) -> bool:
    """`dbt run`, killed just before it sends its n-th statement that is no mere question.

    Returns whether it was killed; False if it had fewer statements and ended by itself.
    """
    count = itertools.count(1)

    def kill(number: int, sql: str) -> None:
        if WRITES.search(sql) and next(count) == statement:
            os.kill(os.getpid(), 9)

    _, status = os.waitpid(start(project, *arguments, before_statement=kill, **options), 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, f"dbt failed by itself with status {os.WEXITSTATUS(status)}"
    return False


class HeldRun:
    """`dbt run` that stops just before it commits what it wrote, until it is let go."""

    def __init__(self, project: Project, **options: Any) -> None:
        here, self._there = os.pipe()
        go, self._go = os.pipe()
        wrote = []

        def hold(number: int, sql: str) -> None:
            if LEDGER_ROW.search(sql):
                wrote.append(sql)
            elif wrote and "commit" in sql.lower():
                wrote.clear()
                os.write(self._there, b"!")
                os.read(go, 1)

        self._child = start(project, before_statement=hold, **options)
        os.close(self._there)  # the child's alone, so that its death ends the wait
        assert os.read(here, 1), "dbt ended before it had written anything"

    def let_go(self) -> bool:
        os.write(self._go, b"!")
        return os.waitpid(self._child, 0)[1] == 0
