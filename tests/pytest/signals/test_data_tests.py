"""data_clock_fresh, watermark_valid, idempotent_sink and nothing_lost: what they see in the rows themselves."""

from __future__ import annotations

import pytest
import yaml
from support.project import Project

from .conftest import Guarded

NOW = "2024-06-03T12:00:00Z"
FRESH = {"relation": "source('ods', 'feed')", "watermark": "changed_at", "max_age": "24 hours"}
COMPLETE = {"source_relation": "source('ods', 'feed')", "unique_key": "id", "watermark": "changed_at"}

# type, the text of 2024-06-03 10:00 UTC in it, further arguments
CLOCKS = {
    "timestamp": ("timestamp", "2024-06-03 10:00", {}),
    "timestamp in a zone": ("timestamp", "2024-06-03 12:00", {"time_zone": "Europe/Berlin"}),
    "timestamptz": ("timestamp with time zone", "2024-06-03 05:00-05", {}),
    "epoch s": ("bigint", 1717408800, {}),
    "epoch ms": ("bigint", 1717408800000, {}),
    "epoch us": ("bigint", 1717408800000000, {}),
    "date": ("date", "2024-06-03", {}),
}
AGES = {name: 2 if name != "date" else 12 for name in CLOCKS}


def failures(guarded: Guarded) -> list[dict]:
    guarded.check(now=NOW)
    return guarded.warehouse.query("select * from sync_failures.found order by what_happened")


def store(guarded: Guarded, *tests: object, **settings: object) -> None:
    guarded.guard(*tests, store_failures=True, alias="found", schema="failures", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CLOCKS)
def test_the_age_of_every_kind_of_watermark_is_right(guarded: Guarded, name: str) -> None:
    data_type, value, more = CLOCKS[name]
    guarded.project.source("typed", {"id": "integer", "stamp": data_type})
    guarded.project.feed((1, value), table="typed", columns=("id", "stamp"))
    guarded.project.feed((2, None), table="typed", columns=("id", "stamp"))
    hours = AGES[name]
    asked = {"relation": "source('ods', 'typed')", "watermark": "stamp", **more}

    guarded.guard({"data_clock_fresh": {**asked, "max_age": f"{hours} hours"}})
    assert guarded.check(now=NOW).passed

    guarded.guard({"data_clock_fresh": {**asked, "max_age": f"{hours - 1} hours"}})
    verdict = guarded.check(now=NOW)
    assert verdict.failures == 1
    assert "the data clock is" in verdict.said and "S is 2024-06-03" in verdict.said
    assert "column stamp" in verdict.said


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no row was left to look at: the table is empty"),
        ([(1, "x", None)], "of 1 rows 1 have no watermark and 0 lie ahead"),
        (
            [(1, "x", "2024-06-03 14:00"), (2, "x", None)],
            "1 lie ahead of the wall clock, the nearest at 2024-06-03 14:00:00",
        ),
    ],
)
def test_no_clock_is_a_failure_that_says_why(guarded: Guarded, rows: list, words: str) -> None:
    guarded.guard({"data_clock_fresh": FRESH})
    guarded.project.feed(*rows)
    verdict = guarded.check(now=NOW)
    assert verdict.failures == 1
    assert words in verdict.said


def test_C65_a_condition_that_hides_all_rows_leaves_no_clock(guarded: Guarded) -> None:
    guarded.guard({"data_clock_fresh": FRESH}, where="note = 'never'")
    guarded.project.feed((1, "x", "2024-06-03 10:00"))
    assert "hides all of it" in guarded.check(now=NOW).said
    guarded.guard({"data_clock_fresh": FRESH}, where="note = 'x'")
    assert guarded.check(now=NOW).passed


def test_a_source_that_is_not_there_is_a_failure(guarded: Guarded) -> None:
    guarded.guard({"data_clock_fresh": FRESH})
    guarded.warehouse.execute('drop table "ods"."feed"')
    assert "there is no such table" in guarded.check(now=NOW).said


def test_the_clock_of_the_tested_table_itself_is_read_by_default(project: Project) -> None:
    guarded = Guarded(project)
    project.feed((1, "x", "2024-06-01 10:00"))
    test = {"two_clocks.data_clock_fresh": {"arguments": {"watermark": "changed_at", "max_age": "24 hours"}}}
    sources = yaml.safe_load((project.directory / "models/sources.yml").read_text())
    sources["sources"][0]["tables"][0]["data_tests"] = [test]
    project.write("models/sources.yml", yaml.safe_dump(sources))
    verdict = guarded.check(now=NOW)
    assert verdict.failures == 1
    assert "source consumer.ods.feed" in verdict.said.replace("source ods.feed", "source consumer.ods.feed")
    assert "2 days old" in verdict.said


