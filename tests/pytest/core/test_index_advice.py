"""A window over large tables without an index works, and says once which index would spare it reading all of them."""

from __future__ import annotations

import pytest
from support.project import Project

NOON = "2024-06-03T12:00:00Z"
# a little more than 32 MB of source and of target
MANY_ROWS = """
    insert into ods.feed (id, note, changed_at)
    select i, 'a note of forty characters, for the size', timestamp '2024-06-03 10:00' - i * interval '1 second'
    from generate_series(1, 440000) as g(i)"""
ADVICE = "without an index"


@pytest.fixture
def large_project(project: Project) -> Project:
    if project.warehouse.engine != "postgres":
        pytest.skip("DuckDB keeps the least and greatest value of each block and needs no index")
    project.warehouse.execute(MANY_ROWS)
    project.run(now=NOON)
    return project


def advice_of_next_run(project: Project) -> str | None:
    """What the next run says and writes down, which is the same."""
    run = project.run(now=NOON)
    message = project.last_window()["message"]
    assert (ADVICE in run.text) == (ADVICE in (message or ""))
    return message


def test_a_run_says_once_which_indexes_are_missing(large_project: Project) -> None:
    project = large_project
    # neither is of use to a window
    project.warehouse.execute("create index on sync.sink (changed_at) where id < 9")
    project.warehouse.execute("create index on ods.feed using hash (changed_at)")
    said = advice_of_next_run(project)

    assert said is not None
    assert said.startswith(
        "without an index each run reads all of the source and all of the target; run: create index on "
    )
    declared = """indexes=[{'columns': ['"changed_at"']}, {'columns': ['"id"'], 'unique': true}]"""
    assert f"; and declare {declared} in the model" in said
    assert advice_of_next_run(project) is None

    # one of them is made: what is left is new advice
    statements = said.split("; run: ")[1].split("; and declare")[0].split("; ")
    assert len(statements) == 3
    project.warehouse.execute(statements[0])
    rest = advice_of_next_run(project)
    assert rest is not None
    assert rest.startswith("without an index each run reads all of the target; run: create index on ")
    for statement in statements[1:]:
        project.warehouse.execute(statement)
    assert advice_of_next_run(project) is None


def test_small_tables_and_other_kinds_of_runs_are_left_alone(large_project: Project) -> None:
    project = large_project
    backfill = {"two_clocks_backfill_from": "2024-06-01", "two_clocks_backfill_to": "2024-06-02"}
    assert ADVICE not in project.run(now=NOON, variables=backfill).text
    assert ADVICE not in project.run("--full-refresh", now=NOON).text

    project.warehouse.execute("delete from ods.feed where id > 1000")
    project.warehouse.execute("vacuum full ods.feed")
    project.run("--full-refresh", now=NOON, variables={"two_clocks_max_shrink": 1})
    assert advice_of_next_run(project) is None
