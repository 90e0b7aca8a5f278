"""Rows that come late, share an instant or arrive out of order."""

from __future__ import annotations

from datetime import datetime

from support.project import Project


def test_C10_a_row_that_commits_a_second_behind_the_watermark_is_delivered_and_measured(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 02:30:00"))
    project.run(now="2024-06-03T03:00:00Z", lookback="5 minutes")

    project.feed((2, "b", "2024-06-03 02:29:59"))
    project.run(now="2024-06-03T03:05:00Z", lookback="5 minutes")

    assert project.ids() == [1, 2]
    window = project.last_window()
    assert (window["rows_late"], window["max_lateness_seconds"]) == (1, 1)


def test_a_late_update_counts_as_late_too(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 02:00:00"), (2, "b", "2024-06-03 02:30:00"))
    project.run(now="2024-06-03T03:00:00Z")
    project.warehouse.execute(
        "update ods.feed set note = 'edited', changed_at = timestamp '2024-06-03 02:10:00' where id = 1"
    )
    project.run(now="2024-06-03T03:05:00Z")

    window = project.last_window()
    assert (window["rows_updated"], window["rows_late"], window["max_lateness_seconds"]) == (1, 1, 1200)


def test_a_row_stamped_exactly_with_the_watermark_is_late_by_nothing(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 02:30:00"))
    project.run(now="2024-06-03T03:00:00Z")
    project.feed((2, "b", "2024-06-03 02:30:00"))
    project.run(now="2024-06-03T03:05:00Z")

    window = project.last_window()
    assert (window["rows_late"], window["max_lateness_seconds"]) == (1, 0)


def test_rows_that_are_only_read_again_are_neither_late_nor_fresh(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 02:00:00"), (2, "b", "2024-06-03 02:30:00"))
    project.run(now="2024-06-03T03:00:00Z")
    project.run(now="2024-06-03T03:05:00Z")

    assert project.counts() == {"extracted": 2, "unchanged": 2}
    assert not project.last_window()["rows_late"]


def test_a_first_build_has_no_late_rows(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 02:00:00"), (2, "b", "2024-06-03 02:30:00"))
    project.run(now="2024-06-03T03:00:00Z")
    assert project.counts() == {"extracted": 2, "inserted": 2}
    assert not project.last_window()["rows_late"]


def test_C11_a_row_later_than_the_lookback_is_left_to_a_backfill(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback="1 day")
    project.feed((2, "two days late", "2024-06-01 09:00"))
    project.run(now="2024-06-03T13:00:00Z", lookback="1 day")
    assert project.ids() == [1]

    project.run(
        now="2024-06-03T14:00:00Z",
        variables={"two_clocks_backfill_from": "2024-06-01", "two_clocks_backfill_to": "2024-06-01"},
    )
    assert project.ids() == [1, 2]


def test_C14_rows_of_the_same_epoch_second_are_delivered_without_a_lookback(project: Project) -> None:
    project.source("seconds", {"id": "integer", "note": "varchar(50)", "changed_at": "bigint"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'seconds'), 'changed_at') }} as feed
        """,
    )
    project.feed((1, "a", 1717405200), table="seconds")
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.feed((2, "b", 1717405200), table="seconds")
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.ids() == [1, 2]


def test_C15_more_rows_for_the_same_day_are_delivered_without_a_lookback(project: Project) -> None:
    project.source("days", {"id": "integer", "note": "varchar(50)", "changed_at": "date"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'days'), 'changed_at') }} as feed
        """,
    )
    project.feed((1, "morning", "2024-06-03"), table="days")
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.feed((2, "evening", "2024-06-03"), table="days")
    project.run(now="2024-06-03T22:00:00Z", lookback=0)

    assert project.ids() == [1, 2]


def test_C16_an_older_version_never_replaces_a_newer_one(project: Project) -> None:
    project.feed((1, "version of ten", "2024-06-03 10:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.warehouse.execute("delete from ods.feed")
    project.feed((1, "version of nine", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:30:00Z")

    assert project.rows("id, note, changed_at") == [(1, "version of ten", datetime(2024, 6, 3, 10))]
    assert project.counts() == {"extracted": 1, "stale": 1}
    assert not project.last_window()["rows_late"]


def test_C17_no_row_tied_at_the_edge_of_a_catch_up_piece_is_missing(project: Project) -> None:
    project.feed((1, "start", "2024-06-03 00:00"))
    project.run(now="2024-06-03T23:00:00Z", lookback=0)
    project.feed(
        *[(n, "tied at the first edge", "2024-06-03 01:00") for n in (2, 3, 4)],
        *[(n, "tied at the second edge", "2024-06-03 02:00") for n in (5, 6)],
        *[(n, "behind a hole", "2024-06-03 10:00") for n in (7, 8)],
        (9, "between", "2024-06-03 10:30"),
    )
    piece = {"now": "2024-06-03T23:00:00Z", "lookback": 0, "variables": {"two_clocks_max_window": "1 hour"}}
    project.run(**piece)
    assert project.ids() == [1, 2, 3, 4]

    project.feed((10, "tied, and visible only now", "2024-06-03 01:00"))
    project.run(**piece)
    assert project.ids() == [1, 2, 3, 4, 5, 6, 10]

    project.run(**piece)
    assert project.ids() == [1, 2, 3, 4, 5, 6, 7, 8, 10]

    project.run(**piece)
    assert project.ids() == list(range(1, 11))


def test_a_hole_in_the_data_longer_than_max_window_never_stalls_a_model(project: Project) -> None:
    project.feed((1, "before", "2024-01-01 00:00"))
    piece = {"lookback": "10 minutes", "variables": {"two_clocks_max_window": "1 hour"}}
    project.run(now="2024-01-01T01:00:00Z", **piece)
    project.feed((2, "after", "2024-06-01 00:00"), (3, "later", "2024-06-01 05:00"))
    project.run(now="2024-06-01T06:00:00Z", **piece)
    assert project.ids() == [1, 2]
    assert project.last_window()["window_to"] == datetime(2024, 6, 1)
    project.run(now="2024-06-01T06:00:00Z", **piece)
    assert project.ids() == [1, 2, 3]


def test_a_catch_up_bounded_by_an_argument_reads_the_source_piece_by_piece(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at
        from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', lookback=0, max_window='2 hours') }} as feed
        """,
    )
    project.feed((0, "start", "2024-06-03 00:00"))
    project.run(now="2024-06-03T23:00:00Z")
    project.feed(*[(hour, "x", f"2024-06-03 {hour:02}:00") for hour in range(1, 8)])
    seen = []
    for _ in range(4):
        project.run(now="2024-06-03T23:00:00Z", variables={"two_clocks_max_window": "30 minutes"})
        seen.append(max(project.ids()))
    assert seen == [2, 4, 6, 7]


def test_a_hundred_thousand_rows_with_one_watermark_are_no_problem(project: Project) -> None:
    project.warehouse.execute(
        "insert into ods.feed select n, 'bulk load', timestamp '2024-06-03 09:00:00.123457' "
        "from generate_series(1, 100000) as numbers(n)"
    )
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.feed((100001, "one more", "2024-06-03 09:00:00.123457"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.counts() == {"extracted": 100001, "inserted": 1, "unchanged": 100000}
    assert project.warehouse.query("select count(*) as n from sync.sink") == [{"n": 100001}]