def test_C20_a_row_dated_years_ahead_is_named_and_hides_nothing(guarded: Guarded) -> None:
    guarded.guard({"data_clock_fresh": FRESH})
    guarded.project.feed((1, "x", "2024-06-01 10:00"), (7, "typing error", "2029-06-01 10:00"))
    guarded.run(NOW)
    assert "2 days old" in guarded.check(now=NOW).said, "a future row must not pass for fresh data"

    sources = yaml.safe_load((guarded.project.directory / "models/sources.yml").read_text())
    settings = {"store_failures": True, "alias": "found", "schema": "failures"}
    sources["sources"][0]["tables"][0]["columns"] = [
        {"name": "changed_at", "data_tests": [{"two_clocks.watermark_valid": {"config": settings}}]}
    ]
    guarded.project.write("models/sources.yml", yaml.safe_dump(sources))
    guarded.guard("windows_contiguous")
    (row,) = failures(guarded)
    assert (row["id"], row["note"]) == (7, "typing error")
    assert row["what_happened"] == "the watermark 2029-06-01 10:00:00 is 1823 days ahead of the wall clock"


def test_C21_a_future_row_in_the_target_is_named(guarded: Guarded) -> None:
    store(guarded, {"watermark_valid": {"column_name": "changed_at"}})
    guarded.project.feed((1, "x", "2024-06-03 10:00"))
    guarded.run(NOW)
    assert failures(guarded) == []
    guarded.warehouse.insert("sync.sink", [{"id": 9, "note": "ahead", "changed_at": "2029-01-01 00:00"}])
    (row,) = failures(guarded)
    assert row["id"] == 9


def test_C22_local_times_stored_as_utc_are_told_with_their_lead(guarded: Guarded) -> None:
    guarded.guard({"data_clock_fresh": FRESH})
    guarded.project.feed(*[(n, "x", f"2024-06-03 13:{n:02}") for n in range(10, 20)])
    guarded.run(NOW)
    said = guarded.check(now=NOW).said
    assert (
        "of 10 rows 0 have no watermark and 10 lie ahead of the wall clock, the nearest at 2024-06-03 13:10:00" in said
    )
    assert "name their zone with time_zone" in said
    guarded.run("2024-06-03T14:00:00Z")
    assert len(guarded.project.ids()) == 10


def test_C26_one_null_watermark_in_a_hundred_is_counted(guarded: Guarded) -> None:
    store(guarded, {"watermark_valid": {"column_name": "changed_at"}})
    guarded.project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, note, changed_at"
        " from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', nulls='include') }} as feed",
    )
    guarded.project.feed(*[(n, "x", None if n == 50 else "2024-06-03 10:00") for n in range(1, 101)])
    guarded.run(NOW)
    assert len(guarded.project.ids()) == 100
    (row,) = failures(guarded)
    assert (row["id"], row["what_happened"]) == (50, "the watermark is NULL")


@pytest.mark.parametrize("name", CLOCKS)
def test_watermark_valid_for_every_kind(guarded: Guarded, name: str) -> None:
    data_type, value, more = CLOCKS[name]
    ahead = {"epoch s": 1717502400, "epoch ms": 1717502400000, "epoch us": 1717502400000000, "date": "2024-06-04"}
    guarded.project.source("typed", {"id": "integer", "stamp": data_type})
    guarded.project.model(
        "typed_sink",
        "{{ config(materialized='table', post_hook=[]) }} select * from {{ source('ods', 'typed') }}",
        "plain",
    )
    guarded.project.feed((1, value), table="typed", columns=("id", "stamp"))
    guarded.run(NOW)
    guarded.guard({"watermark_valid": {"column_name": "stamp", **more}}, model="typed_sink")
    assert guarded.check(now=NOW).passed
    guarded.project.feed((2, ahead.get(name, "2024-06-04 14:00")), (3, None), table="typed", columns=("id", "stamp"))
    guarded.run(NOW)
    assert guarded.check(now=NOW).failures == 2


def test_a_writer_a_little_ahead_can_be_forgiven(guarded: Guarded) -> None:
    guarded.project.feed((1, "x", "2024-06-03 12:01"))
    guarded.run("2024-06-03T12:05:00Z")
    guarded.guard({"watermark_valid": {"column_name": "changed_at"}})
    assert guarded.check(now=NOW).failures == 1
    guarded.guard({"watermark_valid": {"column_name": "changed_at", "tolerance": "2 minutes"}})
    assert guarded.check(now=NOW).passed


@pytest.mark.parametrize("where", [None, "note = 'never'"])
@pytest.mark.parametrize(
    "test",
    [
        {"watermark_valid": {"column_name": "changed_at"}},
        {"idempotent_sink": {"unique_key": "id"}},
        {"nothing_lost": COMPLETE},
    ],
)
def test_C65_no_row_to_look_at_is_a_failure(guarded: Guarded, test: dict, where: str | None) -> None:
    if where:
        guarded.project.feed((1, "x", "2024-06-03 10:00"))
    guarded.run(NOW)
    settings = {"where": where} if where else {}
    store(guarded, test, **settings)
    (row,) = failures(guarded)
    assert "no row" in row["what_happened"]
    if where:
        assert where in row["what_happened"]


@pytest.mark.any_engine
@pytest.mark.parametrize(
    "test",
    [
        {"watermark_valid": {"column_name": "changed_at"}},
        {"idempotent_sink": {"unique_key": "id"}},
        {"nothing_lost": COMPLETE},
    ],
)
def test_a_table_that_was_never_built_is_a_failure(guarded: Guarded, test: dict) -> None:
    store(guarded, test)
    (row,) = failures(guarded)
    assert "there is no such table" in row["what_happened"]


