"""The window ends at the data's clock: nothing that becomes visible later is skipped."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from support.project import Project


def test_C01_rows_that_a_lagging_snapshot_shows_later_are_delivered(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 08:00"), (2, "b", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    project.feed((3, "c", "2024-06-03 10:00"), (4, "d", "2024-06-03 11:00"))
    project.run(now="2024-06-03T13:00:00Z", lookback=0)

    assert project.ids() == [1, 2, 3, 4]


def test_C02_the_clock_of_the_machine_that_runs_dbt_plays_no_part(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dbt.context.base
    from dbt import tracking

    class FastClock(datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def]
            return datetime.now(tz) + timedelta(hours=1)

        @classmethod
        def utcnow(cls):  # type: ignore[no-untyped-def]
            return datetime.now(timezone.utc).replace(tzinfo=None) + timedelta(hours=1)

    real_modules = dbt.context.base.get_datetime_module_context
    monkeypatch.setattr(
        dbt.context.base, "get_datetime_module_context", lambda: {**real_modules(), "datetime": FastClock}
    )
    real_start = tracking.User.__init__

    def start_an_hour_ahead(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        real_start(self, *args, **kwargs)
        self.run_started_at += timedelta(hours=1)

    monkeypatch.setattr(tracking.User, "__init__", start_an_hour_ahead)
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    project.feed((1, "a", now - timedelta(hours=2)), (2, "not due for half an hour", now + timedelta(minutes=30)))
    project.run(lookback=0)
    assert project.ids() == [1]
    assert abs(project.last_window()["wall_clock"] - now) < timedelta(minutes=10)

    project.feed((3, "c", now - timedelta(minutes=50)), (4, "d", now - timedelta(minutes=20)))
    project.run(lookback=0)

    assert project.ids() == [1, 3, 4]


def test_C03_days_without_a_run_are_delivered_by_the_next_one(project: Project) -> None:
    project.feed((1, "day 1", "2024-06-01 10:00"))
    project.run(now="2024-06-01T23:00:00Z", lookback="1 hour")

    project.feed(*[(day, f"day {day}", f"2024-06-0{day} 10:00") for day in (2, 3, 4, 5)])
    project.run(now="2024-06-05T23:00:00Z", lookback="1 hour")

    assert project.ids() == [1, 2, 3, 4, 5]


def test_C05_rows_of_a_day_that_becomes_visible_later_are_delivered(project: Project) -> None:
    project.feed((1, "day 1", "2024-06-01 10:00"))
    project.run(now="2024-06-01T23:00:00Z")
    project.run(now="2024-06-02T23:00:00Z")

    project.feed((2, "day 2", "2024-06-02 10:00"), (3, "day 2", "2024-06-02 11:00"))
    project.run(now="2024-06-04T23:00:00Z")

    assert project.ids() == [1, 2, 3]
    assert project.last_window()["rows_late"] == 0


def test_C05_rows_that_come_after_newer_ones_are_delivered_and_called_late(project: Project) -> None:
    project.feed((1, "day 1", "2024-06-01 10:00"), (3, "day 3", "2024-06-03 10:00"))
    project.run(now="2024-06-03T23:00:00Z")

    project.feed((2, "day 2", "2024-06-02 10:00"), (4, "day 4", "2024-06-04 10:00"))
    project.run(now="2024-06-04T23:00:00Z")

    assert project.ids() == [1, 2, 3, 4]
    window = project.last_window()
    assert (window["rows_inserted"], window["rows_late"]) == (2, 1)
    assert window["max_lateness_seconds"] == 24 * 3600


def test_C06_the_other_rows_of_a_timestamp_that_a_follower_showed_in_part_are_delivered(project: Project) -> None:
    project.feed(*[(n, "same instant", "2024-06-03 09:00") for n in range(1, 22)])
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    assert len(project.ids()) == 21

    project.feed(*[(n, "same instant", "2024-06-03 09:00") for n in range(22, 61)])
    project.run(now="2024-06-03T12:05:00Z", lookback=0)

    assert project.ids() == list(range(1, 61))


def test_C07_a_model_that_keeps_one_row_in_ten_raises_no_alarm_and_loses_nothing(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at
        from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
        where id % 10 = 0
        """,
    )
    project.feed(*[(n, "x", f"2024-06-03 09:{n:02}") for n in range(1, 16)])
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.feed(*[(n, "x", f"2024-06-03 09:{n:02}") for n in range(16, 35)])
    project.run(now="2024-06-03T13:00:00Z", lookback=0)

    assert project.ids() == [10, 20, 30]
    window = project.last_window()
    assert window["status"] == "succeeded"
    assert "behind" not in (window["message"] or "")
    assert window["target_watermark"] == datetime(2024, 6, 3, 9, 10)
    assert window["source_watermark"] == datetime(2024, 6, 3, 9, 34)


def test_a_window_runs_from_the_older_watermark_less_the_lookback_to_the_data_clock_with_both_ends(
    project: Project,
) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.feed(
        (2, "just outside", "2024-06-01 08:59:59.999999"),
        (3, "on the lower end", "2024-06-01 09:00"),
        (4, "on the upper end", "2024-06-03 11:00"),
    )
    project.run(now="2024-06-03T12:30:00Z", lookback="48 hours")

    window = project.last_window()
    assert window["source_watermark"] == window["window_to"] == datetime(2024, 6, 3, 11)
    assert window["target_watermark"] == datetime(2024, 6, 3, 9)
    assert window["window_from"] == datetime(2024, 6, 1, 9)
    assert window["wall_clock"] == datetime(2024, 6, 3, 12, 30)
    assert window["lookback_seconds"] == 48 * 3600
    assert project.ids() == [1, 3, 4]


