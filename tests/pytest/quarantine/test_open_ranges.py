"""A row that the model's own SQL cannot digest is found by halving; everything else is delivered."""

from __future__ import annotations

import json
import math

import pytest
import yaml

from quarantine.conftest import SINK, Guarded, at
from quarantine.test_commands import two_clocks
from two_clocks.recovery.reconciling import LEFT_OUT, WRITTEN_OFF

NEXT_DAY = "2024-06-04T12:00:00Z"


def declare(guarded: Guarded, **poison: object) -> None:
    settings = {"meta": {"two_clocks_poison": poison or True}}
    content = {"models": [{"name": "sink", "config": settings, "data_tests": ["two_clocks.windows_contiguous"]}]}
    guarded.project.write("models/sync/sink.yml", yaml.safe_dump(content))


def ranges(guarded: Guarded) -> list[tuple[str, str, str, str]]:
    rows = guarded.warehouse.query(
        "select state, lower_value, upper_value, message from sync.two_clocks_open_ranges order by opened_at"
    )
    return [tuple(row.values()) for row in rows]


def run_until_pinned(guarded: Guarded, limit: int) -> int:
    for number in range(1, limit + 1):
        run = guarded.project.attempt(now=NEXT_DAY)
        if (
            run.result.success
            and guarded.warehouse.has_table("sync.two_clocks_open_ranges")
            and ranges(guarded)[-1][0] == "pinned"
        ):
            return number
    raise AssertionError(f"not pinned after {limit} runs: {ranges(guarded)}")


@pytest.mark.parametrize("start", ["first build", "later run"])
def test_C56_poison_inside_the_model_is_pinned_and_all_other_rows_are_delivered(guarded: Guarded, start: str) -> None:
    rows = 12
    declare(guarded, after=2)
    if start == "later run":
        guarded.feed((0, "1", at(0)))
        guarded.project.run(now=NEXT_DAY)
    for key in range(1, rows + 1):
        guarded.feed((key, "poison" if key == 5 else "7", at(key)))
    runs = run_until_pinned(guarded, 2 + math.ceil(math.log2(rows + 1)) + 3)

    delivered = [key for key in range(1, rows + 1) if key != 5]
    assert [key for key in guarded.project.ids() if key] == delivered
    state, lower, upper, message = ranges(guarded)[-1]
    assert (state, lower[:16], upper[:16]) == ("pinned", at(5)[:16], at(5)[:16]), "this watermark and no other"
    assert "poison" in message
    check = two_clocks(guarded, "check", now=NEXT_DAY)
    assert (
        check.exit_code == 1
        and "ERROR open_range  model sink, range [2024-06-03 00:05:00, 2024-06-03 00:05:00]" in check.stderr
    ), check.output
    assert "poison" in check.stderr and runs > 2
    contiguous = guarded.project.attempt(command="test", now=NEXT_DAY)
    assert not contiguous.result.success and "which windows leave out" in contiguous.text, contiguous.text
    (found,) = json.loads(two_clocks(guarded, "reconcile", "--select", "sink", "--json", now=NEXT_DAY).stdout)[
        "comparisons"
    ]
    assert [(row["key"]["id"], row["reason"]) for row in found["keys"]] == [("5", LEFT_OUT)]

    # rows that come later pass it by, and once it is mended a retry closes it
    guarded.feed((99, "7", at(99)))
    guarded.project.run(now=NEXT_DAY)
    assert 99 in guarded.project.ids()
    guarded.repair(5)
    retried = two_clocks(guarded, "quarantine", "retry", "--select", "sink", now=NEXT_DAY)
    assert retried.exit_code == 0, retried.output
    assert 5 in guarded.project.ids() and ranges(guarded)[-1][0] == "closed"
    assert "open_range" not in two_clocks(guarded, "check", now=NEXT_DAY).stderr
    assert guarded.project.attempt(command="test", now=NEXT_DAY).result.success


@pytest.mark.any_engine
def test_two_poisons_are_found_one_after_the_other_by_the_default(guarded: Guarded) -> None:
    for key in range(1, 9):
        guarded.feed((key, "poison" if key in (3, 6) else "7", at(key)))
    for _ in range(
        2 * (3 + 3 + 1)
    ):  # a search each: three failures, log2(8) halves, and the run that delivers the rest
        guarded.project.attempt(now=NEXT_DAY)
    assert guarded.project.ids() == [1, 2, 4, 5, 7, 8]
    assert [(state, upper[:16]) for state, _, upper, _ in ranges(guarded)] == [
        ("pinned", at(3)[:16]),
        ("pinned", at(6)[:16]),
    ]
    for key in (3, 6):
        guarded.repair(key)
    assert two_clocks(guarded, "quarantine", "retry", "--select", "sink", now=NEXT_DAY).exit_code == 0
    assert guarded.project.ids() == list(range(1, 9))
    assert {state for state, *_ in ranges(guarded)} == {"closed"}


