"""Kill a dbt process at a statement of our choice."""

from __future__ import annotations

import itertools
import os
import re
import sys
from typing import Any

from support.project import Project


WRITES = re.compile(r"\b(create|insert|merge|update|delete|drop|alter|commit)\b", re.IGNORECASE)


def run_killed_before(project: Project, statement: int, *arguments: str, **options: Any) -> bool:
    """`dbt run` in a process of its own, killed just before it sends its n-th statement that is no mere question.

    Returns whether it was killed; False if it had fewer statements and ended by itself.
    """
    project.manifest()
    child = os.fork()
    if child == 0:
        # nothing of pytest's may run in here: no output, no clean-up, no fixture
        status = 3
        try:
            sys.stdout = sys.stderr = open(os.devnull, "w")

            count = itertools.count(1)

            def kill(number: int, sql: str) -> None:
                if WRITES.search(sql) and next(count) == statement:
                    os.kill(os.getpid(), 9)

            status = 0 if project.attempt(*arguments, before_statement=kill, **options).result.success else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, f"dbt failed by itself with status {os.WEXITSTATUS(status)}"
    return False
