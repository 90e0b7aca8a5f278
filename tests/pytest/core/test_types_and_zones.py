"""Every type of watermark works end to end, in every session's time zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from support.project import Project

COLUMNS = ("id", "note", "changed_at")


def utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class WatermarkType:
    """A column type, what the source writes into it for a moment, and the finest step that it can tell apart."""

    sql: str
    write: Callable[[datetime], Any]
    step: timedelta
    arguments: str = ""

    def model(self) -> str:
        return (
            "{{ config(unique_key='id') }} select id, note, changed_at "
            f"from {{{{ two_clocks.windowed(source('ods', 'typed'), 'changed_at'{self.arguments}) }}}} as typed"
        )

    def feed(self, project: Project, *rows: tuple[int, str, datetime]) -> None:
        project.feed(*[(key, note, self.write(moment)) for key, note, moment in rows], table="typed")


def epoch(units_per_second: int) -> Callable[[datetime], int]:
    return lambda moment: (
        (utc(moment) - utc(datetime(1970, 1, 1))) // timedelta(microseconds=1) * units_per_second // 10**6
    )


MICROSECOND, MILLISECOND, SECOND = (timedelta(microseconds=1), timedelta(milliseconds=1), timedelta(seconds=1))
TYPES = {
    "timestamp": WatermarkType("timestamp", lambda moment: moment, MICROSECOND),
    "timestamptz": WatermarkType("timestamp with time zone", utc, MICROSECOND),
    "date": WatermarkType("date", lambda moment: moment.date(), timedelta(days=1)),
    "epoch seconds": WatermarkType("bigint", epoch(1), SECOND),
    "epoch seconds in 32 bits": WatermarkType("integer", epoch(1), SECOND),
    "epoch milliseconds": WatermarkType("bigint", epoch(1000), MILLISECOND),
    "epoch microseconds": WatermarkType("bigint", epoch(10**6), MICROSECOND),
    "zoned timestamp": WatermarkType(
        "timestamp", lambda moment: moment + timedelta(hours=9), MICROSECOND, ", time_zone='Asia/Tokyo'"
    ),
}


@pytest.fixture(params=TYPES)
def watermark(request: pytest.FixtureRequest, project: Project) -> WatermarkType:
    kind = TYPES[request.param]
    project.source("typed", {"id": "integer", "note": "varchar(50)", "changed_at": kind.sql})
    project.model("sink", kind.model())
    return kind


@pytest.mark.parametrize(
    ("watermark", "zone"),
    [
        *[(name, "America/Chicago") for name in TYPES],
        *[(name, zone) for name in ("timestamp", "timestamptz", "date") for zone in ("UTC", "Asia/Tokyo")],
    ],
    indirect=["watermark"],
)
def test_C40_C41_every_type_of_watermark_works_end_to_end_in_every_sessions_zone(
    project: Project, watermark: WatermarkType, zone: str
) -> None:
    """The same rows as with UTC: ties, late rows, rows not due, and a ledger in UTC."""
    project.set_session_zone(zone)
    last, step = datetime(2024, 6, 3), watermark.step
    watermark.feed(project, (1, "a", last - 20 * step), (2, "b", last), (99, "not due", last + timedelta(days=9)))
    project.run(now="2024-06-03T02:00:00Z", lookback="30 days")
    assert project.ids() == [1, 2]

    watermark.feed(
        project,
        (3, "tied", last),
        (4, "late by one step", last - step),
        (5, "before the window", last - timedelta(days=31)),
    )
    project.run(now="2024-06-03T02:00:00Z", lookback="30 days")
    assert project.ids() == [1, 2, 3, 4]
    window = project.last_window()
    assert window["source_watermark"] == window["target_watermark"] == window["window_to"] == last
    assert window["window_from"] == last - timedelta(days=30)
    assert window["wall_clock"] == datetime(2024, 6, 3, 2)
    assert (window["rows_inserted"], window["rows_late"]) == (2, 2)
    assert window["max_lateness_seconds"] == pytest.approx(step.total_seconds(), abs=1)

    watermark.feed(project, (6, "new", last + timedelta(days=1)))
    project.run(now="2024-06-04T02:00:00Z", lookback=0)
    assert project.ids() == [1, 2, 3, 4, 6]


def test_watermarks_keep_their_full_precision(project: Project, watermark: WatermarkType) -> None:
    odd = datetime(2024, 6, 2, 23, 59, 59, 123457) if watermark.step < timedelta(days=1) else datetime(2024, 6, 2)
    watermark.feed(project, (1, "a", odd))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    watermark.feed(project, (2, "one step before", odd - watermark.step), (3, "tied", odd))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.ids() == [1, 3]
    window = project.last_window()
    for name in ("source", "target"):
        stored = project.warehouse.query(
            f"select count(*) as n from ods.typed where changed_at = cast('{window[f'{name}_watermark_value']}' as {watermark.sql})"
        )
        assert stored == [{"n": 2}], window


def test_integers_beyond_the_precision_of_a_float_are_told_apart(project: Project) -> None:
    project.source("log", {"id": "integer", "note": "varchar(50)", "changed_at": "bigint"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id', meta={'two_clocks_epoch': 'id'}) }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'log'), 'changed_at') }} as log
        """,
    )
    edge = 2**53 + 1
    project.feed((1, "a", edge), table="log")
    project.run(lookback=0)
    project.feed((2, "one below", edge - 1), (3, "tied", edge), (4, "one above", edge + 1), table="log")
    project.run(lookback=0)

    assert project.ids() == [1, 3, 4]
    assert project.last_window()["target_watermark_value"] == str(edge)
    assert project.last_window()["source_watermark_value"] == str(edge + 1)


