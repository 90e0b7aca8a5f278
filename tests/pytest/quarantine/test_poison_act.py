"""The demo's act: one poison row, then a poison batch."""

from __future__ import annotations

import pytest
from support.project import REPOSITORY

from two_clocks import poison_act
from two_clocks.dbt_session import DbtSession
from two_clocks.private_database import private_database


def test_C56_the_demo_delivers_999_and_stops_at_400(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    with private_database(engine, REPOSITORY) as database:
        session = DbtSession(
            REPOSITORY, database.profiles_dir, database.target, target_path=database.target_path, artifacts=False
        )
        told = poison_act.play(session, "2024-06-09T01:00:00Z")
    assert (told["rows_delivered"], told["rows_quarantined"], told["keys_quarantined"]) == (999, 1, ["500"])
    assert (told["breaker"]["rows_delivered"], told["breaker"]["status"]) == (999, "failed")
    assert "400 of the 1999 rows" in told["breaker"]["message"] and "(20.0 %)" in told["breaker"]["message"]
    assert "999 of 1000 rows delivered, 1 in quarantine, exit 0" in capsys.readouterr().err
