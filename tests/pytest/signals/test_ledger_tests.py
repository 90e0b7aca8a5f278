"""lookback_headroom and windows_contiguous."""

from __future__ import annotations

import pytest

from .conftest import Guarded


def late_by(guarded: Guarded, hours: int, lookback: str = "48 hours") -> None:
    """A row arrives so long after the watermark it should have come before."""
    guarded.project.feed((1, "x", "2024-06-10 12:00"))
    guarded.run("2024-06-10T13:00:00Z", lookback=lookback)
    at = 10 * 24 + 12 - hours
    guarded.project.feed((2, "late", f"2024-06-{at // 24:02} {at % 24:02}:00"))
    guarded.run("2024-06-10T14:00:00Z", lookback=lookback)


def test_headroom_passes_while_little_of_the_look_back_is_used(guarded: Guarded) -> None:
    guarded.guard("lookback_headroom")
    late_by(guarded, hours=38)
    assert guarded.project.last_window()["max_lateness_seconds"] == 38 * 3600
    assert guarded.check().passed


def test_headroom_fails_before_a_row_is_lost(guarded: Guarded) -> None:
    guarded.guard("lookback_headroom")
    late_by(guarded, hours=39)

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "a row came 39 hours late" in verdict.said and "look-back is 2 days" in verdict.said
    assert "two-clocks lookback --select sink" in verdict.said


@pytest.mark.any_engine
def test_headroom_takes_the_share_that_is_asked_for(guarded: Guarded) -> None:
    late_by(guarded, hours=30)
    guarded.guard({"lookback_headroom": {"min_headroom": 0.5}})
    assert guarded.check().failures == 1
    guarded.guard({"lookback_headroom": {"min_headroom": 0.3}})
    assert guarded.check().passed


@pytest.mark.any_engine
def test_a_longer_look_back_answers_the_finding(guarded: Guarded) -> None:
    guarded.guard("lookback_headroom")
    late_by(guarded, hours=47)
    assert guarded.check().failures == 1
    guarded.run("2024-06-10T15:00:00Z", lookback="5 days")
    assert guarded.check().passed


@pytest.mark.any_engine
def test_headroom_fails_for_a_model_that_never_ran(guarded: Guarded) -> None:
    guarded.guard("lookback_headroom")
    verdict = guarded.check()
    assert verdict.failures == 1 and "no window of it succeeded yet" in verdict.said


def test_windows_that_join_pass(guarded: Guarded) -> None:
    guarded.guard("windows_contiguous")
    for number in (1, 2, 9):
        guarded.project.feed((number, "x", f"2024-06-0{number} 10:00"))
        guarded.run(f"2024-06-0{number}T12:00:00Z", lookback=0)
    assert guarded.check().passed


def jumped(guarded: Guarded) -> None:
    """Somebody puts a row into the target by hand; the next window starts from it."""
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run("2024-06-01T12:00:00Z", lookback="1 hour")
    guarded.warehouse.insert("sync.sink", [{"id": 9, "note": "by hand", "changed_at": "2024-06-05 10:00"}])
    guarded.project.feed((2, "x", "2024-06-03 10:00"), (3, "x", "2024-06-06 10:00"))
    guarded.run("2024-06-06T12:00:00Z", lookback="1 hour")
    assert guarded.project.ids() == [1, 3, 9]


def test_a_range_that_no_window_read_is_named_with_the_backfill_that_closes_it(guarded: Guarded) -> None:
    guarded.guard("windows_contiguous")
    jumped(guarded)

    verdict = guarded.check()
    assert verdict.failures == 1
    assert "no window ever read the watermarks between 2024-06-01 10:00:00 and 2024-06-05 09:00:00" in verdict.said
    assert (
        'two_clocks_backfill_from: "2024-06-01 10:00:00", two_clocks_backfill_to: "2024-06-05 09:00:00"' in verdict.said
    )

    bounds = {"two_clocks_backfill_from": "2024-06-01 10:00:00", "two_clocks_backfill_to": "2024-06-05 09:00:00"}
    guarded.run("2024-06-06T12:00:00Z", variables=bounds)
    assert guarded.check().passed
    assert guarded.project.ids() == [1, 2, 3, 9]


