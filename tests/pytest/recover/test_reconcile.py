"""two-clocks reconcile: what is lost is named, what is not is not, and why."""

from __future__ import annotations

import pytest
from support.project import SINK, Project

from .recover_support import days, refused, two_clocks


def delivered(project: Project, lookback: str = "1 day") -> Project:
    """Nine days, delivered."""
    project.configure(vars={"two_clocks_lookback": lookback})
    project.feed(*days(*range(1, 10)))
    project.run(now="2024-06-10T00:00:00Z")
    return project


@pytest.mark.any_engine
def test_equal_is_status_0_and_says_how_much_was_compared(project: Project) -> None:
    delivered(project)
    answer = two_clocks(project, "reconcile")
    assert answer.status == 0
    assert answer.document["equal"] is True
    assert answer.comparison["rows_compared"] == {"source": 9, "target": 9}
    assert "sink: equal" in answer.said


def test_C11_C13_C64_lost_rows_are_named_with_the_reason_that_the_ledger_knows(project: Project) -> None:
    delivered(project)
    project.feed(*days(5, plus=100))  # four days late, the look-back is one
    project.feed(*days(9, plus=200))  # late too, but the next run will see it
    project.warehouse.execute(
        "update ods.feed set note = 'edited', changed_at = timestamp '2024-06-03 08:00:00' where id = 2"
    )
    project.warehouse.execute("delete from ods.feed where id = 7")

    before = project.everything()
    answer = two_clocks(project, "reconcile", "--select", "sink")
    assert project.everything() == before
    assert answer.status == 1
    assert answer.named == [("missing", 105), ("missing", 209), ("orphaned", 7), ("stale", 2)]
    reasons = {int(one["key"]["id"]): one["reason"] for one in answer.comparison["keys"]}
    assert reasons == {
        105: "late beyond the look-back",
        2: "late beyond the look-back",
        209: "within the look-back: the next run reads it",
        7: "gone from the source",
    }
    assert answer.comparison["counts"] == {"missing": 2, "stale": 1, "differs": 0, "orphaned": 1}
    assert answer.comparison["earliest"].startswith("2024-06-03 08:00:00")
    assert answer.comparison["latest"].startswith("2024-06-09 06:00:00")
    first = answer.comparison["windows"][0]
    assert (first["reason"], first["keys"]) == ("late beyond the look-back", 2)


@pytest.mark.any_engine
def test_a_model_that_was_never_built_does_not_keep_the_others_from_being_compared(project: Project) -> None:
    delivered(project)
    project.model("not_built_yet", SINK)
    answer = two_clocks(project, "reconcile")
    assert answer.status == 0
    assert answer.comparison["rows_compared"] == {"source": 9, "target": 9}
    assert "Not compared: not_built_yet. The table of model not_built_yet" in answer.said


@pytest.mark.any_engine
def test_a_model_that_cannot_be_compared_keeps_the_verdict_from_being_fine(project: Project) -> None:
    delivered(project)
    project.source("gone", {"id": "integer", "note": "varchar(50)", "changed_at": "timestamp"})
    project.model("of_a_lost_source", SINK.replace("'feed'", "'gone'"))
    project.run(now="2024-06-10T00:00:00Z")
    project.warehouse.execute("drop table ods.gone")
    answer = two_clocks(project, "reconcile")
    assert answer.status == 2
    assert "Not compared: of_a_lost_source." in answer.said
    assert "sink: equal" in answer.said


@pytest.mark.any_engine
def test_rows_that_no_window_ever_held_are_told_apart(project: Project) -> None:
    delivered(project)
    # the ledger of an older time is gone, and only the window of a later run is left
    project.warehouse.execute(
        "update sync.two_clocks_window_ledger set window_from = timestamp '2024-06-08 06:00:00', window_from_value = '2024-06-08 06:00:00'"
    )
    project.feed(*days(5, plus=100))
    answer = two_clocks(project, "reconcile")
    assert [(one["key"]["id"], one["reason"]) for one in answer.comparison["keys"]] == [("105", "in no window")]


def test_null_and_future_watermarks_are_counted_and_no_loss(project: Project) -> None:
    delivered(project)
    project.feed((300, "unmarked", None), (301, "from 2031", "2031-01-01 00:00:00"))
    answer = two_clocks(project, "reconcile")
    assert answer.status == 0
    assert answer.comparison["not_compared"] == {
        "later_than_compared": 0,
        "null_watermark": 1,
        "future": 1,
        "null_key": 0,
        "in_quarantine": 0,
    }
    assert "1 row of the source with a NULL watermark" in answer.said


@pytest.mark.any_engine
def test_rows_that_the_model_leaves_out_are_not_lost(project: Project) -> None:
    project.model("sink", SINK + "where note <> 'test'\n")
    delivered(project)
    project.feed((400, "test", "2024-06-02 00:00:00"))
    assert two_clocks(project, "reconcile").status == 0


def test_a_settling_time_leaves_out_what_may_still_be_on_its_way(project: Project) -> None:
    delivered(project)
    project.feed(*days(8, plus=100))
    assert two_clocks(project, "reconcile").named == [("missing", 108)]
    assert two_clocks(project, "reconcile", "--settle", "2 days").status == 0


