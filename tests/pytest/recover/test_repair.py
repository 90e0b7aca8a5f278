"""two-clocks repair: the lost rows come back, as few others as can be are read again, and nothing is deleted unasked."""

from __future__ import annotations

import pytest
from support.project import Project

from two_clocks.recovery.dbt import open_session
from two_clocks.recovery.reconciling import pairs_of_model, reconcile
from two_clocks.recovery.repairing import delete_orphans

from .recover_support import NOW, close_duckdb, days, refused, two_clocks


@pytest.fixture
def incident(project: Project) -> Project:
    """Nine days delivered; then two nights turn out to have lost rows, one row is stale, and one is gone from the source."""
    project.configure(vars={"two_clocks_lookback": "1 hour"})
    project.feed(*days(*range(1, 10)))
    project.run(now=NOW)
    project.feed(*days(2, 3, note="late", plus=100), *days(6, note="late", plus=100))
    project.warehouse.execute(
        "update ods.feed set note = 'edited', changed_at = timestamp '2024-06-03 08:00:00' where id = 1"
    )
    project.warehouse.execute("delete from ods.feed where id = 7")
    return project


def test_C11_C13_lost_and_stale_rows_come_back_and_a_second_look_proves_it(incident: Project) -> None:
    answer = two_clocks(incident, "repair", "--merge-rows", "2")
    assert answer.status == 0, answer.said
    repaired = answer.repaired
    assert repaired["before"] == {"missing": 3, "stale": 1, "differs": 0, "orphaned": 1}
    assert repaired["after"] == {"missing": 0, "stale": 0, "differs": 0, "orphaned": 1}
    assert [(window["from"], window["to"]) for window in repaired["windows"]] == [
        ("2024-06-02 06:00:00", "2024-06-03 08:00:00"),
        ("2024-06-06 06:00:00", "2024-06-06 06:00:00"),
    ]
    # the late rows of the 2nd, 3rd and 6th, the rows that were there beside them, and the edit
    assert (repaired["rows_lost"], repaired["rows_read"]) == (4, 7)
    assert (repaired["rows_inserted"], repaired["rows_updated"]) == (3, 1)
    assert {102, 103, 106} <= set(incident.ids())
    assert incident.rows("id, note")[0] == (1, "edited")
    assert two_clocks(incident, "repair").repaired["windows"] == []
    incident.run(now=NOW)
    assert incident.last_window()["kind"] == "incremental"


@pytest.mark.any_engine
def test_neighbours_are_read_in_one_window_where_that_costs_little(incident: Project) -> None:
    before = incident.everything()
    answer = two_clocks(incident, "repair", "--dry-run")
    assert incident.everything() == before
    assert answer.status == 1
    assert [(window["from"], window["to"]) for window in answer.repaired["windows"]] == [
        ("2024-06-02 06:00:00", "2024-06-06 06:00:00")
    ]


def test_C64_orphans_are_only_reported(incident: Project) -> None:
    answer = two_clocks(incident, "repair")
    assert "1 orphan is reported only" in answer.said
    assert 7 in incident.ids()
    assert "needs a yes, and there is no terminal" in refused(incident, "repair", "--delete-orphans")
    assert 7 in incident.ids()


def test_C64_orphans_are_deleted_when_asked_for_and_no_other_row_is(incident: Project) -> None:
    before = incident.ids()
    answer = two_clocks(incident, "repair", "--delete-orphans", "--yes")
    assert answer.repaired["orphans_deleted"] == 1
    assert answer.repaired["after"] == {"missing": 0, "stale": 0, "differs": 0, "orphaned": 0}
    assert [key for key in before if key not in incident.ids()] == [7]
    assert two_clocks(incident, "reconcile").status == 0


def test_by_key_exactly_the_lost_rows_are_written(incident: Project) -> None:
    incident.warehouse.execute("update sync.sink set note = 'changed by hand' where id = 4")
    answer = two_clocks(incident, "repair", "--by-key", "--yes")
    assert answer.status == 0, answer.said
    assert answer.repaired["way"] == "by key"
    assert incident.rows("id, note")[0] == (1, "edited")
    assert (4, "changed by hand") in incident.rows("id, note")
    assert {102, 103, 106} <= set(incident.ids())


