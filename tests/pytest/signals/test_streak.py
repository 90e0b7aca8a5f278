"""no_empty_window_streak: silence is told apart from rest, and never passes for want of anything to look at."""

from __future__ import annotations

from .conftest import Guarded

BLIND_SINK = """\
{{ config(unique_key='id') }}
select id, note, changed_at
from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
where note <> 'renamed upstream'
"""


def test_passes_while_rows_flow(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    for day in range(1, 6):
        guarded.project.feed((day, "x", f"2024-06-0{day} 10:00"))
        guarded.run(f"2024-06-0{day}T12:00:00Z")
    assert guarded.check().passed


def test_tells_that_the_source_stood_still_though_the_look_back_extracts_rows_every_time(guarded: Guarded) -> None:
    guarded.guard("no_empty_window_streak")
    guarded.project.feed((1, "x", "2024-06-01 10:00"))
    guarded.run("2024-06-01T12:00:00Z")
    for day in (2, 3):
        guarded.run(f"2024-06-0{day}T12:00:00Z")
    assert guarded.check().passed

    guarded.run("2024-06-04T12:00:00Z")
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
    guarded.run("2024-06-01T12:00:00Z")
    for day in (2, 3, 4):
        guarded.project.feed((day, "renamed upstream", f"2024-06-0{day} 10:00"))
        guarded.run(f"2024-06-0{day}T12:00:00Z")

    verdict = guarded.check()

    assert verdict.failures == 1
    assert "blind while its source moved on from 2024-06-01 10:00:00 to 2024-06-04 10:00:00" in verdict.said
    assert "stood still" not in verdict.said
