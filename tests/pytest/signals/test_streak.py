"""no_empty_window_streak: silence is told apart from rest, and never passes for want of anything to look at."""

from __future__ import annotations

import pytest
from support.project import LEDGER

from .conftest import Guarded

BLIND_SINK = """\
{{ config(unique_key='id') }}
select id, note, changed_at
from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
where note <> 'renamed upstream'
"""

UNION_SINK = """\
{{{{ config(unique_key=['origin', 'id']) }}}}
select 'eu' as origin, id, note, changed_at
from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', stream='eu', target_filter="origin = 'eu'") }}}} as eu
{us}
"""
US_PART = """\
union all
select 'us' as origin, id, note, changed_at
from {{ two_clocks.windowed(source('ods', 'feed_us'), 'changed_at', stream='us', target_filter="origin = 'us'") }} as us
"""


def day(number: int, hour: int = 12) -> str:
    return f"2024-06-{number:02}T{hour:02}:00:00Z"


def test_passes_while_rows_flow(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    for number in range(1, 6):
        guarded.project.feed((number, "x", f"2024-06-0{number} 10:00"))
        guarded.run(day(number))
    assert guarded.check().passed


def test_tells_that_the_source_stood_still_though_the_look_back_extracts_rows_every_time(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    for number in (1, 2, 3):
        guarded.run(day(number))
    assert guarded.check().passed

    guarded.run(day(4))
    assert guarded.project.last_window()["rows_extracted"] == 1
    verdict = guarded.check()

    assert not verdict.passed and verdict.failures == 1
    assert "3 windows in a row brought no fresh row: the source stood still" in verdict.said
    assert "2024-06-01 10:00:00" in verdict.said
    assert "blind" not in verdict.said


def test_tells_that_the_model_was_blind_while_its_source_moved(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    guarded.project.model("sink", BLIND_SINK)
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    for number in (2, 3, 4):
        guarded.project.feed((number, "renamed upstream", f"2024-06-0{number} 10:00"))
        guarded.run(day(number))

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "blind while its source moved on from 2024-06-01 10:00:00 to 2024-06-04 10:00:00" in verdict.said
    assert "stood still" not in verdict.said


def test_tells_blindness_even_where_the_source_rests(guarded: Guarded) -> None:
    """The row that gave T lies in every window; a query that returns nothing has lost sight of it."""
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.project.model("sink", BLIND_SINK.replace("note <> 'renamed upstream'", "note = 'no longer used'"))
    for number in (2, 3, 4):
        guarded.run(day(number))

    assert (
        "the model was blind: source rows lie in the window, and its query returned none of them"
        in guarded.check().said
    )


def test_a_source_put_back_is_no_blindness(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((1, "x", "2024-06-01 10:00"), (2, "x", "2024-06-03 10:00"))
    guarded.run(day(3))
    guarded.warehouse.execute('delete from "ods"."feed" where id = 2')
    for number in (4, 5, 6):
        guarded.run(day(number))

    said = guarded.check().said

    assert "the source stood still, it even lies behind the target" in said
    assert "blind" not in said


@pytest.mark.any_engine
def test_a_backfill_ends_no_silence(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((2, "x", "2024-06-03 10:00"))
    guarded.run(day(3))
    for number in (4, 5, 6):
        guarded.run(day(number))
    guarded.project.feed((1, "old", "2024-05-01 10:00"))
    guarded.run(day(6), variables={"two_clocks_backfill_from": "2024-05-01", "two_clocks_backfill_to": "2024-05-02"})

    assert "3 windows in a row" in guarded.check().said


def test_fails_for_a_model_that_never_ran(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "model sink: it never ran" in verdict.said
    assert not guarded.warehouse.has_table(f"sync.{LEDGER}"), "a test has written"


@pytest.mark.parametrize("ledger", ["empty", "absent"])
def test_fails_where_the_table_is_there_and_the_ledger_is_not(guarded: Guarded, ledger: str) -> None:
    guarded.guard("no_empty_window_streak", "lookback_headroom", "windows_contiguous")
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    assert guarded.check().passed
    guarded.warehouse.execute(
        f"drop table sync.{LEDGER} cascade" if ledger == "absent" else f"delete from sync.{LEDGER}"
    )

    verdict = guarded.check()

    assert verdict.statuses == {"fail"} and verdict.failures == 3
    assert "the ledger holds no window of it, although its table exists" in verdict.said


def test_C65_fails_on_an_empty_table_and_where_a_condition_hides_all_rows(guarded: Guarded) -> None:
    tests = ("no_empty_window_streak", "lookback_headroom", "windows_contiguous")
    guarded.guard(*tests)
    guarded.run(day(1))
    verdict = guarded.check()
    assert verdict.statuses == {"fail"} and verdict.said.count("no row was left to look at: the table is empty") == 3

    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(2))
    assert guarded.check().passed
    guarded.guard(*tests, where="note = 'never'")
    verdict = guarded.check()
    assert verdict.statuses == {"fail"} and verdict.said.count("hides all of it: note = 'never'") == 3
    guarded.guard(*tests, where="note = 'x'")
    assert guarded.check().passed


def test_every_attempt_that_failed_is_told_with_its_message(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    guarded.project.model(
        "sink", BLIND_SINK.replace("select id, note", "select id / (id - 1) as ratio, id, no_such_column as note")
    )
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.project.attempt(now=day(1))

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "it never ran through: all of its 1 windows failed" in verdict.said
    assert "no_such_column" in verdict.said


def test_a_stream_that_falls_silent_is_named_while_the_other_flows(guarded: Guarded) -> None:
    guarded.project.source("feed_us")
    guarded.project.model("sink", UNION_SINK.format(us=US_PART))
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((1, "x", "2024-06-01 10:00"), table="feed_us")
    for number in range(1, 5):
        guarded.project.feed((number, "x", f"2024-06-0{number} 10:00"))
        guarded.run(day(number))

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "model sink, stream us" in verdict.said and "the source stood still" in verdict.said


@pytest.mark.any_engine
def test_a_stream_that_is_no_longer_read_is_named(guarded: Guarded) -> None:
    guarded.project.source("feed_us")
    guarded.project.model("sink", UNION_SINK.format(us=US_PART))
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((1, "x", "2024-06-01 10:00"), table="feed_us")
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.project.model("sink", UNION_SINK.format(us=""))
    for number in range(2, 5):
        guarded.project.feed((number, "x", f"2024-06-0{number} 10:00"))
        guarded.run(day(number))

    verdict = guarded.check()
    assert verdict.failures == 1
    assert "stream us: the stream vanished: 3 runs of its model read other streams and not this one" in verdict.said

    guarded.guard({"no_empty_window_streak": {"streams": ["eu"]}})
    assert guarded.check().passed
    guarded.guard({"no_empty_window_streak": {"streams": ["eu", "asia"]}})
    assert "stream asia: the ledger holds no window of it" in guarded.check().said


@pytest.mark.any_engine
def test_severity_and_thresholds_keep_dbts_meaning(guarded: Guarded) -> None:
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    for number in (1, 2, 3, 4):
        guarded.run(day(number))
    guarded.guard("no_empty_window_streak", severity="warn")
    assert guarded.check().statuses == {"warn"}
    guarded.guard("no_empty_window_streak", error_if=">1", warn_if=">0")
    assert guarded.check().statuses == {"warn"}


def test_failures_are_stored_as_sentences(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak", store_failures=True, alias="silence", schema="failures")
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    for number in (1, 2, 3, 4):
        guarded.run(day(number))
    guarded.check()

    (row,) = guarded.warehouse.query("select what_happened, where_, what_to_do, signal from sync_failures.silence")

    assert row["signal"] == "stood_still"
    assert row["where_"].startswith("model sink, window [")
    assert "raise max_windows (now 3)" in row["what_to_do"]


def test_C07_a_model_that_keeps_one_row_in_ten_is_not_called_blind(guarded: Guarded) -> None:
    guarded.guard(
        "no_empty_window_streak",
        "windows_contiguous",
        "lookback_headroom",
        {
            "nothing_lost": {
                "source_relation": "source('ods', 'feed')",
                "unique_key": "id",
                "watermark": "changed_at",
                "source_filter": "id % 10 = 0",
            }
        },
    )
    guarded.project.model("sink", BLIND_SINK.replace("note <> 'renamed upstream'", "id % 10 = 0"))
    for run in range(4):
        guarded.project.feed(
            *[(n, "x", f"2024-06-03 {9 + run:02}:{n % 60:02}") for n in range(1 + 15 * run, 16 + 15 * run)]
        )
        guarded.run(f"2024-06-03T{10 + run}:30:00Z", lookback=0)
        assert guarded.check(now=f"2024-06-03T{10 + run}:30:00Z").passed
    window = guarded.project.last_window()
    assert window["target_watermark"] < window["source_watermark"]

    for _ in range(3):
        guarded.run("2024-06-03T15:00:00Z", lookback=0)
    verdict = guarded.check()
    assert "the source stood still" in verdict.said and "blind" not in verdict.said


def test_C61_nothing_fails_under_empty_and_no_window_is_counted(guarded: Guarded) -> None:
    guarded.guard(
        "no_empty_window_streak",
        "windows_contiguous",
        "lookback_headroom",
        {"idempotent_sink": {"unique_key": "id"}},
        {"watermark_valid": {"column_name": "changed_at"}},
        {"data_clock_fresh": {"relation": "source('ods', 'feed')", "watermark": "changed_at", "max_age": "1 hour"}},
        {"nothing_lost": {"source_relation": "source('ods', 'feed')", "unique_key": "id", "watermark": "changed_at"}},
    )
    run = guarded.project.attempt("--empty", command="build")
    assert run.result.success, run.errors() or run.text
    assert guarded.project.ledger() == []
    assert sum(1 for status in run.statuses().values() if status == "pass") == 7


def test_a_source_may_rest_in_its_quiet_times(guarded: Guarded) -> None:
    guarded.guard({"no_empty_window_streak": {"quiet": [["2024-06-02", "2024-06-04"], "2024-06-06"]}})
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    for number in range(1, 8):
        guarded.run(day(number))
    assert guarded.check().passed
    guarded.run(day(8))
    assert "3 windows in a row brought no fresh row: the source stood still" in guarded.check().said


@pytest.mark.any_engine
def test_blindness_has_a_limit_of_its_own_and_no_quiet_time(guarded: Guarded) -> None:
    limits = {"max_windows": 5, "max_blind_windows": 1, "quiet": [["2024-06-01", "2024-06-30"]]}
    guarded.guard({"no_empty_window_streak": limits})
    guarded.project.model("sink", BLIND_SINK)
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.run(day(2))
    assert guarded.check().passed
    guarded.project.feed((3, "renamed upstream", "2024-06-03 10:00"))
    guarded.run(day(3))
    assert "the model was blind while its source moved on" in guarded.check().said


@pytest.mark.any_engine
def test_late_rows_do_not_hide_blindness_where_every_row_should_come(guarded: Guarded) -> None:
    guarded.project.model("sink", BLIND_SINK)
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.project.feed((2, "late", "2024-06-01 09:00"), (3, "renamed upstream", "2024-06-02 10:00"))
    guarded.run(day(2))
    assert guarded.project.last_window()["rows_late"] == 1

    guarded.guard({"no_empty_window_streak": {"max_blind_windows": 1}})
    assert (
        "1 window brought late rows and none newer than 2024-06-01 10:00:00: the model was blind"
        in guarded.check().said
    )
    guarded.guard("no_empty_window_streak")
    assert guarded.check().passed


@pytest.mark.any_engine
def test_a_window_that_failed_is_not_called_blind(guarded: Guarded) -> None:
    guarded.guard({"no_empty_window_streak": {"max_blind_windows": 1}})
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.project.model(
        "sink", BLIND_SINK.replace("note <>", "cast(note as integer) <>").replace("'renamed upstream'", "0")
    )
    guarded.project.feed((2, "x", "2024-06-02 10:00"))
    assert not guarded.project.attempt(now=day(2)).result.success
    assert guarded.check().passed


@pytest.mark.any_engine
@pytest.mark.parametrize("quiet", ["2024-06-01", [["2024-06-02", "2024-06-01"]], [["2024-06-01"]], ["soon"]])
def test_quiet_times_that_cannot_be_read_are_an_error(guarded: Guarded, quiet: object) -> None:
    guarded.guard({"no_empty_window_streak": {"quiet": quiet}})
    run = guarded.project.attempt(command="test")
    assert not run.result.success and "quiet" in run.errors()


@pytest.mark.any_engine
def test_a_source_that_moved_on_while_the_model_failed_did_not_stand_still(guarded: Guarded) -> None:
    guarded.guard({"no_empty_window_streak": {"max_windows": 2}})
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run(day(1))
    guarded.run(day(2))
    guarded.project.feed((2, "y", "2024-06-03 10:00"))
    guarded.project.model("sink", BLIND_SINK.replace("select id, note", "select id, no_such_column as note"))
    guarded.project.attempt(now=day(4))

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "stood still" not in verdict.said
    assert "1 of them failed, the last with" in verdict.said and "no_such_column" in verdict.said
