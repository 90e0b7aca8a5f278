"""two-clocks backfill: checked first, planned, run chunk by chunk, taken up again after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.project import REPOSITORY, SINK, Project

from .recover_support import NOW, close_duckdb, days, refused, two_clocks

RANGE = ("--from", "2024-06-01", "--to", "2024-06-06")


@pytest.fixture
def gap(project: Project) -> Project:
    """Nine days delivered with a look-back of an hour; then a late row for each of the first six becomes visible."""
    project.configure(vars={"two_clocks_lookback": "1 hour"})
    project.feed(*days(*range(1, 10)))
    project.run(now=NOW)
    project.feed(*days(*range(1, 7), note="late", plus=100))
    return project


def backfill(project: Project, *arguments: str, **options: Any) -> Any:
    answer = two_clocks(project, "backfill", "--select", "sink", *arguments, **options)
    assert answer.status == 0, answer.said
    return answer


def chunks_in_ledger(project: Project) -> list[tuple[datetime, datetime]]:
    return [(row["window_from"], row["window_to"]) for row in project.ledger() if row["kind"] == "backfill"]


@pytest.mark.any_engine
def test_a_dry_run_shows_the_plan_and_writes_nothing(gap: Project) -> None:
    before = gap.everything()
    answer = backfill(gap, *RANGE, "--chunk", "2d", "--dry-run")
    assert gap.everything() == before
    assert [chunk["rows_expected"] for chunk in answer.document["models"][0]["chunks"]] == [4, 4, 4]
    assert "3 chunks from 2024-06-01 00:00:00 to 2024-06-06 23:59:59.999999, 12 rows in the source" in answer.said


def test_C53_every_chunk_is_a_run_and_the_next_normal_window_is_what_it_would_have_been(gap: Project) -> None:
    answer = backfill(gap, *RANGE, "--chunk", "2d")
    (model,) = answer.document["models"]
    assert (model["runs"], model["extracted"], model["inserted"], model["updated"]) == (3, 12, 6, 0)
    assert [key for key in gap.ids() if key > 100] == [101, 102, 103, 104, 105, 106]
    assert chunks_in_ledger(gap) == [
        (datetime(2024, 6, 1), datetime(2024, 6, 3)),
        (datetime(2024, 6, 3), datetime(2024, 6, 5)),
        (datetime(2024, 6, 5), datetime(2024, 6, 6, 23, 59, 59, 999999)),
    ]
    gap.run(now=NOW)
    window = gap.last_window()
    assert (window["window_from"], window["window_to"]) == (datetime(2024, 6, 9, 5), datetime(2024, 6, 9, 6))


def test_rows_tied_at_the_end_of_a_chunk_are_not_lost(gap: Project) -> None:
    gap.feed(
        *[(key, "tied", "2024-06-03 00:00:00") for key in range(500, 520)],
        (520, "a moment before", "2024-06-02 23:59:59.999999"),
    )
    backfill(gap, *RANGE, "--chunk", "2d")
    assert [key for key in gap.ids() if key >= 500] == list(range(500, 521))


def test_C32_the_newest_version_of_a_key_stays_whichever_chunk_it_is_in(gap: Project) -> None:
    gap.feed((700, "newest", "2024-06-02 06:00:00"), (700, "older", "2024-06-01 06:00:00"))
    backfill(gap, "--from", "2024-06-02", "--to", "2024-06-02")
    backfill(gap, "--from", "2024-06-01", "--to", "2024-06-01")
    assert gap.rows("id, note")[-1] == (700, "newest")


def test_C52_one_instant_is_one_chunk(gap: Project) -> None:
    moment = "2024-06-03T06:00:00Z"
    answer = backfill(gap, "--from", moment, "--to", moment)
    assert answer.document["models"][0]["runs"] == 1
    assert [key for key in gap.ids() if key > 100] == [103]


@pytest.mark.parametrize(
    ("kind", "rows", "lower", "upper", "chunk", "expected"),
    [
        (
            "date",
            ["date '2024-06-01'", "date '2024-06-02'", "date '2024-06-03'"],
            "2024-06-01",
            "2024-06-03",
            "2d",
            [2, 1],
        ),
        ("bigint", ["1717200000", "1717286399", "1717286400"], "2024-06-01", "2024-06-02", "1d", [2, 1]),
        ("integer", ["10", "11", "20"], "10", "20", "10", [2, 1]),
        (
            "timestamp with time zone",
            [
                "timestamp '2024-06-01' at time zone 'UTC'",
                "timestamp '2024-06-02' at time zone 'UTC'",
                "timestamp '2024-06-02 12:00' at time zone 'UTC'",
            ],
            "2024-06-01T00:00:00Z",
            "2024-06-02T21:00:00+09:00",
            "1 day",
            [1, 2],
        ),
    ],
    ids=["date", "epoch", "id", "timestamptz"],
)
def test_C41_C42_every_kind_of_watermark_is_cut_into_chunks(
    empty_project: Project, kind: str, rows: list[str], lower: str, upper: str, chunk: str, expected: list[int]
) -> None:
    project = empty_project
    project.source("feed", {"id": "integer", "changed_at": kind})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, changed_at from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', lookback=0) }} as feed
        """,
    )
    for key, value in enumerate(rows):
        project.warehouse.execute(f"insert into ods.feed values ({key}, {value})")
    project.run(now=NOW)
    project.warehouse.execute("delete from sync.sink where id < 2")
    answer = backfill(project, "--from", lower, "--to", upper, "--chunk", chunk)
    (model,) = answer.document["models"]
    assert [one["rows_expected"] for one in model["chunks"]] == expected
    assert project.ids() == [0, 1, 2]


