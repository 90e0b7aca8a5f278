"""A process that dies leaves the data and its ledger row, or neither; the next run makes up for it."""

from __future__ import annotations

import pytest
from support.crash import run_killed_before
from support.project import SINK, Project

NOON = "2024-06-03T12:00:00Z"
MORE_THAN_A_RUN_HAS = 100


@pytest.mark.parametrize("run", ["first build", "later run", "full refresh"])
def test_C50_a_run_killed_before_any_of_its_statements_leaves_data_and_ledger_row_or_neither(
    project: Project, run: str
) -> None:
    """Every statement of a run is a crash point, between the merge and the ledger row among them."""
    wait = getattr(project.warehouse, "wait_for_dbt_to_disconnect", lambda: None)
    arguments = ("--full-refresh",) if run == "full refresh" else ()
    project.feed((1, "first", "2024-06-03 08:00"))
    if run != "first build":
        project.run(now=NOON)
    project.feed((1, "second", "2024-06-03 09:00"), (2, "new", "2024-06-03 09:00"))
    old = project.rows() if run != "first build" else None
    old_windows = len(project.ledger())

    fates = []
    for statement in range(1, MORE_THAN_A_RUN_HAS):
        run_killed_before(project, statement, *arguments, now=NOON)
        wait()
        stored = project.rows() if project.warehouse.has_table("sync.sink") else None
        recorded = len(project.ledger()) > old_windows
        delivered = stored == [(1, "second"), (2, "new")]
        assert delivered or stored == old, f"killed before statement {statement}: {stored}"
        assert delivered == recorded, f"killed before statement {statement}: delivered {delivered}, recorded {recorded}"
        fates.append(delivered)
        if delivered:
            break
    assert not fates[0] and fates[-1], fates
    assert len(fates) > 5

    project.run(now=NOON)
    assert project.rows() == [(1, "second"), (2, "new")]


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_C50_a_ledger_that_refuses_the_row_takes_the_data_back_with_it(project: Project, run: str) -> None:
    project.feed((1, "first", "2024-06-03 08:00"))
    if run == "later run":
        project.run(now=NOON)
    else:
        # a ledger is made, and the target is not there
        project.run(now=NOON)
        project.warehouse.execute("drop table sync.sink")
    project.feed((2, "new", "2024-06-03 09:00"))
    project.warehouse.execute("alter table sync.two_clocks_window_ledger rename column rows_late to something_else")
    project.refused(now=NOON)
    assert not project.warehouse.has_table("sync.sink") if run == "first build" else project.ids() == [1]

    project.warehouse.execute("alter table sync.two_clocks_window_ledger rename column something_else to rows_late")
    project.run(now=NOON)
    assert project.ids() == [1, 2]


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_a_post_hook_that_fails_after_the_ledger_row_takes_both_back(project: Project, run: str) -> None:
    project.feed((1, "first", "2024-06-03 08:00"))
    if run == "later run":
        project.run(now=NOON)
    project.feed((2, "new", "2024-06-03 09:00"))
    failing = SINK.replace(
        "unique_key='id'", "unique_key='id', post_hook='select 1 / (select count(*) from ods.no_such_table)'"
    )
    project.model("sink", failing)
    project.refused(now=NOON)

    assert not project.warehouse.has_table("sync.sink") if run == "first build" else project.ids() == [1]
    assert [window["status"] for window in project.ledger()][-1] == "failed"
    assert [window["status"] for window in project.ledger()].count("succeeded") == (1 if run == "later run" else 0)
    project.model("sink", SINK)
    project.run(now=NOON)
    assert project.ids() == [1, 2]
