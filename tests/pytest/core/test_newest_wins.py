"""The upsert: the newest version of each key, written once."""

from __future__ import annotations

from datetime import datetime

import pytest
from support.project import REPOSITORY, SINK, Project

from two_clocks.audit.run import audit_project

TEN, ELEVEN, TWELVE = (f"2024-06-03 {hour}:00" for hour in (10, 11, 12))
NOON = "2024-06-03T12:00:00Z"


def edit(project: Project, note: str | None, changed_at: str, key: int = 1) -> None:
    """The source changes a row in place."""
    place = project.warehouse.placeholder
    project.warehouse.execute(
        f"update ods.feed set note = {place}, changed_at = cast({place} as timestamp) where id = {place}",
        (note, changed_at, key),
    )


def configured(**settings: object) -> str:
    """The usual model with more settings."""
    text = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return SINK.replace("unique_key='id'", f"unique_key='id', {text}")


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_C31_the_newer_of_two_versions_in_one_window_is_kept(project: Project, run: str) -> None:
    if run == "later run":
        project.feed((9, "other", TEN))
        project.run(now=NOON)
    project.feed((1, "older", TEN), (1, "newer", ELEVEN), (2, "newer", ELEVEN), (2, "older", TEN))
    project.run(now=NOON)

    assert [row for row in project.rows() if row[0] != 9] == [(1, "newer"), (2, "newer")]
    read_again = {"unchanged": 1} if run == "later run" else {}
    assert project.counts() == {"extracted": 4 + len(read_again), "inserted": 2, "superseded": 2, **read_again}


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_C31_ties_are_broken_the_same_way_every_time(empty_project: Project, run: str) -> None:
    project = empty_project
    tied = [(1, "alpha", TEN), (1, "beta", TEN), (1, None, TEN), (1, "gamma", TEN)]
    orders = [tied, tied[::-1], tied[2:] + tied[:2]]
    winners = []
    for number in range(3):
        table = f"feed_{number}"
        project.source(table, {"id": "integer", "note": "varchar(50)", "changed_at": "timestamp"})
        project.model(f"sink_{number}", SINK.replace("'feed'", f"'{table}'"))
        if run == "later run":
            project.feed((9, "other", TEN), table=table)
    if run == "later run":
        project.run(now=NOON)
    for number, rows in enumerate(orders):
        project.feed(*rows, table=f"feed_{number}")
    project.run(now=NOON)
    project.run(now=NOON)
    for number in range(3):
        winners.append([note for key, note in project.rows(model=f"sink_{number}") if key == 1])
        assert project.last_window(f"sink_{number}")["rows_updated"] == 0
    assert len(winners[0]) == 1
    assert winners[0] == winners[1] == winners[2]


def test_a_row_with_an_equal_watermark_replaces_the_stored_one_if_it_differs(project: Project) -> None:
    project.feed((1, "first", TEN))
    project.run(now=NOON)
    edit(project, "second", TEN)
    project.run(now=NOON)

    assert project.rows() == [(1, "second")]
    assert project.counts() == {"extracted": 1, "updated": 1}


@pytest.mark.parametrize(("before", "after"), [("text", None), (None, "text"), ("text", "Text"), ("text", "text ")])
def test_a_difference_from_or_to_null_is_a_difference(project: Project, before: str | None, after: str | None) -> None:
    project.feed((1, before, TEN))
    project.run(now=NOON)
    edit(project, after, TEN)
    project.run(now=NOON)

    assert project.rows() == [(1, after)]
    assert project.last_window()["rows_updated"] == 1


def test_a_row_that_differs_in_its_watermark_only_is_written(project: Project) -> None:
    project.feed((1, "same", TEN))
    project.run(now=NOON)
    edit(project, "same", ELEVEN)
    project.run(now=NOON)

    assert project.rows("id, changed_at") == [(1, datetime(2024, 6, 3, 11))]
    assert project.last_window()["rows_updated"] == 1


def test_an_identical_row_is_not_written_again(project: Project) -> None:
    project.feed(*[(n, "same", TEN) for n in range(1, 50)], (50, None, TEN))
    project.run(now=NOON)
    project.warehouse.watch_writes("sync.sink", "note")
    before = project.warehouse.row_versions("sync.sink")
    project.run(now=NOON)

    assert project.warehouse.row_versions("sync.sink") == before
    assert project.counts() == {"extracted": 50, "unchanged": 50}