@pytest.mark.any_engine
def test_several_models_run_in_dependency_order_each_to_its_end(gap: Project) -> None:
    gap.model(
        "a_later_one",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at from {{ two_clocks.windowed(ref('sink'), 'changed_at') }} as sink
        """,
    )
    gap.run("--select", "a_later_one", now=NOW)
    answer = two_clocks(gap, "backfill", "--select", "a_later_one sink", *RANGE, "--chunk", "3d")
    assert answer.status == 0, answer.said
    assert [model["model"] for model in answer.document["models"]] == [
        "model.consumer.sink",
        "model.consumer.a_later_one",
    ]
    assert gap.ids("a_later_one") == gap.ids("sink")


# --- resuming --------------------------------------------------------------------------------------------------------


def stop_before_the_last_of_three_chunks(project: Project) -> None:
    """As if the backfill had been killed then."""
    project.warehouse.execute(
        "delete from sync.two_clocks_window_ledger where kind = 'backfill' and window_from >= timestamp '2024-06-05'"
    )


@pytest.mark.any_engine
def test_an_interrupted_backfill_goes_on_after_the_last_finished_chunk(gap: Project) -> None:
    backfill(gap, *RANGE, "--chunk", "2d")
    stop_before_the_last_of_three_chunks(gap)
    answer = backfill(gap, *RANGE, "--chunk", "2d")
    (model,) = answer.document["models"]
    assert [chunk["finished_before"] for chunk in model["chunks"]] == [True, True, False]
    assert model["runs"] == 1
    assert "Resuming: 2 of 3 chunks" in answer.said

    # it is complete now: the same command is a new backfill, not the end of an old one
    assert backfill(gap, *RANGE, "--chunk", "2d").document["models"][0]["runs"] == 3


@pytest.mark.any_engine
def test_restart_begins_anew_and_other_chunks_are_not_taken_for_finished(gap: Project) -> None:
    backfill(gap, *RANGE, "--chunk", "2d")
    stop_before_the_last_of_three_chunks(gap)
    assert backfill(gap, *RANGE, "--chunk", "2d", "--restart").document["models"][0]["runs"] == 3
    stop_before_the_last_of_three_chunks(gap)
    assert backfill(gap, *RANGE, "--chunk", "3d").document["models"][0]["runs"] == 2


@pytest.mark.any_engine
def test_a_completed_backfill_of_less_is_no_part_of_one_of_more(gap: Project) -> None:
    backfill(gap, "--from", "2024-06-01", "--to", "2024-06-04", "--chunk", "3d")
    assert backfill(gap, *RANGE, "--chunk", "3d").document["models"][0]["runs"] == 2


@pytest.mark.any_engine
def test_a_finished_backfill_of_the_same_first_chunks_is_not_taken_for_an_interrupted_one(gap: Project) -> None:
    backfill(gap, "--from", "2024-06-01", "--to", "2024-06-04", "--chunk", "2d")
    answer = backfill(gap, "--from", "2024-06-01", "--to", "2024-06-08", "--chunk", "2d")
    assert answer.document["models"][0]["runs"] == 4 and "Resuming" not in answer.said
    assert gap.last_window()["message"] == "chunk 4 of 4 of the backfill from 2024-06-01 to 2024-06-08 by 2d"


@pytest.mark.any_engine
def test_an_attempt_of_last_month_is_not_taken_up_again(gap: Project) -> None:
    backfill(gap, *RANGE, "--chunk", "2d")
    stop_before_the_last_of_three_chunks(gap)
    for column in ("started_at", "finished_at"):
        gap.warehouse.execute(f"update sync.two_clocks_window_ledger set {column} = {column} - interval '30 days'")
    assert backfill(gap, *RANGE, "--chunk", "2d").document["models"][0]["runs"] == 3


def process(project: Project, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(REPOSITORY) / "scripts")}
    command = [
        sys.executable,
        "-m",
        "two_clocks",
        *arguments,
        "--profiles-dir",
        ".",
        "--vars",
        f'{{two_clocks_now: "{NOW}"}}',
    ]
    return subprocess.Popen(
        command, cwd=project.directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_killed_in_the_middle_it_ends_where_an_unbroken_one_does(gap: Project) -> None:
    arguments = ("backfill", "--select", "sink", "--from", "2024-06-01", "--to", "2024-06-06", "--chunk", "12h")
    running = process(gap, *arguments)
    try:
        deadline = time.monotonic() + 120
        while chunks_so_far(gap) < 2:
            assert running.poll() is None and time.monotonic() < deadline, running.communicate()
            time.sleep(0.05)
    finally:
        running.send_signal(signal.SIGKILL)
        running.communicate()
    finished = len(chunks_in_ledger(gap))
    assert finished < 12

    deadline = time.monotonic() + 20
    while (answer := two_clocks(gap, *arguments)).status and time.monotonic() < deadline:
        time.sleep(0.2)  # the server notices a killed client a moment later
    assert answer.status == 0, answer.said
    (model,) = answer.document["models"]
    assert sum(chunk["finished_before"] for chunk in model["chunks"]) == finished
    assert len(chunks_in_ledger(gap)) == 12
    assert [key for key in gap.ids() if key > 100] == [101, 102, 103, 104, 105, 106]


def chunks_so_far(project: Project) -> int:
    if project.warehouse.engine == "postgres":
        return len(chunks_in_ledger(project))
    # DuckDB's file is the process's alone; dbt's log tells how far it has come
    try:
        log = (project.directory / "logs" / "dbt.log").read_text()
    except OSError:
        return 0
    return log.count("incremental model sync.sink ")


def test_two_at_once_the_second_is_refused_with_a_clear_sentence(gap: Project) -> None:
    if gap.warehouse.engine == "postgres":
        holder = gap.warehouse.server.connect(gap.warehouse.server.database)
        cursor = holder.cursor()
        cursor.execute(
            "select pg_try_advisory_lock(hashtextextended('two_clocks backfill two_clocks_tests.sync.sink', 0))"
        )
        sentence = "Another backfill or repair of sink is running"
    else:
        code = "import duckdb, sys; c = duckdb.connect('warehouse.duckdb'); print('open', flush=True); sys.stdin.read()"
        holder = subprocess.Popen(
            [sys.executable, "-c", code], cwd=gap.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        holder.stdout.readline()
        sentence = "Another process has the database file"
    try:
        answer = two_clocks(gap, "backfill", "--select", "sink", *RANGE)
        assert answer.status == 2
        assert sentence in answer.said
    finally:
        if gap.warehouse.engine == "postgres":
            holder.close()
        else:
            holder.communicate(b"")
    close_duckdb()
    assert chunks_in_ledger(gap) == []
    backfill(gap, *RANGE, "--chunk", "6d")


def test_normal_runs_go_on_while_a_backfill_runs(gap: Project) -> None:
    if gap.warehouse.engine != "postgres":
        return  # one process at a time
    running = process(gap, "backfill", "--select", "sink", *RANGE)
    gap.feed(*days(9, note="new", plus=900))
    gap.run(now=NOW)
    assert running.wait(120) == 0, running.communicate()
    running.communicate()
    incremental = [row for row in gap.ledger() if row["kind"] == "incremental"]
    assert [(row["window_from"], row["window_to"]) for row in incremental] == [
        (datetime(2024, 6, 9, 5), datetime(2024, 6, 9, 6))
    ]
    assert {909, 101, 106} <= set(gap.ids())


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_sink_that_is_not_idempotent_is_not_swept(gap: Project) -> None:
    gap.warehouse.execute("insert into sync.sink select * from sync.sink where id < 4")
    assert "3 keys stand in more than one row of" in refused(gap, "backfill", "--select", "sink", *RANGE)
    gap.warehouse.execute("delete from sync.sink where id < 4")
    gap.warehouse.execute("insert into sync.sink select null, note, changed_at from sync.sink where id = 5")
    assert "1 row of" in refused(gap, "backfill", "--select", "sink", *RANGE)


def test_C54_what_cannot_be_backfilled_is_one_sentence(gap: Project) -> None:
    for arguments, sentence in (
        (("--from", "2024-06-09T12:00:00", "--to", "2024-06-10"), "starts after the target's watermark"),
        (("--from", "2030-01-01", "--to", "2031-01-01"), "starts after the target's watermark"),
        (("--from", "2024-06-05", "--to", "2024-06-01"), "ends before it begins"),
        (("--from", "yesterday", "--to", "2024-06-01"), "--from is 'yesterday', which cannot be read"),
        (("--from", "2024-06-01", "--to", "2024-06-31"), "--to is '2024-06-31', which cannot be read"),
        ((*RANGE, "--chunk", "0"), "--chunk is '0', which cannot be read"),
        ((*RANGE, "--chunk", "a bit"), "--chunk is 'a bit', which cannot be read"),
        ((*RANGE, "--chunk", "1 second"), "more than 10,000 pieces"),
    ):
        assert sentence in refused(gap, "backfill", "--select", "sink", *arguments), arguments
    assert "No model of the project is selected by nope" in refused(gap, "backfill", "--select", "nope", *RANGE)


@pytest.mark.any_engine
def test_a_model_that_cannot_be_backfilled_is_one_sentence(gap: Project) -> None:
    gap.model("a_table", "{{ config(materialized='table', post_hook=[]) }} select 1 as id", folder="others")
    gap.model("never_run", SINK)
    gap.model("no_key", "{{ config(incremental_strategy='append', post_hook=[]) }} select 1 as id")
    gap.model(
        "by_hand", "{{ config(unique_key='id', incremental_strategy='delete+insert', post_hook=[]) }} select 1 as id"
    )
    gap.run("--select", "by_hand", now=NOW)
    for model, sentence in (
        ("a_table", "is not incremental but a table"),
        ("never_run", "was never built"),
        ("no_key", "declares no unique_key"),
        ("by_hand", "through no window of this package"),
    ):
        assert sentence in refused(gap, "backfill", "--select", model, *RANGE), model
        # and nothing of the models beside it is touched
        assert sentence in refused(gap, "backfill", "--select", f"sink {model}", *RANGE), model


def test_a_chunk_that_fails_stops_the_backfill_and_says_which(gap: Project) -> None:
    gap.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at, 1 / (case when note = 'late' and id = 104 then 0 else 1 end) as ratio,
          cast(case when note = 'late' and id = 104 then 'no date' else '2024-01-01' end as date) as fails
        from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
        """,
    )
    gap.warehouse.execute("alter table sync.sink add column ratio integer")
    gap.warehouse.execute("alter table sync.sink add column fails date")
    answer = two_clocks(gap, "backfill", "--select", "sink", *RANGE)
    assert answer.status == 2
    assert "chunk 4 of 6 [2024-06-04 00:00:00, 2024-06-05 00:00:00] of sink failed" in answer.said
    assert [key for key in gap.ids() if key > 100] == [101, 102, 103]
