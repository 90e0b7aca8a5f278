"""./scripts/bench: this package measured beside what a user would pick instead, in one run on one machine."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from side_by_side import load_log, losses, many_models, postgres, steady
from side_by_side.contenders import ALL, Contender, Skipped
from side_by_side.report import console, write_page

PARTS = ("load_log", "models", "losses", "steady")
# From this size on the disk is the limit: a table and its indexes for each contender.
HUGE = 30_000_000
HUGE_CONTENDERS = ("two_clocks", "hand_written", "stock_merge")


def number(text: str) -> int:
    """10m, 100k or digits."""
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower())
    return int(float(text[:-1]) * factor) if factor else int(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./scripts/bench", description=__doc__)
    listed = [item.name for item in ALL]
    parser.add_argument("--rows", default="1m,10m,50m", help="sizes of the target on PostgreSQL (default 1m,10m,50m)")
    parser.add_argument("--duckdb-rows", default="1m,10m", help="sizes on DuckDB (default 1m,10m; none: '')")
    parser.add_argument(
        "--runs", type=int, default=30, help="measured runs of each contender (default 30; 10 from 30m rows on)"
    )
    parser.add_argument("--only", help=f"contenders: {','.join(listed)}")
    parser.add_argument("--parts", metavar="PARTS", help=f"what to measure: {','.join(PARTS)} (default all)")
    parser.add_argument("--models", default="1,10,50,200", help="sizes of the project (default 1,10,50,200)")
    parser.add_argument("--losses-rows", default="200k", help="rows behind the weeks of losses (default 200k)")
    parser.add_argument(
        "--quick", action="store_true", help="20,000 rows, one run, two contenders: does everything work?"
    )
    parser.add_argument("--json", metavar="FILE", help="all figures, every run; - is standard output")
    parser.add_argument("--write", metavar="FILE", help="put the tables between the markers of this page")
    parser.add_argument(
        "--from", dest="earlier", metavar="FILE", help="measure nothing: show the figures of an earlier --json FILE"
    )
    parser.add_argument(
        "--add",
        metavar="FILE",
        help="put what is measured beside the figures of an earlier --json FILE of this machine",
    )
    given = parser.parse_args()
    unknown = set((given.only or "").split(",")) - {"", *listed} | set((given.parts or "").split(",")) - {"", *PARTS}
    if unknown:
        parser.error(
            f"there is no {', '.join(sorted(unknown))}: contenders are {', '.join(listed)}; parts are {', '.join(PARTS)}"
        )
    if given.quick:
        given.rows, given.duckdb_rows, given.runs, given.models, given.losses_rows = "20k", "", 1, "2", "20k"
        given.only = given.only or "two_clocks,hand_written"
        given.parts = given.parts or "steady"
    return given


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)  # noqa: T201


def main() -> int:
    given = arguments()
    result = json.loads(Path(given.earlier).read_text()) if given.earlier else measure(given)
    keep(result, given)
    if given.json == "-":
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
    else:
        console(result)
    if given.write:
        write_page(result, Path(given.write))
    return 0


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Short parts first, and each is in the --json file as soon as it is measured: hours of work outlive what ends them."""
    kinds = [kind for kind in ALL if not given.only or kind.name in given.only.split(",")]
    parts = given.parts.split(",") if given.parts else list(PARTS)
    result: dict[str, Any] = {"machine": machine(), "settings": postgres.settings(), "versions": versions(kinds)}
    if given.add:
        earlier = json.loads(Path(given.add).read_text())
        if different := [name for name, value in result.items() if earlier[name] != value]:
            raise SystemExit(f"{given.add} is of another {' and other '.join(different)}; measure it here first.")
        result = earlier
    if "load_log" in parts:
        result["load_log"] = load_log.measure(number(given.rows.split(",")[0] or "1m"), say)
        keep(result, given)
    if "models" in parts:
        result["models"] = many_models.measure(
            [int(count) for count in given.models.split(",")], 1 if given.quick else 3, say
        )
        keep(result, given)
    if "losses" in parts:
        result["losses"] = losses.measure("postgres", number(given.losses_rows), kinds, say)
        keep(result, given)
    if "steady" in parts:
        steadily = result.setdefault("steady", {"postgres": [], "duckdb": []})
        for engine, sizes in (("postgres", given.rows), ("duckdb", given.duckdb_rows)):
            for rows in [number(size) for size in sizes.split(",") if size]:
                say(f"{engine}, {rows:,} rows")
                steadily[engine] = [one for one in steadily[engine] if one["rows"] != rows]
                steadily[engine].append(
                    steady.measure(
                        engine,
                        rows,
                        taking_part(kinds, rows, given),
                        runs(rows, given),
                        say,
                        outage(rows, given),
                    )
                )
                keep(result, given)
    return result


def keep(result: dict[str, Any], given: argparse.Namespace) -> None:
    if given.json and given.json != "-":
        Path(given.json).write_text(json.dumps(result, indent=1) + "\n")


def taking_part(kinds: list[type[Contender]], rows: int, given: argparse.Namespace) -> list[type[Contender]]:
    return kinds if given.only or rows < HUGE else [kind for kind in kinds if kind.name in HUGE_CONTENDERS]


def runs(rows: int, given: argparse.Namespace) -> int:
    return min(given.runs, 10) if rows >= HUGE else given.runs


def outage(rows: int, given: argparse.Namespace) -> int:
    """Days to catch up with; the huge sizes are there for the cost of a usual run."""
    return 3 if given.quick else 0 if rows >= HUGE else steady.OUTAGE_DAYS


def versions(kinds: list[type[Contender]]) -> dict[str, str]:
    found = {}
    for kind in kinds:
        try:
            found[kind.name] = kind.version()
        except Skipped as reason:
            found[kind.name] = f"skipped: {reason}"
    return found


def machine() -> str:
    import os

    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {gigabytes:.0f} GB of memory, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
