"""One bad row is set aside and told of; too many stop the run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quarantine.conftest import RULES, SINK, Guarded, at

NOON = "2024-06-03T12:00:00Z"
NEXT_DAY = "2024-06-04T12:00:00Z"


@pytest.mark.parametrize("run", ["first build", "later run", "full refresh"])
def test_C56_one_bad_row_in_a_thousand_is_quarantined_and_the_others_are_delivered(guarded: Guarded, run: str) -> None:
    guarded.declare()
    if run != "first build":
        guarded.feed((0, "1", at(0)))
        guarded.project.run(now=NOON)
    guarded.feed_many(1000, bad=1)
    guarded.project.run(*(["--full-refresh"] if run == "full refresh" else []), now=NEXT_DAY)

    expected = list(range(2, 1001)) if run == "first build" else [0, *range(2, 1001)]
    assert guarded.project.ids() == expected
    assert guarded.letters() == [("1", "grade_is_a_number")]
    read_again = {"unchanged": 1} if run == "later run" else {}
    inserted = 1000 if run == "full refresh" else 999
    assert guarded.project.counts() == {
        "extracted": 1000 if run == "first build" else 1001,
        "inserted": inserted,
        "quarantined": 1,
        **read_again,
    }


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_C56_400_in_1000_trip_the_breaker_and_nothing_is_written(guarded: Guarded, run: str) -> None:
    guarded.declare()
    if run == "later run":
        guarded.feed((0, "1", at(0)))
        guarded.project.run(now=NOON)
    guarded.feed_many(1000, bad=400)
    before = guarded.project.ids() if run == "later run" else None
    said = guarded.project.refused(now=NEXT_DAY)

    assert "400 of the 100" in said and "of them break grade_is_a_number" in said
    assert "(40.0 %)" in said and "max_share = 0.1" in said
    assert said.count("key '") == 3 and "key '1' has 'n/a 1'" in said
    assert guarded.project.last_window()["status"] == "failed"
    assert "400 of the 100" in guarded.project.last_window()["message"]
    assert guarded.letters(only_open=False) == []
    if run == "later run":
        assert guarded.project.ids() == before
    else:
        assert not guarded.warehouse.has_table("sync.sink")


def test_the_breaker_can_be_opened_for_one_run(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed_many(1000, bad=400)
    guarded.project.run(now=NEXT_DAY, variables={"two_clocks_breaker": False})
    assert len(guarded.letters()) == 400 and len(guarded.project.ids()) == 600
    # those 400 have been judged: they jam no later run
    guarded.feed((2000, "5", at(1001)))
    guarded.project.run(now=NEXT_DAY)
    assert guarded.project.counts() == {"extracted": 1001, "inserted": 1, "unchanged": 600, "quarantined": 400}


def test_few_bad_rows_in_a_small_window_do_not_trip_and_a_number_does(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed_many(19, bad=5)
    guarded.project.run(now=NEXT_DAY)
    assert len(guarded.letters()) == 5

    guarded.declare(max_rows=2)
    guarded.feed((101, "x", at(101)), (102, "x", at(102)), (103, "x", at(103)))
    assert "max_rows = 2" in guarded.project.refused(now=NEXT_DAY)


def test_a_row_repaired_at_the_source_leaves_quarantine_when_it_is_read(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a", at(1)), (2, "20", at(2)), (3, "n/a", at(3)))
    guarded.project.run(now=NOON)
    guarded.project.run(now=NOON)
    assert guarded.letters("key, times_seen") == [("1", 2), ("3", 2)]

    guarded.repair(1)  # in place, watermark as it was
    guarded.repair(3, changed_at=at(10))
    guarded.project.run(now=NOON)
    assert guarded.letters() == []
    assert guarded.letters("key, released_by, released_why", only_open=False) == [
        ("1", "run", "read as good"),
        ("3", "run", "read as good"),
    ]
    assert guarded.project.ids() == [1, 2, 3]

    guarded.repair(1, grade="worse", changed_at=at(20))
    guarded.project.run(now=NOON)
    assert guarded.letters() == [("1", "grade_is_a_number")]
    assert guarded.project.rows("id, grade")[0][1] == 50, "the version that was good stays"


def test_a_bad_row_outside_the_window_stays_open_until_it_is_read(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a", at(1)), (2, "20", at(600)))
    guarded.project.run(now=NOON)
    guarded.repair(1)
    guarded.project.run(now=NOON, lookback="1 hour")
    assert guarded.letters("key, times_seen") == [("1", 1)]
    guarded.project.run(now=NOON, variables={"two_clocks_backfill_from": at(0), "two_clocks_backfill_to": at(2)})
    assert guarded.letters() == [] and guarded.project.ids() == [1, 2]


def test_a_bad_version_that_a_newer_good_one_has_overtaken_needs_nobody(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a", at(1)), (1, "10", at(2)), (2, "10", at(1)), (2, "n/a", at(2)))
    guarded.project.run(now=NOON)
    assert guarded.project.ids() == [1, 2]
    assert guarded.letters() == [("2", "grade_is_a_number")]
    assert guarded.project.counts() == {"extracted": 4, "inserted": 2, "quarantined": 2}
    guarded.feed((2, "30", at(3)))
    guarded.project.run(now=NOON)
    assert guarded.letters() == []
    guarded.project.run(now=NOON)
    assert guarded.letters() == []


def test_C26_a_null_watermark_goes_to_quarantine_where_a_rule_says_so(guarded: Guarded) -> None:
    guarded.declare([{"name": "no_watermark", "watermark": "null"}, {"name": "from_the_future", "watermark": "future"}])
    guarded.feed_many(98, bad=0)
    guarded.feed((99, "1", None), (100, "1", "2031-01-01 00:00"))
    guarded.project.run(now=NEXT_DAY)
    assert len(guarded.project.ids()) == 98
    assert guarded.letters() == [("100", "from_the_future"), ("99", "no_watermark")]
    assert guarded.project.counts() == {"extracted": 100, "inserted": 98, "quarantined": 2}

    guarded.project.run(now="2031-01-01T12:00:00Z")
    assert guarded.letters() == [("99", "no_watermark")], "the other one came due"
    # stamped at last, but below the look-back: it was not delivered, so the letter stays
    guarded.warehouse.execute("update ods.feed set changed_at = cast('2024-06-03 11:00' as timestamp) where id = 99")
    guarded.project.run(now="2031-01-01T12:00:00Z")
    assert len(guarded.project.ids()) == 99 and guarded.letters() == [("99", "no_watermark")]
    guarded.project.run(
        now="2031-01-01T12:00:00Z",
        variables={"two_clocks_backfill_from": "2024-06-03", "two_clocks_backfill_to": "2024-06-03"},
    )
    assert len(guarded.project.ids()) == 100 and guarded.letters() == []


def test_C26_without_a_watermark_at_all_the_breaker_trips(guarded: Guarded) -> None:
    guarded.declare([{"name": "no_watermark", "watermark": None}])
    for key in range(30):
        guarded.feed((key, "1", None))
    said = guarded.project.refused(now=NOON)
    assert "30 of the 30 rows" in said and "no_watermark" in said


@pytest.mark.parametrize("run", ["first build", "later run"])
def test_C30_a_null_in_the_key_is_quarantined_and_counted(guarded: Guarded, run: str) -> None:
    project = guarded.project
    project.source("pairs", {"a": "integer", "b": "varchar(10)", "changed_at": "timestamp"})
    project.model(
        "pairs",
        "{{ config(unique_key=['a', 'b']) }} select a, b, changed_at from {{ two_clocks.windowed(source('ods', 'pairs'), 'changed_at') }} as pairs",
    )
    guarded.declare([], model="pairs", key=["a", "b"])
    columns = ("a", "b", "changed_at")
    if run == "later run":
        project.feed((0, "x", at(0)), table="pairs", columns=columns)
        project.run(now=NOON)
    project.feed(
        (1, "x", at(1)), (2, None, at(2)), (None, "y", at(3)), (2, None, at(4)), table="pairs", columns=columns
    )
    project.run(now=NOON)
    project.run(now=NOON)

    stored = project.rows("a, b", model="pairs")
    assert [row for row in stored if row[0] != 0] == [(1, "x")]
    assert guarded.letters("rule, times_seen") == [("null_key", 2)] * 3
    assert project.counts("pairs")["quarantined"] == 3
    assert guarded.project.last_window("pairs")["status"] == "succeeded"

    guarded.warehouse.execute(
        "update ods.pairs set a = 5, changed_at = cast('2024-06-03 05:00' as timestamp) where a is null"
    )
    project.run(now=NOON)
    assert (5, "y") in project.rows("a, b", model="pairs")
    assert len(guarded.letters()) == 2


def test_rules_are_tried_in_order_so_that_one_may_lean_on_the_cast_of_another(guarded: Guarded) -> None:
    guarded.declare(
        [
            {"name": "grade_is_a_number", "column": "grade", "cast_to": "numeric(10, 2)"},
            {"name": "grade_in_range", "valid": "cast(grade as numeric(10, 2)) between 0 and 100"},
        ]
    )
    guarded.feed((1, "n/a", at(1)), (2, "101", at(2)), (3, "99.5", at(3)), (4, None, at(4)))
    guarded.project.run(now=NOON)
    assert guarded.letters() == [("1", "grade_is_a_number"), ("2", "grade_in_range")]
    assert guarded.project.ids() == [3, 4], "NULL breaks no rule but that of the key"


def test_a_condition_of_the_model_never_meets_a_bad_row(guarded: Guarded) -> None:
    # cheap for the planner, which puts cheap conditions first; the rules are dear
    guarded.project.model("sink", SINK + "where cast(grade as integer) > 5")
    more = [{"name": f"rule_{number}", "valid": f"length(grade) < {number}"} for number in range(20, 40)]
    guarded.declare([*RULES, *more])
    guarded.feed_many(100, bad=2)
    guarded.feed((500, "3", at(500)))
    guarded.project.run(now=NEXT_DAY)
    assert len(guarded.letters()) == 2 and 500 not in guarded.project.ids()


def test_the_row_is_kept_as_json_unless_it_must_not_be(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a \"x\" 'y' \\", at(1)))
    guarded.project.run(now=NOON)
    (kept,) = guarded.letters("key, row_json")
    assert json.loads(kept[1])["grade"] == "n/a \"x\" 'y' \\"
    guarded.declare(keep_row=False)
    guarded.project.run(now=NOON)
    assert guarded.letters("key, row_json, first_seen, watermark_value")[0][1] is None


def test_one_failing_run_writes_neither_good_rows_nor_letters(guarded: Guarded) -> None:
    guarded.declare([{"name": "in_range", "valid": "id > 0"}])
    guarded.feed((-1, "1", at(1)), (1, "1", at(2)), (2, "n/a", at(3)))
    guarded.project.refused(now=NOON)
    assert guarded.letters(only_open=False) == []
    assert guarded.project.last_window()["status"] == "failed"


def test_compile_writes_nothing(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a", at(1)))
    before = guarded.project.everything()
    guarded.project.run(command="compile")
    assert guarded.project.everything() == before


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("yes", "write a mapping with key and rules"),
        ({"rules": []}, "names no key"),
        ({"key": "id", "rule": []}, "unknown key 'rule'"),
        ({"key": "id", "rules": {"name": "x"}}, "write a list of rules"),
        ({"key": "id", "rules": [{"valid": "1 = 1"}]}, "without a plain name"),
        ({"key": "id", "rules": [{"name": "x"}]}, "not one of the three kinds"),
        ({"key": "id", "rules": [{"name": "x", "column": "grade", "valid": "1 = 1"}]}, "not one of the three kinds"),
        ({"key": "id", "rules": [{"name": "x", "column": "grade"}]}, "not one of the three kinds"),
        ({"key": "id", "rules": [{"name": "x", "watermark": "past"}]}, "write 'null' or 'future'"),
        ({"key": "id", "rules": [{"name": "null_key", "valid": "1 = 1"}]}, "two rules named"),
        ({"key": "id", "rules": [{"name": "x", "column": "grade", "cast_to": "int; drop"}]}, "no name of a type"),
        ({"key": "id", "max_share": 2}, "a share between 0 and 1"),
        ({"key": "id", "min_rows": "few"}, "a whole number"),
        ({"key": "id", "keep_row": "no thanks"}, "write true or false"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence_and_leaves_no_row(
    guarded: Guarded, said: Any, words: str
) -> None:
    guarded.declare_as(said)
    guarded.feed((1, "1", at(1)))
    message = guarded.project.refused(now=NOON)
    assert words in message and "two_clocks:" in message
    assert guarded.project.ledger() == []
