"""One row for every window ever attempted, right in every column."""

from __future__ import annotations

from datetime import datetime, timedelta

from support.project import LEDGER, SINK, Project

COLUMNS = [
    "window_id",
    "invocation_id",
    "model",
    "target_relation",
    "source_relation",
    "stream",
    "kind",
    "status",
    "message",
    "watermark_column",
    "wall_clock",
    "source_watermark",
    "target_watermark",
    "window_from",
    "window_to",
    "source_watermark_value",
    "target_watermark_value",
    "window_from_value",
    "window_to_value",
    "lookback_seconds",
    "rows_extracted",
    "rows_inserted",
    "rows_updated",
    "rows_unchanged",
    "rows_stale",
    "rows_superseded",
    "rows_late",
    "max_lateness_seconds",
    "rows_quarantined",
    "started_at",
    "finished_at",
]

NOON = "2024-06-03T12:00:00Z"


def test_the_ledger_has_the_columns_that_users_lean_on(project: Project) -> None:
    project.run(now=NOON)
    assert sorted(project.warehouse.columns(f"sync.{LEDGER}")) == sorted(COLUMNS)


def test_a_row_of_the_ledger_describes_its_window(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.feed((2, "b", "2024-06-03 11:00:00.25"))
    run = project.run(now=NOON, lookback="1 hour")

    window = project.last_window()
    assert window["model"] == "model.consumer.sink"
    assert window["target_relation"].endswith("sync.sink")
    assert window["source_relation"].endswith("ods.feed")
    assert window["watermark_column"] == "changed_at"
    assert (window["kind"], window["status"], window["stream"]) == ("incremental", "succeeded", None)
    assert window["lookback_seconds"] == 3600
    assert window["source_watermark_value"].startswith("2024-06-03 11:00:00.25")
    assert window["window_to_value"] == window["source_watermark_value"]
    assert window["target_watermark_value"].startswith("2024-06-03 09:00")
    assert window["window_from_value"].startswith("2024-06-03 08:00")
    assert window["invocation_id"] == run.invocation_id
    assert window["started_at"] <= window["finished_at"]


def test_windows_have_ids_of_their_own_and_share_the_invocations(project: Project) -> None:
    project.model("other", SINK)
    project.run(now=NOON)
    project.run(now=NOON)

    rows = project.ledger(model=None)
    assert len(rows) == len({row["window_id"] for row in rows}) == 4
    assert len({row["invocation_id"] for row in rows}) == 2


def test_the_ledger_tells_real_time_from_the_replayed_one(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    window = project.last_window()
    assert window["wall_clock"] == datetime(2024, 6, 3, 12)
    assert window["started_at"] > datetime(2024, 6, 4)


def test_without_a_replay_the_wall_clock_is_the_databases_own_in_utc(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.set_session_zone("Asia/Tokyo")
    project.run()
    window = project.last_window()
    assert abs(window["wall_clock"] - window["finished_at"]) < timedelta(minutes=5)
    utc_now = "cast(now() at time zone 'UTC' as timestamp)"
    apart = project.warehouse.query(f"select {utc_now} as moment")[0]["moment"] - window["wall_clock"]
    assert abs(apart) < timedelta(minutes=5)


def test_C60_a_full_refresh_rebuilds_the_target_and_keeps_the_ledger(project: Project) -> None:
    project.feed((1, "a", "2020-06-03 09:00"), (2, "b", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.warehouse.execute("update sync.sink set note = 'spoilt'")
    project.run("--full-refresh", now=NOON)

    assert project.rows() == [(1, "a"), (2, "b")]
    windows = project.ledger()
    assert [window["kind"] for window in windows] == ["initial", "full_refresh"]
    assert windows[1]["window_from"] is None
    assert project.counts() == {"extracted": 2, "inserted": 2}


def test_C51_a_model_that_fails_leaves_a_failed_window_and_the_next_run_covers_it(project: Project) -> None:
    project.model("sink", SINK.replace("note,", "cast(note as integer) as note,"))
    project.feed((1, "10", "2024-06-03 08:00"))
    project.run(now=NOON, lookback=0)
    project.feed((2, "20", "2024-06-03 09:00"), (3, "broken", "2024-06-03 10:00"), (4, "40", "2024-06-03 11:00"))
    project.refused(now=NOON, lookback=0)

    assert project.ids() == [1]
    window = project.last_window()
    assert (window["status"], window["kind"]) == ("failed", "incremental")
    assert "broken" in window["message"]
    assert window["window_from"] == datetime(2024, 6, 3, 8)
    assert window["window_to"] == datetime(2024, 6, 3, 11)
    assert not window["rows_inserted"]

    project.warehouse.execute("update ods.feed set note = '30' where id = 3")
    project.run(now=NOON, lookback=0)
    assert project.ids() == [1, 2, 3, 4]
    assert project.last_window()["window_from"] == datetime(2024, 6, 3, 8)


def test_a_first_build_that_fails_leaves_a_failed_window(project: Project) -> None:
    project.model("sink", SINK.replace("note,", "cast(note as integer) as note,"))
    project.feed((1, "broken", "2024-06-03 10:00"))
    project.refused(now=NOON)

    assert [(window["kind"], window["status"]) for window in project.ledger()] == [("initial", "failed")]


def test_other_models_that_fail_leave_no_window(project: Project) -> None:
    project.model("broken", "{{ config(materialized='table') }} select cast('x' as integer) as n", folder="marts")
    run = project.attempt(now=NOON)

    assert run.statuses()["broken"] == "error"
    assert [row["model"] for row in project.ledger(model=None)] == ["model.consumer.sink"]


def test_a_message_with_quotes_and_line_breaks_is_kept(project: Project) -> None:
    project.model("sink", SINK.replace("note,", "cast(note as integer) as note,"))
    project.feed((1, 'it\'s "broken"; --\n100% {{ jinja }}', "2024-06-03 10:00"))
    project.refused(now=NOON)

    message = project.last_window()["message"]
    assert "it's" in message and "{{ jinja }}" in message and "100%" in message


def test_the_ledger_may_live_in_a_schema_of_its_own(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    variables = {"two_clocks_ledger_schema": "monitoring"}
    project.run(now=NOON, variables=variables)
    project.run(now=NOON, variables=variables)

    assert len(project.ledger(schema="monitoring")) == 2
    assert not project.warehouse.has_table(f"sync.{LEDGER}")


def test_the_views_show_the_ledger_and_the_health_of_each_model(project: Project) -> None:
    project.model("other", SINK.replace("'changed_at'", "'changed_at', stream='main'"))
    project.feed((1, "a", "2024-06-03 08:00"), (2, "b", "2024-06-03 10:00"))
    project.run(now=NOON)
    project.feed((3, "late", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.run(now=NOON)
    project.run("--select", "package:two_clocks", now="2024-06-03T13:00:00Z")

    windows = project.warehouse.query(
        "select * from sync.two_clocks_windows where model = 'model.consumer.sink' order by started_at"
    )
    assert [window["rows_fresh"] for window in windows] == [2, 1, 0]
    assert {window["lag_seconds"] for window in windows} == {7200}
    health = {row["model"]: row for row in project.warehouse.query("select * from sync.two_clocks_health")}
    assert set(health) == {"model.consumer.sink", "model.consumer.other"}
    sink = health["model.consumer.sink"]
    assert sink["windows_without_fresh_rows"] == 1
    assert sink["max_lateness_seconds"] == 3600
    assert sink["lag_seconds"] == 3 * 3600
    assert (
        float(sink["lookback_headroom"]) == round(1 - 1 / 48, 4)
        or abs(float(sink["lookback_headroom"]) - (1 - 1 / 48)) < 0.001
    )
    assert sink["open_failures"] == 0
    assert health["model.consumer.other"]["stream"] == "main"


def test_the_views_can_be_built_before_there_is_a_ledger(project: Project) -> None:
    project.run("--select", "package:two_clocks")
    assert project.warehouse.query("select * from sync.two_clocks_health") == []


def test_C62_twenty_models_in_eight_threads_leave_twenty_right_rows(project: Project) -> None:
    (project.directory / "models/sync/sink.sql").unlink()
    names = [f"sink_{number}" for number in range(20)]
    for number, name in enumerate(names):
        project.model(name, SINK + f"where id <= {number}")
    project.feed(*[(number, "x", "2024-06-03 09:00") for number in range(1, 21)])
    # the ledger's schema is missing too, so that all of them come to make it at once
    options = {"now": NOON, "variables": {"two_clocks_ledger_schema": "monitoring"}}
    project.run("--threads", "8", **options)
    project.run("--threads", "8", **options)

    rows = project.ledger(model=None, schema="monitoring")
    for kind, fate in (("initial", "rows_inserted"), ("incremental", "rows_unchanged")):
        counted = {row["model"].split(".")[-1]: row[fate] for row in rows if row["kind"] == kind}
        assert counted == {name: number for number, name in enumerate(names)}
    assert len(rows) == 40
