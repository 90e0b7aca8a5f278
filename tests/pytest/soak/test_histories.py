"""No silent loss, for any history: a few here, the same every time; thousands by ./scripts/soak."""

from __future__ import annotations

from support.project import Project

from soak.histories import machine, play
from soak.lab import Lab

# how many histories an ordinary test run plays, and of how many steps; a step costs a run of dbt or two
HISTORIES = {"duckdb": 10, "postgres": 20}
STEPS = 3


def test_each_row_is_delivered_in_its_newest_version_or_named(empty_project: Project, engine: str) -> None:
    history = machine(Lab(empty_project))
    play(history, HISTORIES[engine], STEPS, derandomize=True)
    assert history.tally.histories >= 1