def test_a_model_without_a_window_is_repaired_by_key_after_a_yes(project: Project) -> None:
    project.model(
        "by_hand",
        """
        {{ config(materialized='incremental', unique_key='id', incremental_strategy='delete+insert', post_hook=[]) }}
        select id, upper(note) as loud, changed_at from {{ source('ods', 'feed') }}
        {% if is_incremental() %} where changed_at > (select max(changed_at) from {{ this }}) {% endif %}
        """,
        folder="others",
    )
    project.feed(*days(1, 2, 4))
    project.run("--select", "by_hand")
    project.feed(*days(3))
    project.warehouse.execute(
        "update ods.feed set note = 'edited', changed_at = timestamp '2024-06-03 09:00:00' where id = 1"
    )
    asked = ["--select", "by_hand", "--watermark", "changed_at"]
    assert "To upsert 2 rows by key needs a yes" in refused(project, "repair", *asked)
    answer = two_clocks(project, "repair", *asked, "--yes")
    assert answer.status == 0, answer.said
    assert project.rows("id, loud", model="by_hand") == [(1, "EDITED"), (2, "FIRST"), (3, "FIRST"), (4, "FIRST")]
    assert two_clocks(project, "reconcile", *asked).status == 0


def test_two_relations_with_other_names_and_a_key_of_two_columns(empty_project: Project) -> None:
    project = empty_project
    for statement in (
        "create schema crm",
        'create table crm.contacts (id integer, region varchar(5), "updatedAt" timestamp, name varchar(20))',
        'create table crm.copy (contact_id bigint, region varchar, seen_at timestamp, "Name" varchar(20))',
        "insert into crm.contacts values (1, 'eu', timestamp '2024-06-01', 'a'), (1, 'us', timestamp '2024-06-02', 'b'), (1, 'us', timestamp '2024-05-02', 'a version before'), (1, 'us', null, 'unmarked'), (2, 'eu', timestamp '2024-06-03', 'c')",
        "insert into crm.copy values (1, 'us', timestamp '2024-06-01', 'old'), (2, 'eu', timestamp '2024-06-03', 'c'), (3, 'o''neil', timestamp '2024-06-01', 'x'), (4, 'eu', timestamp '2024-06-01', 'y')",
    ):
        project.warehouse.execute(statement)
    pair = [
        "--source",
        "crm.contacts",
        "--target-relation",
        "crm.copy",
        "--unique-key",
        "contact_id",
        "--unique-key",
        "region",
    ]
    pair += [
        "--watermark",
        "updatedAt",
        "--target-watermark",
        "seen_at",
        "--map",
        "contact_id=id",
        "--map",
        "seen_at=updatedAt",
    ]
    answer = two_clocks(project, "repair", *pair, "--delete-orphans", "--yes")
    assert answer.status == 0, answer.said
    rows = project.warehouse.query('select contact_id, region, "Name" as name from crm.copy order by 1, 2')
    assert [tuple(row.values()) for row in rows] == [(1, "eu", "a"), (1, "us", "b"), (2, "eu", "c")]


def test_columns_that_the_source_does_not_have_are_one_sentence(project: Project) -> None:
    project.warehouse.execute("create schema if not exists sync")
    project.warehouse.execute(
        "create table sync.copy as select id, changed_at, 1 as made_here from ods.feed where 1 = 0"
    )
    project.feed(*days(1))
    pair = ["--source", "ods.feed", "--target-relation", "sync.copy", "--unique-key", "id", "--watermark", "changed_at"]
    assert "made_here" in refused(project, "repair", *pair, "--yes")


@pytest.mark.any_engine
def test_a_sink_with_repeated_keys_is_not_repaired(incident: Project) -> None:
    incident.warehouse.execute("insert into sync.sink select * from sync.sink where id = 4")
    assert "1 key stands in more than one row" in refused(incident, "repair")


def test_C64_an_orphan_that_came_back_after_it_was_shown_stays(incident: Project) -> None:
    session = open_session(incident.directory, incident.directory, None, {"two_clocks_now": NOW})
    found = reconcile(session, pairs_of_model(session, "model.consumer.sink", {})[0])
    assert [difference.key for difference in found.of("orphaned")] == [("7",)]
    close_duckdb()
    incident.feed(*days(7))
    delete_orphans(session, found)
    close_duckdb()
    assert 7 in incident.ids()


@pytest.mark.any_engine
def test_an_emptied_target_is_a_job_for_a_normal_run(incident: Project) -> None:
    incident.warehouse.execute("delete from sync.sink")
    assert "run the model normally" in refused(incident, "repair", "--select", "sink", "--dry-run")
    incident.run(now=NOW)
    assert two_clocks(incident, "repair", "--select", "sink").status == 0