def test_C41_a_growing_integer_id_works_end_to_end(project: Project) -> None:
    project.source("log", {"id": "integer", "note": "varchar(50)", "changed_at": "bigint"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'log'), 'changed_at') }} as log
        """,
    )
    project.feed((1, "a", 100), (2, "b", 200), table="log")
    project.run(lookback=10)
    project.feed((3, "outside", 189), (4, "lower end", 190), (5, "new", 201), table="log")
    project.run(lookback=10)

    assert project.ids() == [1, 2, 4, 5]
    window = project.last_window()
    assert window["window_from_value"] == "190"
    assert window["window_to_value"] == window["source_watermark_value"] == "201"
    assert window["target_watermark_value"] == "200"
    for name in ("source_watermark", "target_watermark", "window_from", "window_to"):
        assert window[name] is None
    assert (window["rows_inserted"], window["rows_late"]) == (2, 1)


@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 1000), ("us", 10**6)])
def test_the_unit_of_an_epoch_may_be_told(project: Project, unit: str, per_second: int) -> None:
    """A test system whose clock starts in 1970: its numbers are too small for their unit to be guessed."""
    project.source("log", {"id": "integer", "note": "varchar(50)", "changed_at": "bigint"})
    project.model(
        "sink",
        f"""
        {{{{ config(unique_key='id', meta={{'two_clocks_epoch': '{unit}'}}) }}}}
        select id, note, changed_at from {{{{ two_clocks.windowed(source('ods', 'log'), 'changed_at') }}}} as log
        """,
    )
    hour = 3600 * per_second
    project.feed((1, "a", 10 * hour), (2, "not due", 13 * hour), table="log")
    project.run(now="1970-01-01T12:00:00Z", lookback="2 hours")
    project.feed((3, "lower end", 8 * hour), (4, "outside", 8 * hour - 1), table="log")
    project.run(now="1970-01-01T12:00:00Z", lookback="2 hours")

    assert project.ids() == [1, 3]
    assert project.last_window()["source_watermark"] == datetime(1970, 1, 1, 10)


@pytest.mark.parametrize(
    ("zone", "now", "due"),
    [
        ("Asia/Tokyo", "2024-06-03T23:30:00Z", [1]),
        ("America/Chicago", "2024-06-04T01:00:00Z", [1, 2]),
    ],
)
def test_C40_a_date_is_due_by_the_utc_calendar_whatever_the_sessions_zone(
    project: Project, zone: str, now: str, due: list[int]
) -> None:
    project.source("typed", {"id": "integer", "note": "varchar(50)", "changed_at": "date"})
    project.model("sink", TYPES["date"].model())
    project.set_session_zone(zone)
    project.feed((1, "third", "2024-06-03"), (2, "fourth", "2024-06-04"), table="typed")
    project.run(now=now, lookback=0)

    assert project.ids() == due


@pytest.mark.parametrize("time_zone", ["Europe/Berlin", None])
def test_C68_local_times_over_the_autumn_change_of_clocks_lose_and_double_nothing(
    project: Project, time_zone: str | None
) -> None:
    argument = f", time_zone='{time_zone}'" if time_zone else ""
    project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, note, changed_at "
        f"from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at'{argument}) }}}} as feed",
    )
    # what the clock in Berlin showed when the row was written, and when that was in UTC
    written = [
        ("2024-10-27 01:30", "2024-10-26T23:30:00Z"),
        ("2024-10-27 02:10", "2024-10-27T00:10:00Z"),
        ("2024-10-27 02:50", "2024-10-27T00:50:00Z"),
        ("2024-10-27 02:05", "2024-10-27T01:05:00Z"),
        ("2024-10-27 02:30", "2024-10-27T01:30:00Z"),
        ("2024-10-27 02:50", "2024-10-27T01:50:00Z"),
        ("2024-10-27 03:10", "2024-10-27T02:10:00Z"),
    ]
    for number, (local, moment) in enumerate(written):
        project.feed((number, "x", local))
        project.run(now=moment)
    for later in ("2024-10-27T03:00:00Z", "2024-10-27T06:00:00Z"):
        project.run(now=later)

    assert project.ids() == list(range(len(written)))
    inserted = sum(window["rows_inserted"] for window in project.ledger())
    assert inserted == len(written)


def test_a_time_zone_decides_when_a_local_time_is_due(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at
        from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', time_zone='America/New_York') }} as feed
        """,
    )
    project.feed((1, "12:00 UTC", "2024-06-03 08:00"), (2, "12:01 UTC", "2024-06-03 08:01"))
    project.run(now="2024-06-03T12:00:00Z", lookback=0)

    assert project.ids() == [1]
    assert project.last_window()["source_watermark"] == datetime(2024, 6, 3, 12)


def test_an_index_on_the_watermark_serves_the_window(project: Project, watermark: WatermarkType, engine: str) -> None:
    if engine != "postgres":
        pytest.skip("DuckDB has no index for ranges; its zone maps need no help")
    watermark.feed(project, (1, "a", datetime(2024, 6, 3)))
    project.run(now="2024-06-03T12:00:00Z")
    watermark.feed(project, (2, "b", datetime(2024, 6, 3)))
    project.run(now="2024-06-03T12:00:00Z")
    project.warehouse.execute("create index on ods.typed (changed_at)")
    compiled = (project.directory / "target/compiled/consumer/models/sync/sink.sql").read_text()
    connection = project.warehouse.server.connection
    with connection.cursor() as cursor:
        cursor.execute("set enable_seqscan = off")
        cursor.execute("explain " + compiled)
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("reset enable_seqscan")

    condition = next(line for line in plan.splitlines() if "Index Cond" in line)
    assert ">=" in condition and "<=" in condition
    assert "::timestamp" not in condition.split(">=")[0]
