"""What this package promises to cost, each with what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OURS, LIMIT, STOCK = "two_clocks", "hand_written", "stock_merge"
MAIN_SIZE = 10_000_000


@dataclass(frozen=True)
class Aim:
    text: str
    measured: str
    reached: bool


def aims(result: dict[str, Any]) -> list[Aim]:
    """Those that this run can tell; none where it measured something else."""
    found = []
    by_size = {one["rows"]: one["contenders"] for one in result.get("steady", {}).get("postgres", [])}
    size = MAIN_SIZE if MAIN_SIZE in by_size else max(by_size, default=0)
    at = f"at {size:,} rows"
    for name, other, key, most, text in (
        (OURS, STOCK, "database_wal_bytes", 0.05, "WAL of the stock merge"),
        (OURS, LIMIT, "database_seconds", 1.15, "the hand-written SQL's database time"),
        (OURS, STOCK, "database_seconds", 0.6, "the stock merge's database time"),
    ):
        if size and name in by_size[size] and other in by_size[size]:
            ratio = by_size[size][name]["medians"][key] / by_size[size][other]["medians"][key]
            found.append(_at_most(f"at most {most:g} of {text} {at}", ratio, most))
    small, large = min(by_size, default=0), max(by_size, default=0)
    if small < large and OURS in by_size[small] and OURS in by_size[large]:
        ratio = (
            by_size[large][OURS]["medians"]["database_seconds"] / by_size[small][OURS]["medians"]["database_seconds"]
        )
        found.append(_at_most(f"database time at {large:,} rows at most 1.2 of that at {small:,}", ratio, 1.2))
    for one in result.get("models", [])[-1:]:
        ratio = one[OURS]["run"] / one[STOCK]["run"]
        found.append(_at_most(f"a run of {one['models']} models at most 1.1 of the plain project's", ratio, 1.1))
    if "load_log" in result:
        asked = result["load_log"]["queries"]
        found.append(Aim("at most two queries per model where the load log has not moved", str(asked), asked <= 2))
    return found


def _at_most(text: str, ratio: float, most: float) -> Aim:
    return Aim(text, f"{ratio:.3f}" if most < 0.1 else f"{ratio:.2f}", ratio <= most)
