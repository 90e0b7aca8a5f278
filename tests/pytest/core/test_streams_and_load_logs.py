"""Several sources in one model, and clocks that are read from a load log."""

from __future__ import annotations

from datetime import datetime

import pytest
from support.project import FEED, SINK, Project

NOON = "2024-06-03T12:00:00Z"

UNION = """
{{ config(unique_key=['origin', 'id']) }}
{% for origin in ('fast', 'slow') %}
select '{{ origin }}' as origin, id, note, changed_at
from {{ two_clocks.windowed(source('ods', origin), 'changed_at', stream=origin, target_filter="origin = '" ~ origin ~ "'") }} as s
{{ 'union all' if not loop.last }}
{% endfor %}
"""


@pytest.fixture
def union(empty_project: Project) -> Project:
    for origin in ("fast", "slow"):
        empty_project.source(origin, FEED)
    empty_project.model("sink", UNION)
    return empty_project


def test_C04_the_slow_source_of_a_union_loses_nothing_to_the_fast_one(union: Project) -> None:
    union.feed((1, "a", "2024-06-03 11:00"), (2, "b", "2024-06-03 12:00"), table="fast")
    union.feed((1, "a", "2024-06-03 08:00"), (2, "b", "2024-06-03 09:00"), table="slow")
    union.run(now=NOON, lookback=0)
    union.feed((3, "slow", "2024-06-03 09:30"), (4, "slow", "2024-06-03 10:00"), table="slow")
    union.run(now="2024-06-03T12:30:00Z", lookback=0)

    assert union.rows("origin, id") == [("fast", 1), ("fast", 2), ("slow", 1), ("slow", 2), ("slow", 3), ("slow", 4)]


def test_each_stream_has_its_own_window_and_its_own_row_in_the_ledger(union: Project) -> None:
    union.feed((1, "a", "2024-06-03 11:00"), (2, "b", "2024-06-03 12:00"), table="fast")
    union.feed((1, "a", "2024-06-03 09:00"), table="slow")
    union.run(now=NOON, lookback=0)
    union.feed((2, "slow", "2024-06-03 10:00"), (3, "slow", "2024-06-03 10:30"), table="slow")
    union.run(now=NOON, lookback=0)

    windows = {window["stream"]: window for window in union.ledger()[2:]}
    assert set(windows) == {"fast", "slow"}
    assert windows["fast"]["target_watermark"] == windows["fast"]["source_watermark"] == datetime(2024, 6, 3, 12)
    assert windows["slow"]["target_watermark"] == datetime(2024, 6, 3, 9)
    assert windows["slow"]["window_to"] == datetime(2024, 6, 3, 10, 30)
    assert windows["slow"]["source_relation"].endswith("slow")
    fates = ("rows_extracted", "rows_inserted", "rows_updated", "rows_unchanged", "rows_late")
    assert [windows["fast"][fate] for fate in fates] == [1, 0, 0, 1, 0]
    assert [windows["slow"][fate] for fate in fates] == [3, 2, 0, 1, 0]


def test_the_rows_of_a_first_build_are_counted_by_stream(union: Project) -> None:
    union.feed((1, "a", "2024-06-03 11:00"), (2, "b", "2024-06-03 12:00"), table="fast")
    union.feed((1, "a", "2024-06-03 09:00"), table="slow")
    union.run(now=NOON)

    assert {window["stream"]: window["rows_inserted"] for window in union.ledger()} == {"fast": 2, "slow": 1}


def test_a_row_is_counted_with_the_stream_that_brought_it_whatever_the_target_still_says(union: Project) -> None:
    union.model(
        "sink", UNION.replace("unique_key=['origin', 'id']", "unique_key='id', merge_exclude_columns=['origin']")
    )
    union.feed((1, "x", "2024-06-03 09:00"), table="fast")
    union.feed((2, "y", "2024-06-03 09:00"), table="slow")
    union.run(now=NOON)
    union.feed((2, "newer", "2024-06-03 10:00"), table="fast")
    union.run(now=NOON)

    assert union.rows("id, origin, note") == [(1, "fast", "x"), (2, "slow", "newer")]
    windows = {window["stream"]: window for window in union.ledger()[2:]}
    fates = ("rows_extracted", "rows_inserted", "rows_updated", "rows_unchanged", "rows_superseded")
    assert [windows["fast"][fate] for fate in fates] == [2, 0, 1, 1, 0]
    assert [windows["slow"][fate] for fate in fates] == [1, 0, 0, 0, 1]


def test_an_empty_stream_beside_a_full_one_is_read_from_its_beginning_once_it_has_rows(union: Project) -> None:
    union.feed((1, "a", "2024-06-03 11:00"), table="fast")
    union.run(now=NOON, lookback=0)
    union.feed((1, "old", "1999-01-01 00:00"), (2, "new", "2024-06-03 11:30"), table="slow")
    union.run(now=NOON, lookback=0)

    assert union.rows("origin, id") == [("fast", 1), ("slow", 1), ("slow", 2)]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(", stream=origin", "target_filter"), ("", "stream")],
    ids=["streams without a filter", "no streams"],
)
def test_two_sources_with_one_target_watermark_between_them_are_refused(
    union: Project, arguments: str, word: str
) -> None:
    start, end = UNION.index(", stream"), UNION.index(") }} as s")
    union.model("sink", UNION[:start] + arguments + UNION[end:])
    assert word in union.refused(now=NOON)
    assert not union.warehouse.has_table("sync.sink")


