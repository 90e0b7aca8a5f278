"""The older PostgreSQL servers, whose MERGE cannot return what it did, give the same rows and the same counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crash import run_killed_before
from support.engines import PostgresDatabase, PostgresWarehouse
from support.project import SINK, Project
from support.servers import binaries, postgres

NOON = "2024-06-03T12:00:00Z"


@pytest.fixture(scope="module", params=[15, 16, 17], ids=lambda major: f"postgres-{major}")
def old_postgres(request: pytest.FixtureRequest) -> Iterator[PostgresDatabase]:
    chosen = request.config.getoption("--engine")
    if chosen and "postgres" not in chosen:
        pytest.skip("only other engines were asked for")
    if binaries(request.param) is None:
        pytest.skip(f"no server binaries of PostgreSQL {request.param} on this machine")
    with postgres(request.param) as database:
        assert database.version() == request.param
        yield database


@pytest.fixture
def project(
    old_postgres: PostgresDatabase, template_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    warehouse = PostgresWarehouse(old_postgres)
    monkeypatch.chdir(tmp_path)
    yield Project.from_template(
        template_directory / f"postgres-{old_postgres.version()}", warehouse, tmp_path
    ).with_feed()
    warehouse.clear()


def test_every_fate_of_a_row_is_counted(project: Project) -> None:
    project.feed((1, "same", "2024-06-03 08:00"), (2, "edited", "2024-06-03 08:00"), (3, "newer", "2024-06-03 10:00"))
    project.run(now=NOON)
    project.warehouse.execute("update ods.feed set note = 'edit', changed_at = '2024-06-03 09:00' where id = 2")
    project.warehouse.execute("update ods.feed set note = 'older', changed_at = '2024-06-03 09:00' where id = 3")
    project.feed((4, "new", "2024-06-03 11:00"), (5, "old", "2024-06-03 09:00"), (5, "late", "2024-06-03 09:30"))
    project.run(now=NOON)

    assert project.counts() == {
        "extracted": 6,
        "inserted": 2,
        "updated": 1,
        "unchanged": 1,
        "stale": 1,
        "superseded": 1,
    }
    assert project.last_window()["rows_late"] == 2
    assert project.last_window()["max_lateness_seconds"] == 3600
    assert project.rows() == [(1, "same"), (2, "edit"), (3, "newer"), (4, "new"), (5, "late")]


def test_C06_tied_rows_are_delivered(project: Project) -> None:
    project.feed(*[(n, "tied", "2024-06-03 09:00:00.123457") for n in range(1, 22)])
    project.run(now=NOON, lookback=0)
    project.feed(*[(n, "tied", "2024-06-03 09:00:00.123457") for n in range(22, 61)])
    project.run(now=NOON, lookback=0)
    assert project.ids() == list(range(1, 61))


def test_repeats_write_no_row_again(project: Project) -> None:
    project.feed(*[(n, "x", "2024-06-03 09:00") for n in range(1, 31)])
    project.run(now=NOON)
    before = project.warehouse.row_versions("sync.sink")
    for _ in range(3):
        project.run(now=NOON)
    assert project.warehouse.row_versions("sync.sink") == before


def test_C50_the_ledger_row_commits_with_the_data_or_not_at_all(project: Project) -> None:
    project.feed((1, "first", "2024-06-03 08:00"))
    project.run(now=NOON)
    project.feed((2, "new", "2024-06-03 09:00"))
    for statement in range(1, 100):
        run_killed_before(project, statement, now=NOON)
        project.warehouse.wait_for_dbt_to_disconnect()
        assert (2 in project.ids()) == (len(project.ledger()) > 1), f"killed before statement {statement}"
        if 2 in project.ids():
            break
    assert project.ids() == [1, 2]


def test_C67_a_full_refresh_that_would_lose_rows_is_refused(project: Project) -> None:
    project.feed(*[(n, "x", "2024-06-03 09:00") for n in range(20)])
    project.run(now=NOON)
    project.warehouse.execute("delete from ods.feed where id >= 10")
    assert "two_clocks_max_shrink" in project.refused("--full-refresh", now=NOON)
    assert len(project.ids()) == 20


def test_a_backfill_reads_its_range_and_no_more(project: Project) -> None:
    project.feed(*[(day, "x", f"2024-06-{day:02} 06:00") for day in range(1, 4)])
    project.run(now="2024-06-03T12:00:00Z", lookback=0)
    project.feed(*[(100 + day, "late", f"2024-06-{day:02} 06:00") for day in range(1, 4)])
    variables = {"two_clocks_backfill_from": "2024-06-02", "two_clocks_backfill_to": "2024-06-02"}
    project.run(now=NOON, variables=variables)
    assert project.ids() == [1, 2, 3, 102]


def test_the_rules_at_select_level_need_no_alias(project: Project) -> None:
    project.model(
        "sink",
        """
        {{ config(unique_key='id', incremental_strategy='merge') }}
        with changes as (
            select id, note, changed_at
            from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
        )
        select * from {{ two_clocks.newest_wins('changes') }}
        """,
    )
    project.feed((1, "older", "2024-06-03 08:00"), (1, "newest", "2024-06-03 09:00"))
    for _ in range(2):
        project.run(now=NOON)
        assert project.rows() == [(1, "newest")]


def test_a_role_that_may_create_nothing_beside_its_models_runs_after_an_administrator(project: Project) -> None:
    """Quarantine needs a function of its own on 15, which the administrator makes with the ledger."""
    rule = "{'key': 'id', 'rules': [{'name': 'a_number', 'column': 'note', 'cast_to': 'integer'}]}"
    project.model("sink", SINK.replace("unique_key='id'", f"unique_key='id', meta={{'two_clocks_quarantine': {rule}}}"))
    project.feed((1, "1", "2024-06-03 08:00"), (2, "two", "2024-06-03 08:00"))
    options = {"variables": {"two_clocks_ledger_schema": "monitoring", "two_clocks_now": NOON}}
    made = project.dbt("run-operation", "two_clocks.make_ledger_tables", **options)
    assert made.result.success, made.errors()
    for statement in (
        "create role loader login",
        "create schema sync authorization loader",
        "grant usage on schema ods, monitoring to loader",
        "grant select on ods.feed to loader",
        "grant select, insert, update on all tables in schema monitoring to loader",
    ):
        project.warehouse.execute(statement)
    user, project.warehouse.profile["user"] = project.warehouse.profile["user"], "loader"
    project.save_profile()
    project.run(**options)
    project.run(**options)
    assert project.ids() == [1]

    project.warehouse.profile["user"] = user
    project.warehouse.execute("drop owned by loader")
    project.warehouse.execute("drop role loader")
