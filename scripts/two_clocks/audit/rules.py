"""The rules: what each looks for, how bad it is, and what a fix looks like. docs/audit.md shows each with lost rows."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("low", "medium", "high")
SAFE, AT_RISK, LOSES, NOT_JUDGED = "safe", "at risk", "loses rows", "not judged"
VERDICTS = (NOT_JUDGED, SAFE, AT_RISK, LOSES)  # from the mildest to the gravest


@dataclass(frozen=True)
class Rule:
    """One thing the audit looks for."""

    code: str
    name: str
    title: str
    help: str


RULES = {
    rule.code: rule
    for rule in (
        Rule(
            "TC01",
            "two_clocks.wall_clock_window",
            "A window is bounded by the wall clock",
            "Bound the window by what the data shows: the greatest watermark that the target holds, minus a look-back.",
        ),
        Rule(
            "TC02",
            "two_clocks.unguarded_maximum",
            "The target's maximum is NULL while the target is empty",
            "Say what happens while the target is empty: coalesce the maximum, or add `or (select max(...) ...) is null`.",
        ),
        Rule(
            "TC03",
            "two_clocks.strict_watermark",
            "A strict comparison with the maximum, and no look-back",
            "Compare with `>=` and start a look-back before the maximum; a unique key makes the repeats harmless.",
        ),
        Rule(
            "TC04",
            "two_clocks.lookback_without_key",
            "Rows are read again, and no unique key keeps them from being stored twice",
            "Set `unique_key` and a strategy that uses it (newest_wins, merge, delete+insert).",
        ),
        Rule(
            "TC05",
            "two_clocks.self_made_watermark",
            "The watermark is a column that the model itself fills from the wall clock",
            "Keep the source's own change time in the model and take the maximum of that.",
        ),
        Rule(
            "TC06",
            "two_clocks.incremental_predicates",
            "incremental_predicates bounded by the wall clock, or holding a bare OR",
            "Bound the predicate by the data, leave it out, or put parentheses around the OR.",
        ),
        Rule(
            "TC07",
            "two_clocks.one_maximum_for_many",
            "One maximum serves several sources",
            "Take the maximum for each source (`where source_name = '...'`), or use a stream for each.",
        ),
        Rule(
            "TC08",
            "two_clocks.foreign_watermark",
            "The filter is on a column that the model does not carry",
            "Carry the filtered column into the model and compare it with its own maximum.",
        ),
        Rule(
            "TC09",
            "two_clocks.microbatch_lookback",
            "A microbatch look-back counts from the wall clock",
            "Make `lookback` longer than the longest pause, and backfill after one with --event-time-start.",
        ),
        Rule(
            "TC10",
            "two_clocks.no_lookback",
            "No look-back: a row that becomes visible late is not read",
            "Start a look-back before the maximum.",
        ),
        Rule(
            "TC11",
            "two_clocks.forgets_target",
            "The window starts at the source's own maximum, whatever the target holds",
            "Start from the greatest watermark that the target holds, minus a look-back.",
        ),
    )
}


def as_span(seconds: float | None) -> str:
    """A length of time for people."""
    if seconds is None:
        return "an amount that the template computes"
    seconds = abs(seconds)
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"
