"""Several runs at once: nothing is lost or doubled, and no run fails without a word."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from recover.recover_support import two_clocks
from support.project import Project

from soak import crowds

NOON = "2024-06-03T12:00:00Z"


@pytest.fixture
def square(project: Project, engine: str, tmp_path_factory: pytest.TempPathFactory) -> crowds.Square:
    if engine != "postgres":
        pytest.skip("DuckDB lets one process write at a time")
    return crowds.Square(project, crowds.neighbour_of(project, tmp_path_factory.mktemp("neighbour")))


def test_processes_on_one_model_and_projects_on_one_ledger_lose_and_double_nothing(square: crowds.Square) -> None:
    came_to = crowds.play(square, rounds=4)
    assert came_to.broken == []
    assert sum(came_to.rounds.values()) == 4


HOLD = (
    "import duckdb, sys; connection = duckdb.connect('warehouse.duckdb'); print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture
def holder(project: Project, engine: str) -> Iterator[subprocess.Popen]:
    """Another process that has the database file open until its standard input is closed."""
    if engine != "duckdb":
        pytest.skip("PostgreSQL lets many processes write at a time")
    project.feed((1, "first", "2024-06-03 08:00"))
    project.run(now=NOON)
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.stdin.close()


def test_a_second_process_on_duckdb_gets_one_clear_sentence(project: Project, holder: subprocess.Popen) -> None:
    run = project.attempt(now=NOON)
    assert not run.result.success
    assert "Could not set lock on file" in str(run.result.exception)
    for command in ("status", "reconcile", "check"):
        answer = two_clocks(project, command, now=NOON)
        assert answer.status == 2
        last = answer.said.rstrip().splitlines()[-1]
        assert last.startswith("Error: Another process has the database file "), last
        assert last.endswith("open, and DuckDB lets one at a time: wait for it to end."), last


def test_a_second_process_on_duckdb_waits_where_the_profile_says_so(project: Project, holder: subprocess.Popen) -> None:
    project.manifest()
    project.warehouse.profile["retries"] = {"connect_attempts": 8}
    project.save_profile()
    threading.Timer(1.5, holder.stdin.close).start()
    project.run(now=NOON)
    assert project.ledger()[-1]["status"] == "succeeded"
