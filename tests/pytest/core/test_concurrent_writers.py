"""Two runs of one model at once: the later one waits, and sees what the earlier one stored."""

from __future__ import annotations

import os
import time

import pytest
from support.crash import HeldRun, start
from support.project import Project

NOON = "2024-06-03T12:00:00Z"


def test_a_second_writer_waits_for_the_first_and_doubles_or_loses_nothing(project: Project, engine: str) -> None:
    if engine != "postgres":
        pytest.skip("DuckDB lets one process write at a time")
    project.feed((1, "first", "2024-06-03 08:00"))
    project.run(now=NOON)
    project.feed((2, "new", "2024-06-03 09:00"), (1, "edited", "2024-06-03 09:00"))

    first = HeldRun(project, now=NOON)
    second = start(project, before_statement=lambda number, sql: None, now=NOON)
    deadline = time.monotonic() + 60
    while not project.warehouse.query(
        "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    ):
        assert os.waitpid(second, os.WNOHANG) == (0, 0), "the second writer did not wait"
        assert time.monotonic() < deadline, "the second writer neither waited nor ended"
        time.sleep(0.01)
    assert first.let_go()
    assert os.waitpid(second, 0)[1] == 0

    assert project.rows() == [(1, "edited"), (2, "new")]
    windows = project.ledger()[1:]
    assert sorted(window["rows_inserted"] for window in windows) == [0, 1]
    assert sorted(window["rows_updated"] for window in windows) == [0, 1]
