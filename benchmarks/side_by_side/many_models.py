"""What a window costs a project: the same models, windowed and written plainly, over tables that hold next to nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from side_by_side import postgres
from side_by_side.commands import timed
from side_by_side.contenders.dbt_projects import DBT, DbtProject, StockMerge, TwoClocks
from side_by_side.feed import TABLE, Feed
from side_by_side.lab import Say

ROWS = 1000
THREADS = 4
MINUTES = 600


class WindowedModels(TwoClocks):
    threads = THREADS


class PlainModels(StockMerge):
    threads = THREADS


def measure(counts: Sequence[int], repeats: int, say: Say) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="two_clocks_bench_") as name, postgres.database() as database:
        feed = Feed("postgres", ROWS)
        for statement in feed.create():
            database.execute(statement)
        database.execute(f"analyze {TABLE}")
        results, clock = [], 0
        for count in counts:
            projects = [
                _project(kind, database, Path(name) / f"{kind.name}_{count}", count)
                for kind in (PlainModels, WindowedModels)
            ]
            runs: dict[str, list[dict[str, float]]] = {project.name: [] for project in projects}
            for project in projects:
                _dbt(project, "run")  # not counted: the tables are made
            for number in range(1, repeats + 1):
                for statement in feed.load(clock // MINUTES + 1, clock, MINUTES):
                    database.execute(statement)
                clock += MINUTES
                for project in projects if number % 2 else projects[::-1]:
                    runs[project.name].append(_one_round(project, database))
            results.append(
                {
                    "models": count,
                    **{
                        project.name: {
                            key: median(run[key] for run in runs[project.name]) for key in runs[project.name][0]
                        }
                        for project in projects
                    },
                }
            )
            say(
                f"{count} models: run {results[-1]['two_clocks']['run'] / results[-1]['stock_merge']['run']:.2f} times the plain project"
            )
        return results


def _project(kind: type[DbtProject], database: postgres.Database, directory: Path, count: int) -> DbtProject:
    project = kind("postgres", database, directory)
    project.write_project()
    for number in range(count):
        project.write(f"models/m{number:03}.sql", project.model())
    return project


def _one_round(project: DbtProject, database: postgres.Database) -> dict[str, float]:
    parse = _dbt(project, "parse", "--no-partial-parse").seconds
    compile_ = _dbt(project, "compile", "--quiet").seconds
    database.begin()
    run = _dbt(project, "run")
    work = database.end(project.schemas)
    return {
        "parse": parse,
        "compile": compile_,
        "run": run.seconds,
        "run_cpu": run.cpu_seconds,
        "statements": work.statements,
        "database_seconds": work.seconds,
        "peak_bytes": run.peak_bytes,
    }


def _dbt(project: DbtProject, *arguments: str) -> Any:
    return timed([str(DBT), *arguments, "--profiles-dir", "."], project.directory, project.environment)
