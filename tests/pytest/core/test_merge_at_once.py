"""What the merge on PostgreSQL 17 and later leans on: indexes that are really unique, a catalog that is asked once, a plan it asks for."""

from __future__ import annotations

import threading

import psycopg2
import pytest
from support.project import FEED, SINK, Project

NOON = "2024-06-03T12:00:00Z"
NINE, TEN, ELEVEN = "2024-06-03 09:00", "2024-06-03 10:00", "2024-06-03 11:00"


@pytest.fixture(autouse=True)
def on_postgres(project: Project) -> None:
    if project.warehouse.engine != "postgres":
        pytest.skip("about what PostgreSQL alone does")


@pytest.mark.parametrize(
    "index",
    [
        "create index on sync.sink (id)",
        "create unique index on sync.sink (id) where id > 5",
        "create unique index on sync.sink (id, note)",
        "create unique index on sync.sink ((id + length(note)))",
        "create unique index on sync.sink (note) include (id)",
    ],
    ids=["none is unique", "of some rows", "of more columns", "of an expression", "another column's"],
)
def test_only_a_unique_index_of_the_key_is_taken_for_proof_that_no_key_is_stored_twice(
    project: Project, index: str
) -> None:
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.warehouse.insert("sync.sink", [{"id": 1, "note": "another", "changed_at": TEN}])
    project.warehouse.execute(index)
    project.warehouse.execute(f"update ods.feed set note = 'newer', changed_at = timestamp '{ELEVEN}'")

    assert "more than one row for 1 of the keys" in project.refused(now=NOON)
    assert project.rows() == [(1, "a"), (1, "another")]


@pytest.mark.parametrize("index", ["(id)", "(note) include (changed_at)", "(note, id)"])
def test_where_a_unique_index_sees_to_it_nobody_looks_for_keys_that_are_stored_twice(
    project: Project, index: str
) -> None:
    if project.warehouse.server.version() < 17:
        pytest.skip("there each row is looked up by its key anyway")
    project.model("sink", SINK.replace("unique_key='id'", "unique_key=['id', 'note']"))
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.feed((2, "b", ELEVEN))
    looks, unless_alike = "as repeats", "case when pg_typeof"
    said = [sql for sql in project.run(now=NOON).statements if looks in sql]
    assert said and not any(unless_alike in sql for sql in said)

    project.warehouse.execute(f"create unique index on sync.sink {index}")
    project.feed((3, "c", ELEVEN))
    said = [sql for sql in project.run(now=NOON).statements if looks in sql]
    assert said and all(unless_alike in sql for sql in said)
    assert project.ids() == [1, 2, 3]


def test_an_index_that_sorts_by_another_collation_than_its_column_proves_nothing(project: Project) -> None:
    project.model("sink", SINK.replace("unique_key='id'", "unique_key='note'"))
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.warehouse.execute('create unique index on sync.sink (note collate "C")')
    said = [sql for sql in project.run(now=NOON).statements if "as repeats" in sql]

    assert said and not any("case when pg_typeof" in sql for sql in said)


def test_a_unique_index_proves_nothing_of_a_batch_whose_key_is_of_another_type(project: Project) -> None:
    """As integers these two differ, as floating point numbers they are equal."""
    first, second = 2**53, 2**53 + 1
    project.warehouse.execute("drop table ods.feed")
    project.warehouse.execute("create table ods.feed (id double precision, note text, changed_at timestamp)")
    project.warehouse.execute("create schema if not exists sync")
    project.warehouse.execute("create table sync.sink (id bigint primary key, note text, changed_at timestamp)")
    project.warehouse.insert(
        "sync.sink", [{"id": key, "note": "stored", "changed_at": NINE} for key in (first, second)]
    )
    project.feed((first, "new", TEN))

    assert "more than one row for 1 of the keys" in project.refused(now=NOON)
    assert project.rows() == [(first, "stored"), (second, "stored")]


def test_a_merge_that_writes_more_rows_than_its_batch_holds_is_rolled_back(project: Project) -> None:
    """The index was there when the catalog was asked; a hook has dropped it since, and stored a key twice."""
    if project.warehouse.server.version() < 17:
        pytest.skip("there each row is looked up by its key anyway")
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.warehouse.execute("create unique index only_once on sync.sink (id)")
    hooks = ["drop index sync.only_once", f"insert into sync.sink values (1, 'again', timestamp '{TEN}')"]
    project.model("sink", SINK.replace("unique_key='id'", f"unique_key='id', pre_hook={hooks!r}"))
    project.warehouse.execute(f"update ods.feed set note = 'newer', changed_at = timestamp '{ELEVEN}'")

    assert "wrote more rows than the batch of sink holds" in project.refused(now=NOON)
    assert project.rows() == [(1, "a")]


