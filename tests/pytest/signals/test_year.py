"""The year in the life, in short: a healthy week, and every fault once. The full year is ./scripts/year."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from . import year


def test_a_healthy_week_with_a_weekend_and_a_bank_holiday_raises_no_alarm(tmp_path: Path) -> None:
    # from a Friday to the night after the first of May, which is a Wednesday; the month's end lies in it too
    runs, alarms = year.healthy(tmp_path, nights=7, first_day=date(2024, 4, 26))
    assert runs == 7
    assert alarms == []


def test_every_fault_is_named_by_the_first_run_that_could_know(tmp_path: Path) -> None:
    # a partial load shows itself after a week, when what it left out comes: that is for the full year
    faults = [name for name in year.FAULTS if name != "load_partial"]
    named = year.faulty(tmp_path, date(2024, 3, 5), faults, nights_before=1, nights_after=3)
    runs = {name: count for name, (count, _) in named.items()}
    assert runs == {name: year.KNOWABLE.get(name, 1) for name in faults}
    words = {name: finding.what_happened for name, (_, finding) in named.items() if finding}
    assert "the model was blind" in words["filter_blind"]
    assert "the source stood still" in words["source_frozen"]
    assert "the source went back" in words["source_restored"]
    assert "is missing" in words["rows_too_late"]
    assert "ahead of the wall clock" in words["clock_skew"]
    assert "the watermark is NULL" in words["watermark_nulled"]
    assert "stands in 2 rows" in words["duplicate_keys"]
    assert "its data clock is" in words["load_missing"]
