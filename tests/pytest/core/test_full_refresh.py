"""A full refresh that would lose rows stops before it replaces anything."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from support.project import Project

NOON = "2024-06-03T12:00:00Z"
LAST_DAY = date(2024, 6, 3)


@pytest.fixture
def history(project: Project) -> Project:
    """400 days, one row a day."""
    project.feed(*[(n, "x", (LAST_DAY - timedelta(days=n)).isoformat()) for n in range(400)])
    project.run(now=NOON)
    return project


@pytest.mark.parametrize(
    ("what_is_left", "rows_left"), [("id < 90", 90), ("id % 2 = 0", 200)], ids=["the last 90 days", "half a load"]
)
def test_C67_a_full_refresh_from_a_source_without_its_past_is_refused(
    history: Project, what_is_left: str, rows_left: int
) -> None:
    history.warehouse.execute(f"delete from ods.feed where not ({what_is_left})")
    rows = history.rows()
    tables = set(history.everything())
    message = history.refused("--full-refresh", now=NOON)

    assert str(400 - rows_left) in message
    assert "two_clocks_max_shrink" in message
    assert history.rows() == rows
    assert set(history.everything()) == tables
    window = history.last_window()
    assert (window["kind"], window["status"]) == ("full_refresh", "failed")

    history.run("--full-refresh", now=NOON, variables={"two_clocks_max_shrink": 1})
    assert len(history.ids()) == rows_left


def test_a_full_refresh_may_shrink_by_exactly_what_is_allowed_and_no_row_more(history: Project) -> None:
    history.warehouse.execute("delete from ods.feed where id < 41")
    history.refused("--full-refresh", now=NOON)
    history.warehouse.execute("insert into ods.feed values (0, 'x', timestamp '2024-06-03 00:00:00')")
    history.run("--full-refresh", now=NOON)
    assert len(history.ids()) == 360


def test_no_shrinking_at_all_may_be_asked_for(history: Project) -> None:
    history.warehouse.execute("delete from ods.feed where id = 7")
    assert " 1 row" in history.refused("--full-refresh", now=NOON, variables={"two_clocks_max_shrink": 0})


def test_a_full_refresh_from_an_emptied_source_is_refused(history: Project) -> None:
    history.warehouse.execute("delete from ods.feed")
    assert "400" in history.refused("--full-refresh", now=NOON)
    assert len(history.ids()) == 400


def test_older_versions_of_a_key_count_as_nothing_lost(project: Project) -> None:
    project.feed(*[(n, "x", "2024-06-03 09:00") for n in range(10)])
    project.run(now=NOON)
    project.feed(*[(n, "y", "2024-06-03 10:00") for n in range(10)])
    project.run("--full-refresh", now=NOON)

    assert project.rows() == [(n, "y") for n in range(10)]
    assert project.counts() == {"extracted": 20, "inserted": 10, "superseded": 10}


def test_a_second_run_after_a_refused_full_refresh_goes_on_as_if_nothing_had_been(history: Project) -> None:
    history.warehouse.execute("delete from ods.feed where id > 10")
    history.refused("--full-refresh", now=NOON)
    history.feed((1000, "new", "2024-06-03 11:00"))
    history.run(now=NOON)
    assert len(history.ids()) == 401