def test_fifty_runs_of_one_window_leave_one_version_of_each_row_and_write_no_row_again(project: Project) -> None:
    project.feed(*[(n, f"row {n}", f"2024-06-03 {n % 10:02}:00") for n in range(1, 101)], (1, "newest", ELEVEN))
    project.run(now=NOON)
    expected = project.rows("id, note, changed_at")
    project.warehouse.watch_writes("sync.sink", "note")
    before = project.warehouse.row_versions("sync.sink")
    for _ in range(50):
        project.run(now=NOON)

    assert project.rows("id, note, changed_at") == expected
    assert len(expected) == 100
    assert project.warehouse.row_versions("sync.sink") == before
    windows = project.ledger()[1:]
    assert len(windows) == 50
    assert {(window["rows_inserted"], window["rows_updated"]) for window in windows} == {(0, 0)}


def test_counts_tell_every_fate_of_a_row_apart(project: Project) -> None:
    project.feed((1, "same", TEN), (2, "edited", TEN), (3, "stale", ELEVEN))
    project.run(now=NOON)
    edit(project, "edit", ELEVEN, key=2)
    edit(project, "old version", TEN, key=3)
    project.feed((4, "new", TWELVE), (5, "superseded", TEN), (5, "new too", ELEVEN))
    project.run(now=NOON)

    assert project.counts() == {
        "extracted": 6,
        "inserted": 2,
        "updated": 1,
        "unchanged": 1,
        "stale": 1,
        "superseded": 1,
    }
    assert project.rows() == [(1, "same"), (2, "edit"), (3, "stale"), (4, "new"), (5, "new too")]


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_a_null_key_stops_the_run_with_the_number_of_rows(project: Project, run: str) -> None:
    if run == "later run":
        project.feed((9, "other", TEN))
        project.run(now=NOON)
    project.feed((1, "a", TEN), *[(None, f"no key {n}", ELEVEN) for n in range(7)])
    before = project.ids() if run == "later run" else None
    message = project.refused(now=NOON)

    assert "7" in message and "NULL" in message.upper() and "id" in message
    if run == "later run":
        assert project.ids() == before
    else:
        assert not project.warehouse.has_table("sync.sink")
    window = project.last_window()
    assert window["status"] == "failed"
    assert "7" in window["message"] and "in macro" not in window["message"]


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_C30_a_null_in_a_key_of_two_columns_is_never_stored(project: Project, run: str) -> None:
    project.source("parts", {"a": "integer", "b": "integer", "note": "varchar(50)", "changed_at": "timestamp"})
    columns = ("a", "b", "note", "changed_at")
    project.model(
        "sink",
        """
        {{ config(unique_key=['a', 'b']) }}
        select a, b, note, changed_at from {{ two_clocks.windowed(source('ods', 'parts'), 'changed_at') }} as parts
        """,
    )
    if run == "later run":
        project.feed((1, 1, "whole", TEN), (1, 2, "whole", TEN), table="parts", columns=columns)
        project.run(now=NOON)
        assert project.rows("a, b") == [(1, 1), (1, 2)]
    project.feed((3, None, "half a key", TEN), (None, 3, "half a key", TEN), table="parts", columns=columns)
    message = project.refused(now=NOON)
    assert "2" in message and "b" in message
    if run == "later run":
        assert project.rows("a, b") == [(1, 1), (1, 2)]

    project.warehouse.execute("delete from ods.parts where a is null or b is null")
    project.feed((1, 2, "edited", ELEVEN), (2, 1, "new", ELEVEN), table="parts", columns=columns)
    project.run(now=NOON)
    wholes = [(1, 1, "whole")] if run == "later run" else []
    assert project.rows("a, b, note") == [*wholes, (1, 2, "edited"), (2, 1, "new")]


