"""The SQL that compares a source with a target: checksums by bucket first, then only the keys that differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.project import Project

from two_clocks.dbt_session import DbtSession

from .recover_support import close_duckdb

NOW = "2024-06-10T00:00:00Z"


class Comparison:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.session = DbtSession(project.directory, project.directory, vars={"two_clocks_now": NOW})
        self.session._manifest = project.manifest()  # all tests ask one and the same project: it is parsed once
        project.warehouse.execute("create schema if not exists ods")
        project.warehouse.execute("create schema if not exists sync")

    def tables(self, source: str, target: str | None = None) -> None:
        for name in ("ods.src", "sync.dst"):
            self.project.warehouse.execute(f"drop table if exists {name}")
        self.project.warehouse.execute(f"create table ods.src ({source})")
        self.project.warehouse.execute(f"create table sync.dst ({target or source})")

    def rows(self, table: str, *rows: str) -> None:
        for row in rows:
            self.project.warehouse.execute(f"insert into {table} values ({row})")

    def both(self, *rows: str) -> None:
        self.rows("ods.src", *rows)
        self.rows("sync.dst", *rows)

    def ask(self, macro: str, arguments: str, options: str = "") -> list[dict[str, Any]]:
        return self.session.query(
            "{% if execute %}{% set pair = two_clocks.comparison("
            + arguments
            + ") %}{{ two_clocks."
            + macro
            + "(pair"
            + options
            + ") }}{% endif %}"
        )

    def lost(self, extra: str = "", unique_key: str = "'id'", watermark: str = "'changed_at'") -> list[tuple[Any, ...]]:
        """(what, key) of every key that is not as it should be; found in one statement and in two, which must agree."""
        arguments = f"'ods.src', 'sync.dst', {unique_key}, {watermark}{', ' + extra if extra else ''}"
        found = self.keys(self.ask("compare_keys_sql", arguments))
        buckets = [row["bucket"] for row in self.ask("compare_buckets_sql", arguments) if row["differs"]]
        assert self.keys(self.ask("compare_keys_sql", arguments, f", {[int(b) for b in buckets]}")) == found
        assert self.keys(self.ask("compare_keys_sql", arguments, ", 'all'")) == found
        return found

    @staticmethod
    def keys(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        return sorted((row["what"], *(row[name] for name in row if name.startswith("key_"))) for row in rows)


@pytest.fixture
def comparison(empty_project: Project) -> Iterator[Comparison]:
    yield Comparison(empty_project)
    close_duckdb()


def test_equal_tables_differ_in_no_bucket(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.both(*(f"{key}, timestamp '2024-06-01 00:00:{key:02d}'" for key in range(1, 20)))
    assert comparison.lost() == []
    totals = comparison.ask("compare_buckets_sql", "'ods.src', 'sync.dst', 'id', 'changed_at'")
    assert [(row["differs"], row["source_compared"], row["target_compared"]) for row in totals] == [(0, 19, 19)]


def test_C11_C13_C64_missing_stale_and_orphaned_rows_are_named(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.both(*(f"{key}, timestamp '2024-06-01 00:00:00'" for key in range(1, 10)))
    comparison.both("99, timestamp '2024-06-05 00:00:00'")
    comparison.rows("ods.src", "11, timestamp '2024-06-02 00:00:00.123456'")
    comparison.project.warehouse.execute(
        "update ods.src set changed_at = timestamp '2024-06-02 00:00:00.000001' where id = 3"
    )
    comparison.project.warehouse.execute("delete from ods.src where id = 7")
    assert comparison.lost() == [("missing", "11"), ("orphaned", "7"), ("stale", "3")]


def test_any_of_the_versions_that_share_the_newest_watermark_may_be_the_stored_one(comparison: Comparison) -> None:
    comparison.tables("id integer, note varchar(10), changed_at timestamp")
    for note in ("one", "two", "three", "four"):
        comparison.rows("ods.src", *(f"{key}, '{note}', timestamp '2024-06-01 00:00:00'" for key in range(1, 6)))
    for key, note in enumerate(("one", "two", "three", "four", "other"), start=1):
        comparison.rows("sync.dst", f"{key}, '{note}', timestamp '2024-06-01 00:00:00'")
    assert comparison.lost("columns=['note']") == [("differs", "5")]


def test_rows_later_than_the_target_watermark_are_the_next_runs_business(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.both("1, timestamp '2024-06-05 00:00:00'", "2, timestamp '2024-06-01 00:00:00'")
    comparison.rows("ods.src", "3, timestamp '2024-06-06 00:00:00'")
    # an update that is still to come leaves its old version in the target, which is no orphan
    comparison.project.warehouse.execute("update ods.src set changed_at = timestamp '2024-06-06 00:00:00' where id = 2")
    assert comparison.lost() == []
    assert comparison.lost("until='now'") == [("missing", "3"), ("stale", "2")]
    assert comparison.lost("until='2024-06-06'") == [("missing", "3"), ("stale", "2")]
    assert comparison.lost("until='2024-06-05T23:00:00Z'") == []


def test_the_settling_time_is_measured_on_the_datas_clock(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.both("1, timestamp '2024-06-05 10:00:00'")
    comparison.rows("ods.src", "2, timestamp '2024-06-05 09:00:00'", "3, timestamp '2024-06-05 07:00:00'")
    assert comparison.lost() == [("missing", "2"), ("missing", "3")]
    assert comparison.lost("settle='2 hours'") == [("missing", "3")]


def test_null_and_future_watermarks_and_null_keys_are_counted_and_not_compared(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.both("1, timestamp '2024-06-05 10:00:00'")
    comparison.rows(
        "ods.src", "2, null", "3, timestamp '2031-01-01 00:00:00'", "null, timestamp '2024-06-01 00:00:00'", "4, null"
    )
    assert comparison.lost() == comparison.lost("until='now'") == []
    (totals,) = comparison.ask("compare_buckets_sql", "'ods.src', 'sync.dst', 'id', 'changed_at'")
    assert [int(totals[f"source_{name}"]) for name in ("compared", "later", "future", "unmarked", "keyless")] == [
        1,
        0,
        1,
        2,
        1,
    ]


def test_a_stored_row_without_a_watermark_is_older_than_any(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.both("1, timestamp '2024-06-05 10:00:00'")
    comparison.rows("ods.src", "2, timestamp '2024-06-01 00:00:00'")
    comparison.rows("sync.dst", "2, null")
    assert comparison.lost() == [("stale", "2")]


def test_a_target_row_that_is_newer_is_no_loss(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.rows("ods.src", "1, timestamp '2024-06-01 00:00:00'")
    comparison.rows("sync.dst", "1, timestamp '2024-06-02 00:00:00'")
    assert comparison.lost() == []


def test_of_several_versions_in_the_source_the_newest_eligible_one_counts(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.rows(
        "ods.src",
        *(f"1, timestamp '2024-06-0{day} 00:00:00'" for day in (1, 2, 3)),
        "1, null",
        "1, timestamp '2031-01-01'",
    )
    comparison.rows("sync.dst", "1, timestamp '2024-06-03 00:00:00'")
    assert comparison.lost() == []
    comparison.project.warehouse.execute("update sync.dst set changed_at = timestamp '2024-06-02 00:00:00'")
    assert comparison.lost() == []  # the newest is later than the target watermark
    assert comparison.lost("until='now'") == [("stale", "1")]


def test_an_empty_target_lacks_everything(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    comparison.rows("ods.src", "1, timestamp '2024-06-01 00:00:00'")
    assert comparison.lost() == [("missing", "1")]


def test_two_empty_tables_are_equal_and_say_that_nothing_was_compared(comparison: Comparison) -> None:
    comparison.tables("id integer, changed_at timestamp")
    assert comparison.lost() == []
    assert comparison.ask("compare_buckets_sql", "'ods.src', 'sync.dst', 'id', 'changed_at'") == []


def test_an_update_that_kept_its_watermark_is_found_where_columns_are_compared(comparison: Comparison) -> None:
    comparison.tables(
        "id integer, note varchar(20), grade numeric(10,5), changed_at timestamp",
        "id integer, note varchar, grade numeric(12,2), changed_at timestamp",
    )
    comparison.both(
        "1, 'a', 1.5, timestamp '2024-06-01'",
        "2, null, null, timestamp '2024-06-01'",
        "3, 'c', 3, timestamp '2024-06-01'",
    )
    columns = "columns=['note', 'grade']"
    assert comparison.lost(columns) == []
    comparison.project.warehouse.execute("update ods.src set note = 'edited' where id = 1")
    comparison.project.warehouse.execute("update ods.src set grade = 0 where id = 2")
    assert comparison.lost() == []
    assert comparison.lost(columns) == [("differs", "1"), ("differs", "2")]


def test_values_do_not_slip_from_one_column_into_the_next(comparison: Comparison) -> None:
    comparison.tables("id integer, a varchar, b varchar, changed_at timestamp")
    comparison.rows("ods.src", "1, 'x', null, timestamp '2024-06-01'", "2, 'ab', 'c', timestamp '2024-06-01'")
    comparison.rows("sync.dst", "1, null, 'x', timestamp '2024-06-01'", "2, 'a', 'bc', timestamp '2024-06-01'")
    assert comparison.lost("columns=['a', 'b']") == [("differs", "1"), ("differs", "2")]


def test_C33_names_with_capitals_and_reserved_words(comparison: Comparison) -> None:
    comparison.tables('"order" integer, "updatedAt" timestamp')
    comparison.both("1, timestamp '2024-06-05'")
    comparison.rows("ods.src", "2, timestamp '2024-06-01'")
    assert comparison.lost(unique_key="'order'", watermark="'updatedAt'") == [("missing", "2")]
    assert comparison.lost(unique_key="['\"order\"']", watermark="'\"updatedAt\"'") == [("missing", "2")]


def test_names_that_differ_and_a_key_of_several_columns(comparison: Comparison) -> None:
    comparison.tables(
        "id bigint, part varchar(5), touched timestamp", "grade_id integer, piece varchar, changed_at timestamp"
    )
    comparison.both(
        "1, 'a', timestamp '2024-06-05'", "1, 'b', timestamp '2024-06-01'", "11, 'a', timestamp '2024-06-01'"
    )
    comparison.rows("ods.src", "1, '1a', timestamp '2024-06-01'", "2, null, timestamp '2024-06-01'")
    found = comparison.lost(
        "target_watermark='changed_at', source_columns={'grade_id': 'id', 'piece': 'part'}",
        unique_key="['grade_id', 'piece']",
        watermark="'touched'",
    )
    assert found == [("missing", "1", "1a")]


def test_a_query_as_the_source_and_an_expression_as_the_watermark(comparison: Comparison) -> None:
    comparison.tables("id integer, created_at timestamp, updated_at timestamp", "id integer, changed_at timestamp")
    comparison.rows("ods.src", "1, timestamp '2024-06-01', timestamp '2024-06-05'", "2, timestamp '2024-06-02', null")
    comparison.rows("sync.dst", "1, timestamp '2024-06-05'")
    extra = "target_watermark='changed_at'"
    assert comparison.lost(extra, watermark="'coalesce(updated_at, created_at)'") == [("missing", "2")]
    rows = comparison.ask(
        "compare_keys_sql",
        "'(with s as (select id, coalesce(updated_at, created_at) as changed_at from ods.src) select * from s -- end\n)', 'sync.dst', 'id', 'changed_at'",
    )
    assert comparison.keys(rows) == [("missing", "2")]


@pytest.mark.parametrize(
    ("column", "early", "late"),
    [
        ("timestamp", "timestamp '2024-06-01 10:00:00.000001'", "timestamp '2024-06-01 10:00:00.000002'"),
        (
            "timestamp with time zone",
            "timestamp '2024-06-01 10:00:00.1' at time zone 'UTC'",
            "timestamp '2024-06-01 10:00:00.2' at time zone 'Asia/Tokyo' + interval '9 hours'",
        ),
        ("date", "date '2024-06-01'", "date '2024-06-02'"),
        ("bigint", "1717405200", "1717405201"),
        ("bigint", "1717405200000", "1717405200001"),
        ("bigint", "1717405200000000", "1717405200000001"),
        ("integer", "7", "8"),
        ("numeric(20,0)", "70", "71"),
    ],
)
def test_C41_every_kind_of_watermark(comparison: Comparison, column: str, early: str, late: str) -> None:
    comparison.tables(f"id varchar(30), changed_at {column}")
    comparison.both(f"'a', {early}", f"'b', {late}", f"'007', {early}")
    assert comparison.lost() == []
    comparison.rows("ods.src", f"'7', {early}")
    comparison.project.warehouse.execute(f"update sync.dst set changed_at = {early} where id = 'b'")
    comparison.rows("sync.dst", f"'c', {late}")
    comparison.rows("ods.src", f"'c', {late}")
    assert comparison.lost() == [("missing", "7"), ("stale", "b")]


def test_keys_that_are_equal_in_value_but_not_in_type(comparison: Comparison) -> None:
    comparison.tables("id numeric(10,3), changed_at timestamp", "id bigint, changed_at timestamp")
    comparison.both("1, timestamp '2024-06-01'", "200, timestamp '2024-06-01'", "30, timestamp '2024-06-01'")
    comparison.rows("ods.src", "1.5, timestamp '2024-06-01'")
    assert comparison.lost() == [("missing", "1.5")]


def test_json_columns_can_be_compared(comparison: Comparison) -> None:
    comparison.tables("id integer, doc json, changed_at timestamp")
    comparison.both("""1, '{"a": 1}', timestamp '2024-06-01'""", "2, null, timestamp '2024-06-01'")
    assert comparison.lost("columns=['doc']") == []
    comparison.project.warehouse.execute("""update ods.src set doc = '{"a": 2}' where id = 1""")
    assert comparison.lost("columns=['doc']") == [("differs", "1")]


def test_C40_the_sessions_zone_does_not_matter(comparison: Comparison) -> None:
    comparison.project.warehouse.set_session_zone("America/Chicago")
    comparison.project.save_profile()
    comparison.tables("id integer, changed_at timestamp, zoned timestamp with time zone")
    row = "timestamp '2024-06-09 23:00:00', timestamp '2024-06-09 23:00:00' at time zone 'UTC'"
    comparison.both(f"1, {row}")
    comparison.rows("ods.src", f"2, {row}")
    assert comparison.lost() == comparison.lost(watermark="'zoned'") == [("missing", "2")]


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("'ods.src', 'sync.dst', [], 'changed_at'", "needs a unique_key"),
        ("'ods.src', 'sync.dst', 'idd', 'changed_at'", "unique_key names 'idd', which is no column of the source"),
        ("'ods.src', 'sync.dst', 'id', 'changed'", "watermark names 'changed', which is no column"),
        ("'ods.src', 'sync.dst', 'id', 'note'", "a watermark must be a timestamp, a date or an integer"),
        ("'ods.src', 'sync.dst', 'id', 'changed_at', until='next week'", "until is 'next week', which cannot be read"),
        ("'ods.src', 'sync.dst', 'id', 'changed_at', settle='soon'", "settle is 'soon', which cannot be read"),
        ("'ods.src', 'sync.dst', 'id', 'changed_at', buckets=1000", "no power of two"),
        ("'ods.src', 'sync.dst', 'id', 'changed_at', time_zone='Berlin'", "no known zone"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(
    comparison: Comparison, arguments: str, sentence: str
) -> None:
    comparison.tables("id integer, note varchar(5), changed_at timestamp")
    with pytest.raises(Exception, match=sentence.replace("(", "\\(")):
        comparison.ask("compare_keys_sql", arguments)
