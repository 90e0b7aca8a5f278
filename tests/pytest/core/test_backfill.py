"""A backfill reads exactly the range that was asked for, and disturbs nothing else."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from support.project import SINK, Project

NOON = "2024-06-10T12:00:00Z"


@pytest.fixture
def history(project: Project) -> Project:
    """Ten days delivered; then an edit of each day becomes visible whose stamp is far behind the look-back."""
    project.feed(*[(day, "first", f"2024-06-{day:02} 06:00") for day in range(1, 11)])
    project.run(now=NOON, lookback="1 hour")
    project.feed(*[(100 + day, "late", f"2024-06-{day:02} 06:00") for day in range(1, 10)])
    return project


def backfill(start: object, end: object, **more: object) -> dict[str, object]:
    return {"two_clocks_backfill_from": start, "two_clocks_backfill_to": end, "two_clocks_lookback": "1 hour", **more}


def late_days(project: Project) -> list[int]:
    return [key - 100 for key in project.ids() if key > 100]


@pytest.mark.parametrize(
    ("start", "end", "window_from", "window_to"),
    [
        ("2024-06-02", "2024-06-04", "2024-06-02 00:00", "2024-06-04 23:59:59.999999"),
        (date(2024, 6, 2), date(2024, 6, 4), "2024-06-02 00:00", "2024-06-04 23:59:59.999999"),
        ("2024-06-02 06:00:00", "2024-06-04 06:00:00", "2024-06-02 06:00", "2024-06-04 06:00"),
        ("2024-06-02T06:00:00", "2024-06-04T06:00:00", "2024-06-02 06:00", "2024-06-04 06:00"),
        ("2024-06-02T06:00:00Z", "2024-06-04T06:00:00Z", "2024-06-02 06:00", "2024-06-04 06:00"),
        ("2024-06-02T15:00:00+09:00", "2024-06-04T15:00:00+09:00", "2024-06-02 06:00", "2024-06-04 06:00"),
        (datetime(2024, 6, 2, 6), datetime(2024, 6, 4, 6), "2024-06-02 06:00", "2024-06-04 06:00"),
    ],
    ids=["quoted date", "unquoted date", "space", "T", "Z", "offset", "unquoted time"],
)
def test_C42_the_ends_of_a_backfill_may_be_written_in_many_ways(
    history: Project, start: object, end: object, window_from: str, window_to: str
) -> None:
    history.run(now=NOON, variables=backfill(start, end))

    assert late_days(history) == [2, 3, 4]
    window = history.last_window()
    assert window["kind"] == "backfill"
    assert window["window_from"] == datetime.fromisoformat(window_from)
    assert abs(window["window_to"] - datetime.fromisoformat(window_to)) < timedelta(seconds=1)


def test_both_ends_of_a_backfill_are_read_and_the_lookback_adds_nothing(history: Project) -> None:
    history.feed(
        (201, "just before", "2024-06-02 05:59:59.999999"),
        (202, "at the start", "2024-06-02 06:00:00"),
        (203, "at the end", "2024-06-03 06:00:00"),
        (204, "just after", "2024-06-03 06:00:00.000001"),
    )
    history.run(
        now=NOON, variables=backfill("2024-06-02T06:00:00Z", "2024-06-03T06:00:00Z", two_clocks_lookback="5 days")
    )

    assert [key for key in history.ids() if key > 200] == [202, 203]


def test_C52_a_backfill_of_one_instant_reads_that_instant(history: Project) -> None:
    history.run(now=NOON, variables=backfill("2024-06-03T06:00:00Z", "2024-06-03T06:00:00Z"))
    assert late_days(history) == [3]


def test_C53_a_backfill_leaves_the_next_normal_window_as_it_was(history: Project) -> None:
    history.run(now=NOON, variables=backfill("2024-06-01", "2024-06-03"))
    history.run(now=NOON, lookback="1 hour")

    before, filled, after = history.ledger()
    assert late_days(history) == [1, 2, 3]
    assert filled["target_watermark"] == after["target_watermark"] == before["source_watermark"]
    assert after["window_from"] == datetime(2024, 6, 10, 5)
    assert after["window_to"] == datetime(2024, 6, 10, 6)
    assert after["kind"] == "incremental"


def test_C32_chunks_of_a_backfill_from_newest_to_oldest_leave_the_newest_version(history: Project) -> None:
    history.feed((500, "version of the third", "2024-06-03 06:00"), (500, "version of the fifth", "2024-06-05 06:00"))
    history.run(now=NOON, variables=backfill("2024-06-04", "2024-06-06"))
    history.run(now=NOON, variables=backfill("2024-06-01", "2024-06-03"))

    assert [row for row in history.rows() if row[0] == 500] == [(500, "version of the fifth")]
    assert history.last_window()["rows_stale"] == 1


def test_a_backfill_twice_changes_nothing_the_second_time(history: Project) -> None:
    history.run(now=NOON, variables=backfill("2024-06-02", "2024-06-04"))
    assert history.counts() == {"extracted": 6, "inserted": 3, "unchanged": 3}
    rows = history.rows("id, note, changed_at")
    history.run(now=NOON, variables=backfill("2024-06-02", "2024-06-04"))
    assert history.counts() == {"extracted": 6, "unchanged": 6}
    assert history.rows("id, note, changed_at") == rows


def test_a_backfill_never_reads_past_what_the_target_has_seen(history: Project) -> None:
    history.feed((300, "newer than the target", "2024-06-10 09:00"))
    history.run(now=NOON, variables=backfill("2024-06-09", "2024-06-30"))

    assert 300 not in history.ids()
    assert late_days(history) == [9]
    history.run(now=NOON, lookback=0)
    assert 300 in history.ids()


def test_a_backfill_takes_integers_for_integer_watermarks(empty_project: Project) -> None:
    project = empty_project
    project.source("log", {"id": "integer", "note": "varchar(50)", "seq": "bigint"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, seq from {{ two_clocks.windowed(source('ods', 'log'), 'seq', lookback=0) }} as log
        """,
    )
    columns = ("id", "note", "seq")
    project.feed((1, "a", 10), (2, "b", 20), (3, "c", 30), table="log", columns=columns)
    project.run()
    project.feed((4, "late", 11), (5, "late", 20), (6, "late", 21), table="log", columns=columns)
    project.run(variables={"two_clocks_backfill_from": 11, "two_clocks_backfill_to": "20"})

    assert project.ids() == [1, 2, 3, 4, 5]
    assert project.last_window()["window_from_value"] == "11"
    assert project.last_window()["window_to_value"] == "20"