@pytest.mark.parametrize("key", ['"gradeId"', "gradeId"])
def test_C33_quoted_and_mixed_case_names_work(project: Project, key: str) -> None:
    columns = {'"gradeId"': "integer", '"order"': "varchar(50)", '"updatedAt"': "timestamp"}
    project.source("Grade Changes", columns, schema="LmsOds")
    project.model(
        "sink",
        f"""
        {{{{ config(unique_key='{key}') }}}}
        select "gradeId", "order", "updatedAt"
        from {{{{ two_clocks.windowed(source('LmsOds', 'Grade Changes'), '"updatedAt"') }}}} as changes
        """,
    )

    def show(*rows: tuple[object, ...]) -> None:
        project.warehouse.insert('"LmsOds"."Grade Changes"', [dict(zip(columns, row, strict=True)) for row in rows])

    show((1, "first", TEN), (2, "second", TEN))
    project.run(now=NOON, lookback=0)
    show((1, "edited", ELEVEN), (3, "third", ELEVEN))
    project.run(now=NOON, lookback="1 day")

    assert project.rows('"gradeId", "order"') == [(1, "edited"), (2, "second"), (3, "third")]
    assert project.counts() == {"extracted": 4, "inserted": 1, "updated": 1, "unchanged": 1, "superseded": 1}


def test_C33_a_column_named_order_may_be_the_key(project: Project) -> None:
    columns = {'"order"': "integer", "note": "varchar(50)", "changed_at": "timestamp"}
    project.source("orders", columns)
    project.model(
        "sink",
        """
        {{ config(unique_key='"order"') }}
        select "order", note, changed_at from {{ two_clocks.windowed(source('ods', 'orders'), 'changed_at') }} as orders
        """,
    )
    project.feed((1, "a", TEN), table="orders", columns=tuple(columns))
    project.run(now=NOON)
    project.feed((1, "b", ELEVEN), table="orders", columns=tuple(columns))
    project.run(now=NOON)

    assert project.rows('"order", note') == [(1, "b")]


def test_C33_a_target_schema_with_capitals_works(project: Project) -> None:
    project.warehouse.profile["schema"] = "SyncArea"
    project.save_profile()
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.feed((1, "b", ELEVEN))
    project.run(now=NOON)

    assert project.rows(schema='"SyncArea"') == [(1, "b")]
    assert len(project.warehouse.query('select * from "SyncArea".two_clocks_window_ledger')) == 2


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_a_model_without_a_unique_key_is_refused(project: Project, run: str) -> None:
    if run == "later run":
        project.feed((1, "a", TEN))
        project.run(now=NOON)
    project.model("sink", SINK.replace("{{ config(unique_key='id') }}", ""))
    before = project.everything()
    message = project.refused(now=NOON)

    assert "unique_key" in message and "sink" in message
    assert project.everything() == before


def test_merge_update_columns_names_the_only_columns_that_an_update_writes(project: Project) -> None:
    project.source("wide", {"id": "integer", "note": "varchar(50)", "grade": "integer", "changed_at": "timestamp"})
    columns = ("id", "note", "grade", "changed_at")
    project.model(
        "sink",
        """
        {{ config(unique_key='id', merge_update_columns=['grade', 'changed_at']) }}
        select id, note, grade, changed_at from {{ two_clocks.windowed(source('ods', 'wide'), 'changed_at') }} as wide
        """,
    )
    project.feed((1, "kept", 1, TEN), table="wide", columns=columns)
    project.run(now=NOON)
    project.feed((1, "not taken", 2, ELEVEN), (2, "inserted whole", 3, ELEVEN), table="wide", columns=columns)
    project.run(now=NOON)

    assert project.rows("id, note, grade") == [(1, "kept", 2), (2, "inserted whole", 3)]


def test_merge_exclude_columns_names_the_columns_that_no_update_writes(project: Project) -> None:
    project.model("sink", configured(merge_exclude_columns=["note"]))
    project.feed((1, "kept", TEN))
    project.run(now=NOON)
    edit(project, "not taken", ELEVEN)
    project.feed((2, "inserted whole", ELEVEN))
    project.run(now=NOON)

    assert project.rows("id, note, changed_at") == [
        (1, "kept", datetime(2024, 6, 3, 11)),
        (2, "inserted whole", datetime(2024, 6, 3, 11)),
    ]


def test_a_row_that_differs_only_in_columns_which_no_update_writes_counts_as_unchanged(project: Project) -> None:
    project.model("sink", configured(merge_exclude_columns=["note"]))
    project.feed((1, "kept", TEN))
    project.run(now=NOON)
    edit(project, "not taken", TEN)
    project.run(now=NOON)

    assert project.counts() == {"extracted": 1, "unchanged": 1}


