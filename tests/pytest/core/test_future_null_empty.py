"""Watermarks that are in the future, missing, or not there because there are no rows."""

from __future__ import annotations

from datetime import datetime

import pytest
from support.project import Project

INCLUDE_NULLS = """
{{ config(unique_key='id') }}
select id, note, changed_at
from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', nulls='include') }} as feed
"""


def test_C20_a_row_dated_five_years_ahead_hides_no_row_of_today(project: Project) -> None:
    project.feed((99, "far ahead", "2029-06-03 09:00"), (1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    for number in (2, 3):
        project.feed((number, "today", f"2024-06-03 1{number}:00"))
        project.run(now=f"2024-06-03T1{number}:30:00Z", lookback=0)
        assert project.ids() == list(range(1, number + 1))
        assert project.last_window()["source_watermark"] == datetime(2024, 6, 3, 10 + number)


def test_a_future_row_is_read_once_it_is_due(project: Project) -> None:
    project.feed((99, "far ahead", "2024-06-10 09:00"), (1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.run(now="2024-06-10T09:00:00Z", lookback=0)

    assert project.ids() == [1, 99]


def test_C21_a_future_row_in_the_target_does_not_move_the_next_window(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.warehouse.execute(
        "insert into sync.sink (id, note, changed_at) values (99, 'far', timestamp '2029-01-01 00:00:00')"
    )
    project.feed((2, "b", "2024-06-03 10:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.ids() == [1, 2, 99]
    assert project.last_window()["target_watermark"] == datetime(2024, 6, 3, 9)


def test_C22_rows_stamped_two_hours_ahead_are_delivered_once_they_are_due(project: Project) -> None:
    project.feed((1, "written 11:00 as 13:00", "2024-06-03 13:00"), (2, "written 12:00 as 14:00", "2024-06-03 14:00"))
    project.run(now="2024-06-03T12:30:00Z", lookback=0)
    assert project.ids() == []
    project.feed((3, "written 13:00 as 15:00", "2024-06-03 15:00"))
    project.run(now="2024-06-03T13:30:00Z", lookback=0)
    assert project.ids() == [1]
    project.run(now="2024-06-03T15:00:00Z", lookback=0)
    assert project.ids() == [1, 2, 3]


def test_C23_rows_that_appear_after_a_first_run_on_an_empty_source_are_delivered(project: Project) -> None:
    project.run(now="2024-06-03T12:00:00Z")
    assert project.ids() == []
    project.feed((1, "a", "2020-01-01 00:00"), (2, "b", "2024-06-03 09:00"), (3, "c", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:30:00Z")

    assert project.ids() == [1, 2, 3]


def test_C24_an_empty_source_gives_an_empty_window_that_succeeds(project: Project) -> None:
    project.run(now="2024-06-03T11:00:00Z")
    project.feed((1, "a", "2024-06-03 11:30"))
    for minute in (1, 2, 3):
        project.run(now=f"2024-06-03T12:0{minute}:00Z")
    project.warehouse.execute("delete from ods.feed")
    project.run(now="2024-06-03T13:00:00Z")

    windows = project.ledger()
    assert [window["status"] for window in windows] == ["succeeded"] * 5
    assert [window["rows_extracted"] for window in windows] == [0, 1, 1, 1, 0]
    assert [window["rows_inserted"] for window in windows] == [0, 1, 0, 0, 0]
    assert windows[0]["source_watermark"] is None and windows[4]["source_watermark"] is None
    assert project.ids() == [1]


def test_a_source_with_only_null_and_future_watermarks_gives_an_empty_window(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.warehouse.execute("delete from ods.feed")
    project.feed((2, "b", None), (3, "c", "2029-01-01 00:00"))
    project.run(now="2024-06-03T13:00:00Z")

    assert project.ids() == [1]
    assert project.last_window()["status"] == "succeeded"
    assert project.counts() == {}


@pytest.mark.parametrize("state", ["before any run", "with an empty target", "with rows in the target"])
def test_C25_looking_at_a_project_writes_nothing(project: Project, state: str) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    if state != "before any run":
        project.run(now="2024-06-03T12:00:00Z")
        project.feed((2, "b", "2024-06-03 10:00"))
    if state == "with an empty target":
        project.warehouse.execute("delete from sync.sink")
    before = project.everything()
    for command in (("parse",), ("compile",), ("ls",), ("docs", "generate")):
        run = project.dbt(*command, manifest=command != ("parse",))
        assert run.result.success, run.errors()
    assert project.everything() == before


def test_C26_a_null_watermark_is_left_out_by_default(project: Project) -> None:
    project.feed(*[(n, "x", "2024-06-03 09:00") for n in range(1, 100)], (100, "no watermark", None))
    project.run(now="2024-06-03T12:00:00Z")
    assert project.ids() == list(range(1, 100))
    project.run(now="2024-06-03T12:30:00Z")
    assert project.ids() == list(range(1, 100))


def test_C26_a_null_watermark_is_read_on_every_run_where_the_model_includes_it(project: Project) -> None:
    project.model("sink", INCLUDE_NULLS)
    project.feed(*[(n, "x", "2024-06-03 09:00") for n in range(1, 100)], (100, "no watermark", None))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    assert project.ids() == list(range(1, 101))
    project.run(now="2024-06-03T12:30:00Z", lookback=0)
    assert project.ids() == list(range(1, 101))
    assert project.counts() == {"extracted": 100, "unchanged": 100}


def test_an_edit_of_a_row_without_a_watermark_is_delivered_where_the_model_includes_it(project: Project) -> None:
    project.model("sink", INCLUDE_NULLS)
    project.feed((1, "x", "2024-06-03 09:00"), (2, "no watermark", None))
    project.run(now="2024-06-03T12:00:00Z")
    project.warehouse.execute("update ods.feed set note = 'edited' where id = 2")
    project.run(now="2024-06-03T12:30:00Z")
    assert project.rows() == [(1, "x"), (2, "edited")]

    project.warehouse.execute(
        "update ods.feed set changed_at = timestamp '2024-06-03 10:00:00', note = 'stamped' where id = 2"
    )
    project.run(now="2024-06-03T13:00:00Z")
    assert project.rows() == [(1, "x"), (2, "stamped")]


def test_null_watermarks_are_read_even_where_no_watermark_is_eligible(project: Project) -> None:
    project.model("sink", INCLUDE_NULLS)
    project.feed((1, "no watermark", None))
    project.run(now="2024-06-03T12:00:00Z")
    project.feed((2, "no watermark either", None))
    project.run(now="2024-06-03T12:30:00Z")

    assert project.ids() == [1, 2]


def test_C27_an_expression_may_stand_for_the_watermark(project: Project) -> None:
    columns = {"id": "integer", "note": "varchar(50)", "created_at": "timestamp", "updated_at": "timestamp"}
    project.source("edits", columns)
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, coalesce(updated_at, created_at) as changed_at
        from {{ two_clocks.windowed(source('ods', 'edits'), 'coalesce(updated_at, created_at)',
                                    target_watermark='changed_at') }} as edits
        """,
    )
    project.feed(
        (1, "a", "2024-06-03 08:00", None), (2, "b", "2024-06-03 09:00", None), table="edits", columns=tuple(columns)
    )
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.warehouse.execute(
        "update ods.edits set note = 'first edit', updated_at = timestamp '2024-06-03 11:00:00' where id = 1"
    )
    project.feed((3, "c", "2024-06-03 10:00", None), table="edits", columns=tuple(columns))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.rows() == [(1, "first edit"), (2, "b"), (3, "c")]


def test_C61_building_empty_counts_as_no_window_and_moves_no_watermark(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    build = project.dbt("build", "--empty")
    assert build.result.success, build.errors()
    assert project.ledger(model=None) == []
    assert project.ids() == []

    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.feed((2, "b", "2024-06-03 10:00"))
    project.run("--empty", now="2024-06-03T12:00:00Z", lookback=0)
    assert project.ids() == [1]
    assert len(project.ledger()) == 1

    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    assert project.ids() == [1, 2]