@pytest.mark.any_engine
@pytest.mark.parametrize("failures", [3, 5])
def test_a_cause_that_goes_away_leaves_no_range_behind_and_holds_nothing_back_for_long(
    guarded: Guarded, failures: int
) -> None:
    """A model that was broken as a whole for some nights: no row of it is poison."""
    guarded.project.run(now=NEXT_DAY)
    for key in range(1, 17):
        guarded.feed((key, "7", at(key)))
    guarded.project.model("sink", SINK.replace("cast(grade", "cast('broken' || grade"))
    for _ in range(failures):
        assert not guarded.project.attempt(now=NEXT_DAY).result.success
    guarded.project.model("sink", SINK)
    runs = 0
    while len(guarded.project.ids()) < 16:
        runs += 1
        guarded.project.run(now=NEXT_DAY)
        assert runs <= (2 if failures == 3 else 5)
    guarded.project.run(now=NEXT_DAY)
    assert [state for state, *_ in ranges(guarded)] == ["closed"]


def pinned_at_two(guarded: Guarded) -> None:
    declare(guarded, after=1)
    guarded.feed((1, "7", at(1)), (2, "poison", at(200)), (3, "7", at(400)))
    run_until_pinned(guarded, 7)
    assert guarded.project.ids() == [1, 3]


@pytest.mark.any_engine
def test_what_comes_later_between_a_pinned_watermark_and_others_is_delivered(guarded: Guarded) -> None:
    pinned_at_two(guarded)
    guarded.feed((10, "7", at(100)), (11, "7", at(300)))
    guarded.project.run(now=NEXT_DAY)
    assert guarded.project.ids() == [1, 3, 10, 11]
    arguments = ("--select", "sink", "--reason", "gone")
    assert two_clocks(guarded, "quarantine", "write-off", *arguments, now=NEXT_DAY).exit_code == 0
    guarded.feed((12, "7", at(150)))
    guarded.project.run(now=NEXT_DAY)
    assert guarded.project.ids() == [1, 3, 10, 11, 12]
    (found,) = json.loads(two_clocks(guarded, "reconcile", "--json", now=NEXT_DAY).stdout)["comparisons"]
    assert [(row["key"]["id"], row["reason"]) for row in found["keys"]] == [("2", WRITTEN_OFF)]


@pytest.mark.any_engine
def test_a_range_that_is_empty_for_one_run_stays_open(guarded: Guarded) -> None:
    """As when the source is emptied and filled again."""
    pinned_at_two(guarded)
    guarded.warehouse.execute("delete from ods.feed where id = 2")
    guarded.project.run(now=NEXT_DAY)
    assert "open_range" in two_clocks(guarded, "check", now=NEXT_DAY).stderr
    guarded.feed((2, "poison", at(200)))
    guarded.project.run(now=NEXT_DAY)
    assert ranges(guarded)[-1][0] == "pinned"
    guarded.warehouse.execute("delete from ods.feed where id = 2")
    guarded.project.run(now=NEXT_DAY)
    guarded.project.run(now="2024-06-05T12:00:00Z")
    assert ranges(guarded)[-1][0] == "closed"


@pytest.mark.any_engine
def test_a_range_stays_with_its_table_when_the_model_is_renamed(guarded: Guarded) -> None:
    pinned_at_two(guarded)
    for suffix in (".sql", ".yml"):
        (guarded.project.directory / f"models/sync/sink{suffix}").unlink()
    guarded.project.model("renamed", SINK.replace("unique_key='id'", "unique_key='id', alias='sink'"))
    guarded.project.run(now=NEXT_DAY)
    assert guarded.project.ids() == [1, 3]
    check = two_clocks(guarded, "check", now=NEXT_DAY)
    assert "ERROR open_range  model renamed" in check.stderr, check.stderr


@pytest.mark.any_engine
def test_the_search_can_be_turned_off(guarded: Guarded) -> None:
    guarded.project.write(
        "models/sync/sink.yml",
        yaml.safe_dump({"models": [{"name": "sink", "config": {"meta": {"two_clocks_poison": False}}}]}),
    )
    guarded.feed((1, "poison", at(1)), (2, "7", at(2)))
    for _ in range(5):
        assert not guarded.project.attempt(now=NEXT_DAY).result.success
    assert not guarded.warehouse.has_table("sync.two_clocks_open_ranges")


@pytest.mark.any_engine
def test_a_range_can_be_written_off_with_a_reason_and_stays_left_out(guarded: Guarded) -> None:
    declare(guarded, after=1)
    guarded.feed((1, "7", at(1)), (2, "poison", at(2)))
    run_until_pinned(guarded, 5)
    assert guarded.project.ids() == [1]
    result = two_clocks(
        guarded, "quarantine", "write-off", "--select", "sink", "--reason", "lost in 2019", now=NEXT_DAY
    )
    assert result.exit_code == 0, result.output
    guarded.project.run(now=NEXT_DAY)
    assert "open_range" not in two_clocks(guarded, "check", now=NEXT_DAY).stderr
    assert ranges(guarded)[-1][0] == "written_off"


@pytest.mark.any_engine
def test_a_range_no_wider_than_the_floor_is_pinned_as_it_is(guarded: Guarded) -> None:
    declare(guarded, after=1, floor="1 hour")
    for key in (1, 2, 3):
        guarded.feed((key, "poison" if key == 2 else "7", at(key)))
    guarded.feed((4, "7", at(600)))
    run_until_pinned(guarded, 4)
    assert guarded.project.ids() == [3, 4], "1 lies in the range with 2"
    # the row leaves the range at its source: nothing is left in it but good ones
    guarded.repair(2)
    assert two_clocks(guarded, "quarantine", "retry", "--select", "sink", now=NEXT_DAY).exit_code == 0
    assert guarded.project.ids() == [1, 2, 3, 4]