def test_incremental_predicates_narrow_the_match(project: Project) -> None:
    project.model(
        "sink", configured(incremental_predicates=["DBT_INTERNAL_DEST.changed_at >= timestamp '2024-06-03 00:00:00'"])
    )
    project.feed((1, "a", TEN), (2, "b", TEN))
    project.run(now=NOON)
    edit(project, "edited", ELEVEN)
    project.run(now=NOON)

    assert project.rows() == [(1, "edited"), (2, "b")]


def test_C34_a_predicate_bounded_by_the_wall_clock_misses_an_older_match_and_the_audit_says_so(
    project: Project,
) -> None:
    """dbt's own meaning of the setting is kept, so what it does is documented, flagged, and found by a test of the key."""
    project.model(
        "sink",
        configured(incremental_predicates=["DBT_INTERNAL_DEST.changed_at > current_timestamp - interval '7 days'"]),
    )
    project.feed((1, "stored long ago", TEN))
    project.run(now=NOON)
    edit(project, "edited", ELEVEN)
    project.run(now=NOON)
    assert sorted(note for _, note in project.rows()) == ["edited", "stored long ago"]

    (report,) = [one for one in audit_project(project.directory, workers=1).reports if one.name == "sink"]
    (finding,) = [one for one in report.findings if one.rule == "TC06"]
    assert report.verdict != "safe" and "wall clock" in finding.message
    documented = (REPOSITORY / "docs/audit.md").read_text().split("### TC06")[1].split("###")[0]
    assert "does not find the stored row and inserts the new version beside it" in " ".join(documented.split())
    project.model("sink", SINK)
    edit(project, "edited again", TWELVE)
    assert "more than one row" in project.refused(now=NOON)


@pytest.mark.parametrize("alias", ["", "as newest"])
def test_the_same_rules_come_at_select_level_for_dbts_own_merge(project: Project, alias: str) -> None:
    project.model(
        "sink",
        f"""
        {{{{ config(unique_key='id', incremental_strategy='merge') }}}}
        with changes as (
            select id, note, changed_at
            from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }}}} as feed
        )
        select * from {{{{ two_clocks.newest_wins('changes') }}}} {alias}
        """,
    )
    project.feed((1, "older", TEN), (1, "newest", ELEVEN), (2, "same", TEN), (3, "stays", TWELVE))
    project.run(now="2024-06-03T13:00:00Z")
    assert project.rows() == [(1, "newest"), (2, "same"), (3, "stays")]

    project.warehouse.watch_writes("sync.sink", "note")
    before = project.warehouse.row_versions("sync.sink")
    edit(project, "stale", ELEVEN, key=3)
    project.run(now="2024-06-03T13:00:00Z")
    assert project.warehouse.row_versions("sync.sink") == before

    project.feed((4, "new", TWELVE))
    edit(project, "edited", TWELVE, key=2)
    project.run(now="2024-06-03T13:00:00Z")
    assert project.rows() == [(1, "newest"), (2, "edited"), (3, "stays"), (4, "new")]


def test_a_column_whose_type_has_no_equality_is_compared_too(project: Project) -> None:
    project.source("documents", {"id": "integer", "note": "json", "changed_at": "timestamp"})
    project.model("sink", SINK.replace("'feed'", "'documents'"))
    project.feed((1, '{"a": 1}', TEN), (2, '{"a": 1}', TEN), (2, '{"a": 2}', TEN), table="documents")
    project.run(now=NOON)
    project.run(now=NOON)
    assert project.last_window()["rows_updated"] == 0
    project.warehouse.execute("update ods.documents set note = '{\"a\": 3}' where id = 1")
    project.run(now=NOON)

    assert project.last_window()["rows_updated"] == 1
    assert project.rows("id, cast(note as varchar) as note")[0] == (1, '{"a": 3}')


def test_a_target_that_holds_a_key_twice_is_refused(project: Project) -> None:
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.warehouse.execute("insert into sync.sink select * from sync.sink")
    edit(project, "edited", ELEVEN)
    message = project.refused(now=NOON)

    assert "more than one row" in message and "id" in message
    assert project.rows() == [(1, "a"), (1, "a")]


STAR = """
{{{{ config(unique_key='id', on_schema_change='{policy}') }}}}
select * from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }}}} as feed
"""
LONGER = ("id", "note", "changed_at", "grade")