def test_the_first_window_has_no_lower_end(project: Project) -> None:
    project.feed((1, "old", "1999-12-31 23:59"), (2, "new", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.ids() == [1, 2]
    window = project.last_window()
    assert window["kind"] == "initial"
    assert window["window_from"] is None and window["window_from_value"] is None
    assert window["target_watermark"] is None
    assert window["window_to"] == datetime(2024, 6, 3, 9)


def test_a_target_that_was_emptied_is_read_from_the_beginning(project: Project) -> None:
    project.feed((1, "old", "1999-12-31 23:59"), (2, "new", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.warehouse.execute("delete from sync.sink")
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.ids() == [1, 2]
    assert project.last_window()["window_from"] is None


def test_C55_a_source_restored_from_an_older_state_and_refilled_loses_nothing(project: Project) -> None:
    days = [(day, "original", f"2024-06-{day:02} 10:00") for day in range(1, 11)]
    project.feed(*days)
    project.run(now="2024-06-10T12:00:00Z")

    project.warehouse.execute("delete from ods.feed where changed_at > timestamp '2024-06-07 12:00:00'")
    project.feed((70, "only in the snapshot", "2024-06-06 11:00"))
    project.run(now="2024-06-10T13:00:00Z")
    window = project.last_window()
    assert window["status"] == "succeeded"
    assert "behind" in window["message"]
    assert window["window_from"] == datetime(2024, 6, 5, 10)
    assert window["window_to"] == datetime(2024, 6, 7, 10)
    assert project.ids() == [*range(1, 11), 70]

    project.feed(*days[7:], (11, "fresh", "2024-06-10 14:00"), (12, "late", "2024-06-09 14:00"))
    project.run(now="2024-06-10T15:00:00Z")
    assert project.ids() == [*range(1, 13), 70]
    assert "behind" not in (project.last_window()["message"] or "")


def test_C57_a_day_that_failed_is_delivered_by_the_next_one(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, cast(note as integer) as note, changed_at
        from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
        """,
    )
    project.feed((1, "10", "2024-06-01 10:00"))
    project.run(now="2024-06-01T12:00:00Z", lookback=0)
    project.feed((2, "not a number", "2024-06-02 10:00"))
    project.refused(now="2024-06-02T12:00:00Z", lookback=0)
    project.warehouse.execute("update ods.feed set note = '20' where id = 2")
    project.feed((3, "30", "2024-06-03 10:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.rows("id, note") == [(1, 10), (2, 20), (3, 30)]
    assert [window["status"] for window in project.ledger()] == ["succeeded", "failed", "succeeded"]


def test_C64_rows_deleted_in_the_source_stay_in_the_target(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 08:00"), (2, "b", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.warehouse.execute("delete from ods.feed where id = 1")
    project.run(now="2024-06-03T13:00:00Z")

    assert project.ids() == [1, 2]


def test_an_argument_beats_a_var(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at
        from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', lookback='90 minutes') }} as feed
        """,
    )
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.run(now="2024-06-03T12:00:00Z", lookback="2 days")

    assert project.last_window()["lookback_seconds"] == 90 * 60
    assert project.last_window()["window_from"] == datetime(2024, 6, 3, 7, 30)


def test_a_lookback_may_be_written_as_text_or_in_seconds(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    ways = {
        "48 hours": 172800,
        "2 days": 172800,
        "1 day": 86400,
        "90 minutes": 5400,
        "30 seconds": 30,
        "1 week": 604800,
        3600: 3600,
        "7200": 7200,
        0: 0,
        "0 hours": 0,
    }
    read = {}
    for written in ways:
        project.run(now="2024-06-03T12:00:00Z", lookback=written)
        read[written] = project.last_window()["lookback_seconds"]
    assert read == ways


def test_window_gives_its_ends_and_its_predicate_to_sql_of_ones_own(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        {% set window = two_clocks.window(source('ods', 'feed'), 'changed_at') %}
        select id, note, changed_at,
               {{ window['from'] or 'cast(null as timestamp)' }} as window_from,
               {{ window['to'] or 'cast(null as timestamp)' }} as window_to
        from {{ source('ods', 'feed') }}
        where {{ window['predicate'] }}
        """,
    )
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.feed((2, "too early", "2024-06-03 07:59"), (3, "c", "2024-06-03 10:00"))
    project.run(now="2024-06-03T12:00:00Z", lookback="1 hour")

    assert project.rows("id, window_from, window_to") == [
        (1, datetime(2024, 6, 3, 8), datetime(2024, 6, 3, 10)),
        (3, datetime(2024, 6, 3, 8), datetime(2024, 6, 3, 10)),
    ]


def test_one_run_reads_its_clocks_once_and_says_so_in_one_line(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        with once as (select * from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed),
        again as (select id as same from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed)
        select once.id, once.note, once.changed_at from once join again on once.id = again.same
        """,
    )
    project.feed((1, "a", "2024-06-03 09:00:00"))
    project.run(now="2024-06-03T12:00:00Z")
    project.feed((2, "b", "2024-06-03 11:00:00"))
    run = project.run(now="2024-06-03T12:00:00Z", lookback="1 hour")

    lines = [line.replace("T", " ") for line in run.messages if "sink" in line and "2024-06-03" in line]
    assert len(lines) == 1, run.text
    for clock in ("2024-06-03 08:00:00", "2024-06-03 11:00:00", "2024-06-03 09:00:00"):
        assert clock in lines[0]
    assert "1 hour" in lines[0] or "3600" in lines[0]
    assert len(project.ledger()) == 2