def test_streams_are_compared_each_up_to_its_own_watermark(empty_project: Project) -> None:
    project = empty_project
    for name in ("fast", "slow"):
        project.source(name)
    project.model(
        "sink",
        """
        {{ config(unique_key=['origin', 'id']) }}
        select 'fast' as origin, id, note, changed_at
        from {{ two_clocks.windowed(source('ods', 'fast'), 'changed_at', stream='fast', target_filter="origin = 'fast'") }} as fast
        union all
        select 'slow' as origin, id, note, changed_at
        from {{ two_clocks.windowed(source('ods', 'slow'), 'changed_at', stream='slow', target_filter="origin = 'slow'") }} as slow
        """,
    )
    project.feed(*days(1, 9), table="fast")
    project.feed(*days(1, 3), table="slow")
    project.run(now="2024-06-10T00:00:00Z")
    project.feed(*days(5), table="slow")  # on its way: the slow stream has only come to the third
    project.feed(*days(2), table="slow")
    answer = two_clocks(project, "reconcile")
    assert [one["stream"] for one in answer.document["comparisons"]] == ["fast", "slow"]
    slow = answer.document["comparisons"][1]
    assert [tuple(one["key"].values()) for one in slow["keys"]] == [("slow", "2")]
    assert answer.document["comparisons"][0]["keys"] == []


def test_two_relations_that_never_heard_of_this_package(empty_project: Project) -> None:
    project = empty_project
    for statement in (
        "create schema crm",
        'create table crm.contacts (id integer, "updatedAt" timestamp, name varchar(20))',
        'create table crm."Copy" (contact_id bigint, seen_at timestamp, name varchar(20))',
        "insert into crm.contacts values (1, timestamp '2024-06-01', 'a'), (2, timestamp '2024-06-02', 'b'), (3, timestamp '2024-06-03', 'c'), (5, timestamp '2024-06-02', 'e')",
        "insert into crm.\"Copy\" values (2, timestamp '2024-06-01', 'b'), (3, timestamp '2024-06-03', 'c'), (4, timestamp '2024-06-02', 'd'), (5, timestamp '2024-06-02', 'old')",
    ):
        project.warehouse.execute(statement)
    pair = [
        "--source",
        "crm.contacts",
        "--target-relation",
        'crm."Copy"',
        "--unique-key",
        "contact_id",
        "--watermark",
        "updatedAt",
    ]
    pair += ["--target-watermark", "seen_at", "--map", "contact_id=id"]
    answer = two_clocks(project, "reconcile", *pair)
    assert answer.status == 1
    assert answer.named == [("missing", 1), ("orphaned", 4), ("stale", 2)]
    assert two_clocks(project, "reconcile", *pair, "--column", "name").named == [
        ("differs", 5),
        ("missing", 1),
        ("orphaned", 4),
        ("stale", 2),
    ]


def test_a_model_without_a_window_is_compared_by_its_own_sql(project: Project) -> None:
    project.model(
        "by_hand",
        """
        {{ config(materialized='incremental', unique_key='id', incremental_strategy='delete+insert', post_hook=[]) }}
        select id, note, changed_at from {{ source('ods', 'feed') }}
        {% if is_incremental() %} where changed_at > (select max(changed_at) from {{ this }}) {% endif %}
        """,
        folder="others",
    )
    project.feed(*days(1, 2, 4))
    project.run("--select", "by_hand")
    project.feed(*days(3))
    project.run("--select", "by_hand")
    answer = two_clocks(project, "reconcile", "--select", "by_hand", "--watermark", "changed_at")
    assert answer.named == [("missing", 3)]
    assert "name it with --watermark" in refused(project, "reconcile", "--select", "by_hand")


@pytest.mark.any_engine
def test_what_cannot_be_compared_is_one_sentence(project: Project) -> None:
    project.model("never_run", SINK)
    project.model("a_view", "{{ config(materialized='view', post_hook=[]) }} select 1 as id", folder="others")
    delivered_rows = days(1)
    project.feed(*delivered_rows)
    project.run("--select", "sink")
    assert "No model of the project is selected by nothing_like_it" in refused(
        project, "reconcile", "--select", "nothing_like_it"
    )
    assert "never_run" in refused(project, "reconcile", "--select", "never_run")
    assert "keeps no rows of its own" in refused(project, "reconcile", "--select", "a_view")
    pair = ["--target-relation", "sync.sink", "--unique-key", "id", "--watermark", "changed_at"]
    assert "needs --source too" in refused(project, "reconcile", *pair)
    assert "no table or view 'ods.nowhere'" in refused(project, "reconcile", "--source", "ods.nowhere", *pair)
    assert "--watermark names 'changed', which is no column" in refused(
        project,
        "reconcile",
        "--source",
        "ods.feed",
        "--target-relation",
        "sync.sink",
        "--unique-key",
        "id",
        "--watermark",
        "changed",
    )
    assert "--settle is 'soon'" in refused(project, "reconcile", "--select", "sink", "--settle", "soon")
    assert "write TARGET=SOURCE" in refused(project, "reconcile", "--select", "sink", "--map", "id")


def test_no_right_to_read_the_source_is_one_sentence(project: Project) -> None:
    if project.warehouse.engine != "postgres":
        return  # DuckDB has no rights
    delivered(project)
    for statement in (
        "drop role if exists poor",
        "create role poor login",
        "grant usage on schema sync, ods to poor",
        "grant select on all tables in schema sync to poor",
    ):
        project.warehouse.execute(statement)
    project.warehouse.profile["user"] = "poor"
    project.save_profile()
    try:
        assert "permission denied for table feed" in refused(project, "reconcile")
    finally:
        project.warehouse.execute("drop owned by poor; drop role poor")