@pytest.mark.parametrize("index", ["", "create unique index on sync.sink (id)"], ids=["no index", "a unique index"])
def test_predicates_may_speak_of_any_column_of_either_side(project: Project, index: str) -> None:
    predicate = "DBT_INTERNAL_DEST.changed_at <= DBT_INTERNAL_SOURCE.changed_at"
    project.model("sink", SINK.replace("unique_key='id'", f"unique_key='id', incremental_predicates=['{predicate}']"))
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    if index:
        project.warehouse.execute(index)
    project.feed((2, "older", NINE), (2, "b", TEN), (1, "newer", ELEVEN))
    project.run(now=NOON)
    assert project.rows() == [(1, "newer"), (2, "b")]
    assert project.counts() == {"extracted": 4, "inserted": 1, "updated": 1, "superseded": 2}

    if not index:
        project.warehouse.insert("sync.sink", [{"id": 2, "note": "again", "changed_at": TEN}])
        project.feed((2, "newest", ELEVEN))
        assert "more than one row for 1 of the keys" in project.refused(now=NOON)


def test_stale_rows_are_counted_where_nothing_is_written_and_where_something_is(project: Project) -> None:
    project.feed((1, "a", TEN), (2, "b", TEN))
    project.run(now=NOON)
    project.warehouse.execute(f"update sync.sink set note = 'by hand', changed_at = timestamp '{ELEVEN}' where id = 1")
    project.run(now=NOON)
    assert project.counts() == {"extracted": 2, "stale": 1, "unchanged": 1}

    project.feed((3, "c", TEN))
    project.run(now=NOON)
    assert project.counts() == {"extracted": 3, "inserted": 1, "stale": 1, "unchanged": 1}
    assert project.rows() == [(1, "by hand"), (2, "b"), (3, "c")]


def test_older_versions_are_counted_with_the_stream_that_brought_them(empty_project: Project) -> None:
    project = empty_project
    for origin in ("fast", "slow"):
        project.source(origin, FEED)
    select = "select '{0}' as origin, id, note, changed_at from {{{{ two_clocks.windowed(source('ods', '{0}'), 'changed_at', stream='{0}', target_filter=\"origin = '{0}' and id > 0\") }}}} as s"
    project.model(
        "sink",
        "{{ config(unique_key=['origin', 'id']) }}\n" + " union all ".join(map(select.format, ("fast", "slow"))),
    )
    project.feed((1, "a", NINE), table="fast")
    project.feed((1, "a", NINE), table="slow")
    project.run(now=NOON)
    project.feed((2, "older", TEN), (2, "newest", ELEVEN), table="fast")
    project.feed((2, "oldest", NINE), (2, "older", TEN), (2, "newest", ELEVEN), (1, "edit", TEN), table="slow")
    project.run(now=NOON)

    fates = ("rows_extracted", "rows_inserted", "rows_updated", "rows_unchanged", "rows_superseded", "rows_late")
    windows = {window["stream"]: [window[fate] for fate in fates] for window in project.ledger()[2:]}
    # that the first version of the slow stream's row 1 is stored as it is does not make it less of an older version
    assert windows == {"fast": [3, 1, 0, 1, 1, 0], "slow": [5, 1, 1, 0, 3, 0]}
    assert project.rows("origin, id, note") == [
        ("fast", 1, "a"),
        ("fast", 2, "newest"),
        ("slow", 1, "edit"),
        ("slow", 2, "newest"),
    ]


@pytest.mark.parametrize("setting", ["on", "off"])
def test_how_the_planner_is_set_afterwards_is_how_it_was_set_before(project: Project, setting: str) -> None:
    look = "create table sync.seen as select current_setting('enable_indexscan') as setting"
    hooks = f'pre_hook="set local enable_indexscan = {setting}", post_hook="{look}"'
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.model("sink", SINK.replace("unique_key='id'", f"unique_key='id', {hooks}"))
    project.feed((2, "b", ELEVEN))
    run = project.run(now=NOON)

    assert any("set local enable_indexscan = off" in sql and "two_clocks_candidates" in sql for sql in run.statements)
    assert project.warehouse.query("select setting from sync.seen") == [{"setting": setting}]


def test_the_catalog_is_asked_once_for_all_models_of_a_command(project: Project) -> None:
    project.source("other", {"id": "bigint", "note": "text", "changed_at": "timestamp with time zone"})
    project.model("second", SINK.replace("'feed'", "'other'"))
    project.model("third", SINK)
    project.feed((1, "a", TEN))
    project.feed((1, "a", "2024-06-03 10:00+00"), table="other")
    project.run(now=NOON)
    project.feed((2, "b", ELEVEN))
    project.feed((2, "b", "2024-06-03 11:00+00"), table="other")
    # threads that begin at the same moment do not wait for the first of them
    run = project.run("--threads", "1", now=NOON)

    assert len([sql for sql in run.statements if "as wanted (name)" in sql]) == 1
    for model in ("sink", "second", "third"):
        assert project.ids(model) == [1, 2]
    assert project.last_window("second")["window_to_value"] == "2024-06-03 11:00:00+00"
    assert project.last_window("third")["window_to_value"] == "2024-06-03 11:00:00"