def test_repeated_keys_and_nulls_in_keys_are_named(guarded: Guarded) -> None:
    store(guarded, {"idempotent_sink": {"unique_key": "id"}})
    guarded.project.feed((1, "x", "2024-06-03 10:00"), (2, "x", "2024-06-03 10:00"))
    guarded.run(NOW)
    assert failures(guarded) == []
    guarded.warehouse.insert(
        "sync.sink", [{"id": 2, "note": "again"}, {"id": None, "note": "a"}, {"id": None, "note": "b"}]
    )
    told = [row["what_happened"] for row in failures(guarded)]
    assert told == ["2 rows have a NULL in the key (NULL)", "the key (2) stands in 2 rows"]


def test_a_key_of_two_columns_in_capitals(guarded: Guarded) -> None:
    guarded.project.model(
        "wide",
        """{{ config(materialized='table', post_hook=[]) }} select id as "Id", note as "order" from {{ source('ods', 'feed') }}""",
        "plain",
    )
    guarded.project.feed((1, "a", "2024-06-03 10:00"), (1, "b", "2024-06-03 10:00"))
    guarded.run(NOW)
    guarded.guard({"idempotent_sink": {"unique_key": ["Id", "order"]}}, model="wide")
    assert guarded.check(now=NOW).passed
    guarded.guard({"idempotent_sink": {"unique_key": "Id"}}, model="wide")
    assert guarded.check(now=NOW).failures == 1


def test_C11_nothing_lost_names_a_row_that_came_later_than_the_look_back(guarded: Guarded) -> None:
    store(guarded, {"nothing_lost": COMPLETE})
    guarded.project.feed((1, "x", "2024-06-03 10:00"))
    guarded.run(NOW, lookback="1 day")
    assert failures(guarded) == []
    guarded.project.feed((2, "two days late", "2024-06-01 09:00"), (3, "x", "2024-06-03 11:00"))
    guarded.run(NOW, lookback="1 day")
    assert guarded.project.ids() == [1, 3]

    (row,) = failures(guarded)
    assert row["what_happened"].startswith("the source row 2, last changed 2024-06-01 09:00:00")
    assert row["what_happened"].endswith("is missing")
    assert "two-clocks repair" in row["what_to_do"]


def test_nothing_lost_names_an_older_version(guarded: Guarded) -> None:
    store(guarded, {"nothing_lost": COMPLETE})
    guarded.project.feed((1, "x", "2024-06-03 10:00"), (2, "x", "2024-06-01 10:00"))
    guarded.run(NOW)
    guarded.warehouse.execute("update sync.sink set changed_at = '2024-05-01 10:00' where id = 2")
    (row,) = failures(guarded)
    assert "is there in an older version" in row["what_happened"]


def test_nothing_lost_looks_at_values_and_orphans_where_asked(guarded: Guarded) -> None:
    guarded.project.feed((1, "x", "2024-06-03 10:00"), (2, "x", "2024-06-03 10:00"))
    guarded.run(NOW)
    guarded.warehouse.execute("update sync.sink set note = 'other' where id = 1")
    guarded.warehouse.execute('delete from "ods"."feed" where id = 2')
    guarded.guard({"nothing_lost": COMPLETE})
    assert guarded.check(now=NOW).passed
    store(guarded, {"nothing_lost": {**COMPLETE, "columns": ["note"], "orphans": True}})
    told = [row["what"] for row in failures(guarded)]
    assert sorted(told) == ["differs", "orphaned"]


def test_a_condition_picks_rows_on_both_sides(guarded: Guarded) -> None:
    guarded.project.feed((1, "x", "2024-06-03 10:00"), (2, "y", "2024-06-03 10:00"))
    guarded.run(NOW)
    guarded.warehouse.execute("delete from sync.sink where id = 2")
    guarded.guard({"nothing_lost": COMPLETE}, where="note = 'x'")
    assert guarded.check(now=NOW).passed
    guarded.guard({"nothing_lost": COMPLETE}, where="note = 'y'")
    assert guarded.check(now=NOW).failures == 1


@pytest.mark.any_engine
def test_an_emptied_target_has_lost_everything(guarded: Guarded) -> None:
    guarded.project.feed((1, "x", "2024-06-03 10:00"), (2, "y", "2024-06-03 10:00"))
    guarded.run(NOW)
    guarded.warehouse.execute("delete from sync.sink")
    guarded.guard({"nothing_lost": COMPLETE})
    assert guarded.check(now=NOW).failures == 2


@pytest.mark.any_engine
def test_a_later_row_is_the_next_runs_business(guarded: Guarded) -> None:
    guarded.guard({"nothing_lost": COMPLETE})
    guarded.project.feed((1, "x", "2024-06-03 10:00"))
    guarded.run(NOW)
    guarded.project.feed((2, "x", "2024-06-03 11:00"))
    assert guarded.check(now=NOW).passed
