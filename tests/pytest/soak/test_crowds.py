"""Several runs at once: nothing is lost or doubled, and no run fails without a word."""

from __future__ import annotations

import pytest
from support.project import Project

from soak import crowds


@pytest.fixture
def square(project: Project, engine: str, tmp_path_factory: pytest.TempPathFactory) -> crowds.Square:
    if engine != "postgres":
        pytest.skip("DuckDB lets one process write at a time")
    return crowds.Square(project, crowds.neighbour_of(project, tmp_path_factory.mktemp("neighbour")))


def test_processes_on_one_model_and_projects_on_one_ledger_lose_and_double_nothing(square: crowds.Square) -> None:
    came_to = crowds.play(square, rounds=5)
    assert came_to.broken == []
    assert sum(came_to.rounds.values()) == 5