@pytest.mark.any_engine
def test_a_backfill_in_pieces_closes_a_range_too(guarded: Guarded) -> None:
    guarded.guard("windows_contiguous")
    jumped(guarded)
    for lower, upper in (("2024-06-01 10:00", "2024-06-03"), ("2024-06-03", "2024-06-05 09:00")):
        bounds = {"two_clocks_backfill_from": lower, "two_clocks_backfill_to": upper}
        guarded.run("2024-06-06T12:00:00Z", variables=bounds)
    assert guarded.check().passed


def test_what_is_backfilled_below_the_first_window_of_an_adopted_target_opens_no_range(guarded: Guarded) -> None:
    guarded.guard("windows_contiguous")
    guarded.project.feed(*((day, "x", f"2024-06-0{day} 10:00") for day in range(1, 7)))
    guarded.run("2024-06-06T12:00:00Z", lookback="1 hour")
    guarded.warehouse.execute("delete from sync.two_clocks_window_ledger")  # as if another sync had filled the target
    guarded.run("2024-06-06T12:00:00Z", lookback="1 hour")
    for day in (2, 4):
        bounds = {"two_clocks_backfill_from": f"2024-06-0{day}", "two_clocks_backfill_to": f"2024-06-0{day}"}
        guarded.run("2024-06-06T12:00:00Z", variables=bounds)
    assert guarded.check().passed

    # above the first window a range that nobody read is still one
    guarded.warehouse.insert("sync.sink", [{"id": 9, "note": "by hand", "changed_at": "2024-06-08 10:00"}])
    guarded.project.feed((9, "x", "2024-06-08 10:00"))
    guarded.run("2024-06-08T12:00:00Z", lookback="1 hour")
    assert "between 2024-06-06 10:00:00 and 2024-06-08 09:00:00" in guarded.check().said


def test_a_full_refresh_closes_a_range(guarded: Guarded) -> None:
    guarded.guard("windows_contiguous")
    jumped(guarded)
    guarded.project.run("--full-refresh", now="2024-06-06T12:00:00Z", variables={"two_clocks_max_shrink": 1})
    assert guarded.check().passed


def test_a_gap_of_ids_is_named(guarded: Guarded) -> None:
    guarded.project.source("steps", {"id": "integer", "note": "varchar(50)"})
    guarded.project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, note from {{ two_clocks.windowed(source('ods', 'steps'), 'id', lookback=2) }} as steps",
    )
    guarded.guard("windows_contiguous")
    guarded.project.feed((8, "x"), (9, "x"), table="steps", columns=("id", "note"))
    guarded.run("2024-06-01T12:00:00Z")
    guarded.project.feed((10, "x"), (11, "x"), table="steps", columns=("id", "note"))
    guarded.run("2024-06-01T13:00:00Z")
    assert guarded.check().passed

    guarded.warehouse.insert("sync.sink", [{"id": 100, "note": "by hand"}])
    guarded.project.feed((101, "x"), table="steps", columns=("id", "note"))
    guarded.run("2024-06-01T14:00:00Z")

    assert "between 11 and 98" in guarded.check().said


@pytest.mark.any_engine
def test_contiguity_fails_for_a_model_that_never_ran(guarded: Guarded) -> None:
    guarded.guard("windows_contiguous")
    verdict = guarded.check()
    assert verdict.failures == 1 and "no window of it was ever read" in verdict.said


@pytest.mark.any_engine
@pytest.mark.parametrize("share", ["much", -1, 2])
def test_an_argument_that_cannot_be_read_is_an_error_that_names_it(guarded: Guarded, share: object) -> None:
    guarded.guard({"lookback_headroom": {"min_headroom": share}})
    run = guarded.project.attempt(command="test")
    assert not run.result.success
    assert "min_headroom is" in run.errors()