def test_a_backfill_takes_dates_for_epoch_watermarks(empty_project: Project) -> None:
    project = empty_project
    project.source("grades", {"id": "integer", "note": "varchar(50)", "changed_at": "bigint"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'grades'), 'changed_at') }} as grades
        """,
    )
    second = {day: int(datetime.fromisoformat(f"2024-06-{day:02}T06:00:00+00:00").timestamp()) for day in range(1, 11)}
    project.feed(*[(day, "first", second[day]) for day in second], table="grades")
    project.run(now=NOON, lookback=0)
    project.feed(*[(100 + day, "late", second[day]) for day in range(1, 10)], table="grades")
    project.run(now=NOON, variables=backfill("2024-06-02", "2024-06-04"))
    assert late_days(project) == [2, 3, 4]
    project.run(now=NOON, variables=backfill(second[6], second[7]))
    assert late_days(project) == [2, 3, 4, 6, 7]


def test_bounds_without_a_zone_are_read_in_the_zone_of_the_column(history: Project) -> None:
    history.model("sink", SINK.replace("'changed_at')", "'changed_at', time_zone='Asia/Tokyo')"))
    history.run(now=NOON, variables=backfill("2024-06-02 06:00", "2024-06-02 06:00"))
    assert late_days(history) == [2]
    # 06:00 in Tokyo is 21:00 of the day before in UTC
    history.run(now=NOON, variables=backfill("2024-06-02T21:00:00Z", "2024-06-02T21:00:00Z"))
    assert late_days(history) == [2, 3]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"two_clocks_backfill_from": "2024-06-01"}, ["two_clocks_backfill_to"]),
        ({"two_clocks_backfill_to": "2024-06-01"}, ["two_clocks_backfill_from"]),
        (backfill("2024-06-03", "2024-06-01"), ["2024-06-03", "2024-06-01"]),
        (backfill("2024-06-03T06:00:01Z", "2024-06-03T15:00:00+09:00"), ["2024-06-03T06:00:01Z"]),
        (backfill("the third of June", "2024-06-04"), ["two_clocks_backfill_from", "the third of June", "2024-"]),
        (backfill("2024-06-01", "2024-13-01"), ["two_clocks_backfill_to", "2024-13-01"]),
        (backfill("2023-02-29", "2024-06-01"), ["two_clocks_backfill_from", "2023-02-29"]),
        (backfill("03.06.2024", "2024-06-04"), ["two_clocks_backfill_from", "03.06.2024"]),
        (backfill(["2024-06-01"], "2024-06-04"), ["two_clocks_backfill_from"]),
        (backfill("2024-06-10T06:00:00.000001Z", "2024-06-10T12:00:00Z"), ["hole"]),
        (backfill("2024-06-11", "2024-06-12"), ["2024-06-11", "hole"]),
    ],
    ids=[
        "only a start",
        "only an end",
        "end before start",
        "end before start in another zone",
        "start unreadable",
        "no such month",
        "no such day",
        "not ISO",
        "a list",
        "C54 just after the target",
        "C54 long after the target",
    ],
)
def test_C52_C54_a_backfill_that_makes_no_sense_is_refused_and_writes_nothing(
    history: Project, variables: dict[str, object], words: list[str]
) -> None:
    before = history.everything()
    message = history.refused(now=NOON, variables=variables)

    for word in words:
        assert word in message
    assert history.everything() == before


def test_a_backfill_with_full_refresh_is_refused_and_writes_nothing(history: Project) -> None:
    before = history.everything()
    message = history.refused("--full-refresh", now=NOON, variables=backfill("2024-06-01", "2024-06-02"))
    assert "--full-refresh" in message
    assert history.everything() == before


def test_a_backfill_of_a_model_without_a_unique_key_is_refused_and_writes_nothing(history: Project) -> None:
    history.model("sink", SINK.replace("unique_key='id'", "incremental_strategy='append'"))
    before = history.everything()
    message = history.refused(now=NOON, variables=backfill("2024-06-01", "2024-06-02"))
    assert "unique_key" in message
    assert history.everything() == before


@pytest.mark.parametrize("state", ["never built", "empty"])
def test_a_backfill_of_a_target_that_holds_nothing_is_refused(project: Project, state: str) -> None:
    if state == "empty":
        project.run(now=NOON)
    project.feed((1, "a", "2024-06-02 06:00"))
    before = project.everything()
    message = project.refused(now=NOON, variables=backfill("2024-06-01", "2024-06-03"))
    assert "sink" in message and "normally" in message
    assert project.everything() == before
