"""The judge sees what it has to see: it would be a poor one if every history pleased it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from soak.judge import Judge, Named, Row, lost_keys

NINE, TEN, NOON = datetime(2024, 6, 3, 9), datetime(2024, 6, 3, 10), datetime(2024, 6, 3, 12)
LOOKBACK = timedelta(hours=6)
OLD, NEW, OTHER = Row(1, "old", NINE), Row(1, "new", TEN), Row(2, "other", TEN)


def judged(sink: list[Row], visible: tuple[Row, ...] = (OLD, NEW, OTHER), **named: object) -> list[str]:
    judge = Judge()
    judge.source_shows(visible)
    judge.ran(visible, sink_before=[], now=NOON, lookback=LOOKBACK)
    return judge.complaints(visible, sink, NOON, Named(**named))  # type: ignore[arg-type]


def test_newest_versions_please_it() -> None:
    assert judged([NEW, OTHER]) == []


@pytest.mark.parametrize(
    ("sink", "complaint"),
    [
        ([OTHER], "row 1 is lost and nothing names it"),
        ([OLD, OTHER], "row 1 is lost and nothing names it"),
        ([OLD, OTHER], "row 1 of 2024-06-03 10:00:00 was read by a run that succeeded"),
        ([NEW, NEW, OTHER], "row 1 is there 2 times"),
        ([NEW, Row(2, "made up", TEN)], "was never in the source"),
    ],
)
def test_what_is_missing_stale_doubled_or_made_up_does_not(sink: list[Row], complaint: str) -> None:
    assert any(complaint in said for said in judged(sink))


def test_a_row_that_no_window_could_read_may_be_named_instead() -> None:
    judge = Judge()
    late = Row(3, "late", NINE - timedelta(days=3))
    visible = (NEW, OTHER, late)
    judge.source_shows(visible)
    judge.ran(visible, sink_before=[NEW, OTHER], now=NOON, lookback=LOOKBACK)
    assert judge.complaints(visible, [NEW, OTHER], NOON, Named(lost={3})) == []
    assert judge.complaints(visible, [NEW, OTHER], NOON, Named(left_out=[(None, NINE)])) == []
    assert judge.complaints(visible, [NEW, OTHER], NOON, Named()) != []
    # named or not: what a run has read has to be there
    judge.ran(visible, sink_before=[NEW, OTHER], now=NOON, lookback=timedelta(days=4))
    assert judge.complaints(visible, [NEW, OTHER], NOON, Named(lost={3})) != []


def test_false_alarms_gaps_and_unnamed_watermarks_do_not_please_it_either() -> None:
    assert any("named as lost, and is not" in said for said in judged([NEW, OTHER], lost={2}))
    assert any("a gap" in said for said in judged([NEW, OTHER], gaps=["between nine and ten"]))
    assert any("watermark_valid" in said for said in judged([NEW], visible=(NEW, Row(2, "x", None))))
    assert any("watermark_valid" in said for said in judged([NEW], visible=(NEW, Row(2, "x", NOON + LOOKBACK))))


def test_a_sink_ahead_of_its_source_has_lost_nothing_and_a_silent_edit_has() -> None:
    assert lost_keys([OLD], [NEW], NOON) == set()
    assert lost_keys([Row(1, "edited", TEN)], [NEW], NOON) == {1}
    assert lost_keys([NEW, Row(1, "tied", TEN)], [NEW], NOON) == set()