@pytest.mark.parametrize("policy", ["ignore", "append_new_columns", "sync_all_columns", "fail"])
def test_C63_a_column_added_to_the_source_is_treated_as_dbt_documents(project: Project, policy: str) -> None:
    project.model("sink", STAR.format(policy=policy))
    project.feed((1, "before", TEN))
    project.run(now=NOON)
    project.warehouse.execute("alter table ods.feed add column grade integer")
    project.feed((2, "after", ELEVEN, 5), columns=LONGER)
    if policy == "fail":
        project.refused(now=NOON)
        assert project.ids() == [1]
        assert project.last_window()["status"] == "failed"
        project.model("sink", STAR.format(policy="ignore"))
    project.run(now=NOON)

    assert project.ids() == [1, 2]
    assert ("grade" in project.warehouse.columns("sync.sink")) == (policy in ("append_new_columns", "sync_all_columns"))
    if "grade" in project.warehouse.columns("sync.sink"):
        assert project.rows("id, grade") == [(1, None), (2, 5)]


@pytest.mark.parametrize("policy", ["ignore", "append_new_columns", "sync_all_columns", "fail"])
def test_C63_a_column_removed_from_the_source_is_treated_as_dbt_documents(project: Project, policy: str) -> None:
    project.warehouse.execute("alter table ods.feed add column grade integer")
    project.model("sink", STAR.format(policy=policy))
    project.feed((1, "before", TEN, 4), columns=LONGER)
    project.run(now=NOON)
    project.warehouse.execute("alter table ods.feed drop column grade")
    project.feed((2, "after", ELEVEN))
    if policy in ("ignore", "fail"):
        project.refused(now=NOON)
        assert project.rows("id, grade") == [(1, 4)]
        project.warehouse.execute("alter table ods.feed add column grade integer")
        project.warehouse.execute("update ods.feed set grade = id + 3")
    project.run(now=NOON)

    assert project.ids() == [1, 2]
    if policy == "sync_all_columns":
        assert "grade" not in project.warehouse.columns("sync.sink")
    elif policy == "append_new_columns":
        assert project.rows("id, grade") == [(1, 4), (2, None)]
    else:
        assert project.rows("id, grade") == [(1, 4), (2, 5)]


@pytest.mark.parametrize(
    ("stored_twice", "batch"),
    [
        ([("a", ELEVEN), ("b", TEN)], [("a", ELEVEN), ("older", TEN)]),
        ([("a", None), ("b", None)], [("a", None)]),
    ],
    ids=["the newest version is stored as it is, once", "no watermark"],
)
def test_a_key_that_is_stored_twice_is_seen_though_one_of_its_rows_is_the_same(
    project: Project, stored_twice: list[tuple[str, str | None]], batch: list[tuple[str, str | None]]
) -> None:
    project.model("sink", SINK.replace("'changed_at')", "'changed_at', nulls='include')"))
    project.feed((2, "other", ELEVEN))
    project.run(now=NOON)
    rows = [{"id": 1, "note": note, "changed_at": changed_at} for note, changed_at in stored_twice]
    project.warehouse.insert("sync.sink", rows)
    project.feed(*((1, note, changed_at) for note, changed_at in batch))
    before = project.rows()

    assert "more than one row for 1 of the keys" in project.refused(now=NOON)
    assert project.rows() == before


def test_a_key_may_be_called_as_the_package_calls_its_counts(empty_project: Project) -> None:
    empty_project.source("feed", {"versions": "integer", "note": "varchar(50)", "changed_at": "timestamp"})
    empty_project.model("sink", SINK.replace("unique_key='id'", "unique_key='versions'").replace("id,", "versions,"))
    for note, moment in (("a", TEN), ("b", ELEVEN)):
        empty_project.feed((1, note, moment), columns=("versions", "note", "changed_at"))
        empty_project.run(now=NOON)
    assert empty_project.rows("versions, note") == [(1, "b")]


@pytest.mark.any_engine
def test_a_column_with_a_name_that_the_merge_needs_is_refused(project: Project) -> None:
    project.model("sink", SINK.replace("id,", "id, 1 as two_clocks_stream,"))
    project.feed((1, "a", TEN))
    assert "'two_clocks_stream', a name that newest_wins needs" in project.refused(now=NOON)
    assert not project.warehouse.has_table("sync.sink")
