"""No silent loss, for any history: a few here, the same every time; thousands by ./scripts/soak."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from support.project import Project

from soak.histories import machine
from soak.lab import Lab

# how many histories an ordinary test run plays, and of how many steps; a step costs a run of dbt or two
HISTORIES = {"duckdb": 16, "postgres": 12}
STEPS = 3


def test_each_row_is_delivered_in_its_newest_version_or_named(empty_project: Project, engine: str) -> None:
    history = machine(Lab(empty_project))
    run_state_machine_as_test(
        history,
        _min_steps=STEPS,  # without it many histories would end after a step or none
        settings=settings(
            max_examples=HISTORIES[engine],
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        ),
    )
    assert history.tally.histories >= 1
