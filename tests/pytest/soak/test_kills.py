"""A few runs killed at random moments; 200 by ./scripts/soak, and every statement of a run in core/test_crashes.py."""

from __future__ import annotations

import pytest
from support.project import Project

from soak import kills


def test_C50_a_run_killed_at_a_random_moment_loses_and_doubles_nothing(project: Project, engine: str) -> None:
    if engine != "postgres":
        pytest.skip("kills in the middle of a statement need a server")
    came_to = kills.play(project, number=len(kills.KINDS), seed=1, span=0.5)
    assert came_to.broken == []
    assert set(came_to.survived) == set(kills.KINDS)
