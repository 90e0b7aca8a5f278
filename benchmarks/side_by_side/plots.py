"""Two plots as SVG beside the page: what a run costs as the table grows, and what it writes to the log."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

WIDTH, LEFT, BAR, GAP = 760, 260, 18, 8


def write_plots(result: dict[str, Any], folder: Path) -> list[str]:
    """Writes what this run can tell; returns Markdown that shows it."""
    runs = result.get("steady", {}).get("postgres", [])
    if not runs:
        return []
    shown = []
    names = dict.fromkeys(name for one in runs for name in one["contenders"])
    for file, title, key, scale in (
        ("performance-time.svg", "Database seconds of one run", "database_seconds", 1),
        ("performance-wal.svg", "WAL of one run, MB", "database_wal_bytes", 2**20),
    ):
        groups = [
            (
                next(one["contenders"][name]["title"] for one in runs if name in one["contenders"]),
                [
                    (f"{one['rows'] // 1000:,}k rows", one["contenders"][name]["medians"][key] / scale)
                    for one in runs
                    if name in one["contenders"]
                ],
            )
            for name in names
        ]
        (folder / file).write_text(bars(title, groups))
        shown.append(f"![{title}]({file})")
    return ["### Plots", *shown]


def bars(title: str, groups: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> str:
    """Horizontal bars, one group a contender, one bar a size."""
    most = max((value for _, values in groups for _, value in values), default=1) or 1
    height = 40 + sum(len(values) * BAR + GAP for _, values in groups)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    y = 34
    for number, (name, values) in enumerate(groups):
        parts.append(f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        for label, value in values:
            length = max(1, (WIDTH - LEFT - 150) * value / most)
            colour = "#1f6f8b" if number == 0 else "#b9b9b9"
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 3}" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + length + 5:.1f}" y="{y + 12}">{value:.3g}  ({escape(label)})</text>')
            y += BAR
        y += GAP
    return "\n".join([*parts, "</svg>"]) + "\n"