LOGGED = SINK.replace(
    "'changed_at')", "'changed_at', data_clock='select max(loaded_to) from ' ~ source('ods', 'load_log'))"
)


@pytest.fixture
def logged(project: Project) -> Project:
    """A source whose loads are confirmed in a log."""
    project.source("load_log", {"loaded_to": "timestamp"})
    project.model("sink", LOGGED)
    return project


def confirm(project: Project, loaded_to: str) -> None:
    project.feed((loaded_to,), table="load_log", columns=("loaded_to",))


def test_rows_beyond_the_confirmed_load_wait_for_its_confirmation(logged: Project) -> None:
    logged.feed((1, "a", "2024-06-03 08:00"), (2, "half a load", "2024-06-03 10:00"))
    confirm(logged, "2024-06-03 09:00")
    logged.run(now=NOON, lookback=0)
    assert logged.ids() == [1]
    assert logged.last_window()["source_watermark"] == datetime(2024, 6, 3, 9)

    logged.feed((3, "the other half", "2024-06-03 09:30"))
    confirm(logged, "2024-06-03 10:00")
    logged.run(now=NOON, lookback=0)
    assert logged.ids() == [1, 2, 3]


def test_a_window_is_skipped_without_reading_rows_while_the_load_log_stands_still(logged: Project) -> None:
    logged.feed((1, "a", "2024-06-03 08:00"))
    confirm(logged, "2024-06-03 09:00")
    logged.run(now=NOON)
    run = logged.run(now="2024-06-03T13:00:00Z")

    assert [window["status"] for window in logged.ledger()] == ["succeeded", "skipped"]
    assert not [sql for sql in run.statements if "two_clocks_changes" in sql], "an empty batch needs no merge"
    assert logged.counts() == {}
    assert logged.ids() == [1]


def test_a_load_log_that_stands_still_skips_nothing_that_failed(logged: Project) -> None:
    logged.model("sink", LOGGED.replace("note,", "cast(note as integer) as note,"))
    logged.feed((1, "10", "2024-06-03 08:00"))
    confirm(logged, "2024-06-03 09:00")
    logged.run(now=NOON)
    logged.feed((2, "broken", "2024-06-03 09:30"))
    confirm(logged, "2024-06-03 10:00")
    logged.refused(now=NOON)
    logged.warehouse.execute("update ods.feed set note = '20' where id = 2")
    logged.run(now=NOON)

    assert logged.ids() == [1, 2]


def test_a_load_log_that_stands_still_skips_nothing_of_a_target_that_was_emptied(logged: Project) -> None:
    logged.feed((1, "a", "2024-06-03 08:00"))
    confirm(logged, "2024-06-03 09:00")
    logged.run(now=NOON)
    logged.warehouse.execute("delete from sync.sink")
    logged.run(now=NOON)

    assert logged.ids() == [1]


def test_a_load_log_in_the_future_is_no_clock(logged: Project) -> None:
    logged.feed((1, "a", "2024-06-03 08:00"), (2, "not due", "2024-06-03 14:00"))
    confirm(logged, "2024-06-05 00:00")
    logged.run(now=NOON, lookback=0)
    assert logged.ids() == [1]
    logged.feed((3, "c", "2024-06-03 11:00"))
    logged.run(now=NOON, lookback=0)
    assert logged.ids() == [1, 3]


def test_a_load_log_that_confirms_nothing_gives_an_empty_window(logged: Project) -> None:
    logged.feed((1, "a", "2024-06-03 08:00"))
    logged.run(now=NOON)
    assert logged.ids() == []
    assert logged.last_window()["status"] == "succeeded"


def test_a_data_clock_that_stands_still_proves_nothing_without_a_load_log(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 08:00"), (2, "b", "2024-06-03 10:00"))
    project.run(now=NOON)
    project.feed((3, "late", "2024-06-03 09:00"))
    project.run(now=NOON)

    assert project.ids() == [1, 2, 3]


def test_a_catch_up_moves_on_even_where_the_model_keeps_no_row_of_a_piece(project: Project) -> None:
    project.model("sink", SINK + "where note = 'kept'")
    piece = {"lookback": 0, "variables": {"two_clocks_max_window": "1 hour"}}
    project.feed((1, "kept", "2024-06-03 00:00"))
    project.run(now="2024-06-03T00:30:00Z", **piece)
    project.feed(
        *[(10 + hour, "dropped", f"2024-06-03 0{hour}:00") for hour in (1, 2, 3)], (2, "kept", "2024-06-03 04:00")
    )
    for _ in range(4):
        project.run(now=NOON, **piece)

    assert project.ids() == [1, 2]