@pytest.mark.parametrize("quoting", ["true", "false"])
def test_what_a_model_of_the_same_command_makes_anew_is_asked_for_when_it_is_there(
    project: Project, quoting: str
) -> None:
    """`made` is a model's table and another model's source: after the second run its column is of another type."""
    project.write(
        "models/sources.yml",
        f"""
version: 2
sources:
  - {{name: ods, schema: ods, tables: [{{name: feed}}]}}
  - {{name: made, schema: sync, quoting: {{identifier: {quoting}}}, tables: [{{name: made}}]}}
""",
    )
    made = "{{{{ config(materialized='table', post_hook=[]) }}}}\n-- depends_on: {{{{ ref('sink') }}}}\nselect {0} as id, cast('a' as text) as note, cast('{1}' as {2}) as changed_at"
    project.model("made", made.format(1, "2024-06-02", "date"), folder="made")
    project.model(
        "reader",
        "{{ config(unique_key='id') }}\n-- depends_on: {{ ref('made') }}\nselect id, note, cast(changed_at as timestamp) as changed_at from {{ two_clocks.windowed(source('made', 'made'), 'changed_at') }} as s",
    )
    project.feed((1, "a", TEN))
    project.run("--threads", "1", now=NOON)
    project.model("made", made.format(2, ELEVEN, "timestamp"), folder="made")
    project.run("--threads", "1", now=NOON)

    assert project.ids("reader") == [1, 2]
    assert project.last_window("reader")["window_to_value"] == "2024-06-03 11:00:00"


def test_an_incremental_model_that_another_one_reads_is_asked_for_when_it_is_there(project: Project) -> None:
    """Rebuilt, it has a column of another type, which the session's zone would shift where the old one is taken for it."""
    project.set_session_zone("America/New_York")
    sink = "{{{{ config(unique_key='id') }}}}\nselect id, note, changed_at as seen_at, cast(changed_at as {0}) as changed_at from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', target_watermark='seen_at') }}}} as s"
    project.model("sink", sink.format("timestamptz"))
    project.model("reader", SINK.replace("source('ods', 'feed')", "ref('sink')"))
    project.feed(*((number, "a", "2024-06-02 00:00") for number in range(100)), (200, "b", ELEVEN))
    project.run(now=NOON)
    project.model("sink", sink.format("timestamp"))
    project.run("--full-refresh", "--threads", "1", now=NOON)

    assert project.ids("reader") == project.ids("sink")
    assert len(project.ids("sink")) == 101


def test_a_source_that_cannot_be_seen_stops_the_model_that_reads_it_and_no_other(project: Project) -> None:
    project.write(
        "models/sources.yml",
        """
version: 2
sources:
  - {name: ods, schema: ods, tables: [{name: feed}]}
  - {name: elsewhere, database: another, schema: ods, tables: [{name: feed}]}
""",
    )
    project.model("zenith", SINK.replace("source('ods',", "source('elsewhere',"))
    project.feed((1, "a", TEN))
    statuses = project.attempt("--threads", "1", now=NOON).statuses()

    assert (statuses["sink"], statuses["zenith"]) == ("success", "error")
    assert project.ids() == [1]


def test_a_lock_on_what_one_model_reads_keeps_no_other_model_waiting(project: Project) -> None:
    project.source("other", FEED)
    project.model("zenith", SINK.replace("'feed'", "'other'"))
    project.feed((1, "a", TEN))
    project.feed((1, "a", TEN), table="other")
    project.run(now=NOON)
    project.feed((2, "b", ELEVEN))
    server = project.warehouse.server
    loader = psycopg2.connect(host=server.host, user=server.user, dbname=server.database)
    loader.cursor().execute("truncate ods.other")
    # the lock goes when the first model merges; were it to wait for the lock, it would go later
    too_late = threading.Timer(20, loader.rollback)
    too_late.start()
    merged = []

    def release(number: int, sql: str) -> None:
        if "merge into" in sql and "sink" in sql and not merged:
            merged.append(too_late.is_alive())
            too_late.cancel()
            loader.rollback()

    run = project.run("--threads", "1", now=NOON, before_statement=release)
    loader.close()

    assert run.statuses()["sink"] == "success"
    assert merged == [True]


def test_a_target_whose_name_is_not_quoted_may_have_letters_of_any_alphabet(project: Project) -> None:
    project.configure(quoting={"identifier": False})
    project.model("sink", SINK.replace("unique_key='id'", "unique_key='id', alias='größe'"))
    project.feed((1, "a", TEN))
    project.run(now=NOON)
    project.feed((2, "b", ELEVEN))
    project.run(now=NOON)

    assert project.ids("größe") == [1, 2]
