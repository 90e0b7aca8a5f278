"""The bench works and its judge can be trusted. How long anything takes is no test's business."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.project import REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(REPOSITORY / "scripts")]

from side_by_side import report  # noqa: E402
from side_by_side.aims import aims  # noqa: E402
from side_by_side.contenders import HandWritten  # noqa: E402
from side_by_side.duckdb_file import DuckdbFile  # noqa: E402
from side_by_side.feed import ARRIVALS, TABLE, Feed  # noqa: E402
from side_by_side.lab import Lab, Moment  # noqa: E402


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A small history on DuckDB, and the hand-written job, which needs no dbt."""
    feed = Feed("duckdb", 10_000)
    template = DuckdbFile(tmp_path / "feed.duckdb")
    for statement in feed.create():
        template.execute(statement)
    lab = Lab("duckdb", feed, tmp_path, say=lambda text: None)
    lab.add(HandWritten, tmp_path / "feed.duckdb")
    assert not lab.skipped
    return lab


def test_a_load_brings_new_changed_and_late_rows(lab: Lab) -> None:
    source = lab.contenders[0].database
    lab.load(1440)
    rows, arrived, late, out_of_reach = source.query(
        f"select (select count(*) from {TABLE}), count(*), count(*) filter (where late_hours > 0), count(*) filter (where late_hours > 48) from {ARRIVALS}"
    )[0]
    count = lab.feed.rows_of(1440)
    assert abs(rows - lab.feed.rows - count / 2) <= 5
    assert 0.8 * count < arrived <= count
    assert out_of_reach >= 1
    assert late > 5 * out_of_reach


def test_the_judge_finds_exactly_what_is_out_of_reach(lab: Lab) -> None:
    (contender,) = lab.contenders
    for _ in range(3):
        last = lab.now
        lab.load(1440)
        assert lab.run(contender, Moment(lab.now, last))
    verdict = lab.judge(contender)
    unreachable = contender.database.value(f"select count(*) from {ARRIVALS} where late_hours > 48")
    assert (verdict.lost, verdict.out_of_reach, verdict.doubled) == (unreachable, unreachable, 0)
    assert unreachable > 0


def test_the_judge_finds_every_other_difference(lab: Lab) -> None:
    (contender,) = lab.contenders
    database = contender.database
    assert lab.judge(contender).lost == 0
    database.execute(f"drop index {contender.schema}.{contender.name}_key")
    database.execute(f"delete from {contender.table} where id = 17")
    database.execute(f"update {contender.table} set finalgrade = finalgrade + 1 where id = 18")
    database.execute(f"insert into {contender.table} select * from {contender.table} where id = 19")
    verdict = lab.judge(contender)
    assert (verdict.lost, verdict.out_of_reach, verdict.doubled) == (2, 0, 1)


def test_the_whole_command_on_a_real_server(tmp_path: Path) -> None:
    """`./scripts/bench --quick` without its shell, which would make an environment of its own."""
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    done = subprocess.run(
        [sys.executable, "-m", "side_by_side", "--quick", "--json", str(figures), "--write", str(page)],
        env={**os.environ, "PYTHONPATH": str(BENCHMARKS)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(figures.read_text())["steady"]["postgres"]
    assert list(one["contenders"]) == ["two_clocks", "hand_written"] and not one["skipped"]
    for contender in one["contenders"].values():
        assert contender["verdict"]["lost"] == contender["verdict"]["out_of_reach"] == 1
        assert contender["verdict"]["doubled"] == 0
        assert contender["medians"]["database_rows_written"] >= one["rows_per_run"] - 2
        assert contender["medians"]["database_wal_bytes"] > 0
        assert contender["catch_up"]["verdict"]["doubled"] == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "two_clocks newest_wins" in text and (tmp_path / "performance-wal.svg").exists()


def test_aims_are_judged_from_the_figures() -> None:
    def contender(seconds: float, wal: float) -> dict[str, object]:
        return {"medians": {"database_seconds": seconds, "database_wal_bytes": wal}}

    figures = {
        "steady": {
            "postgres": [
                {"rows": 1_000_000, "contenders": {"two_clocks": contender(1.0, 1)}},
                {
                    "rows": 10_000_000,
                    "contenders": {
                        "two_clocks": contender(1.1, 4),
                        "hand_written": contender(1.0, 4),
                        "stock_merge": contender(1.5, 100),
                    },
                },
            ]
        }
    }
    assert [aim.reached for aim in aims(figures)] == [True, True, False, True]
