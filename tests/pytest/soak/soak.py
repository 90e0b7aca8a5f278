"""No silent loss, at length: thousands of random histories, kills and crowds, on real databases with real dbt runs.

    python tests/pytest/soak/soak.py --minutes 60                 histories against the rivals, until the time is over
    python tests/pytest/soak/soak.py --minutes 5 --everything     and 200 kills, 40 crowds and the cases from the field

Prints the figures; with --write FILE puts them between the markers of a Markdown file. What breaks a promise is shown as the shortest
history that does, and the exit status is 1.
"""

# ruff: noqa: T201  what it prints is its product

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import SkipTest

from dbt_common.tests import enable_test_caching
from hypothesis import seed
from hypothesis.errors import Flaky

HERE = Path(__file__).resolve()
REPOSITORY = HERE.parents[3]
for place in (HERE.parents[1], REPOSITORY / "scripts"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

from support.engines import DuckdbWarehouse, PostgresWarehouse, Warehouse  # noqa: E402
from support.project import FEED, SINK, Project  # noqa: E402
from support.servers import postgres  # noqa: E402

from soak import crowds, kills  # noqa: E402
from soak.histories import Tally, machine, play  # noqa: E402
from soak.lab import Lab  # noqa: E402
from soak.rivals import NAMES  # noqa: E402

STEPS = 8
AT_ONCE = 500  # histories from one seed
KILLS, CROWDS = 200, 40
START, END = "<!-- soak -->", "<!-- /soak -->"


def play_histories(lab: Lab, minutes: float, chosen_seed: int) -> tuple[Tally, str | None]:
    """Random histories until the time is over; returns what was counted, and the shortest history that breaks a promise."""
    history = machine(lab, deadline=time.monotonic() + minutes * 60)
    history.tally.said = lambda: note(f"{history.tally.histories} histories on {lab.warehouse.engine}")
    number = 0
    while not history.tally.is_over():
        try:
            play(history, AT_ONCE, STEPS, prepare=seed(chosen_seed * 1_000_003 + number), print_blob=False)
        except (SkipTest, Flaky):
            # a history that is not begun is another one than Hypothesis expects, and it may say so
            if not history.tally.is_over():
                raise
        except AssertionError as broken:
            return history.tally, str(broken)
        number += 1
    return history.tally, None


@contextmanager
def project_in(directory: Path, warehouse: Warehouse) -> Iterator[Project]:
    """A consumer's project in a directory of its own, in which dbt runs."""
    (directory / "project").mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    os.chdir(directory / "project")
    try:
        yield Project.from_template(directory / "template", warehouse, directory / "project")
    finally:
        os.chdir(before)


def with_sink(project: Project) -> Project:
    project.source("feed", FEED)
    project.model("sink", SINK)
    return project


def case_ids() -> list[str]:
    """The cases from the field that have tests: a case's id stands in the name of its test."""
    texts = [file.read_text() for file in HERE.parents[1].rglob("test_*.py")]
    names = [name for text in texts for name in re.findall(r"def (test_\w+)", text)]
    return sorted({one for name in names for one in re.findall(r"(?<=_)C\d\d(?=_|$)", name)})


def play_cases() -> tuple[int, int, int]:
    """The tests of the cases, on both engines: how many cases, tests passed, tests that did not pass."""
    ids = case_ids()
    report = Path(tempfile.mkdtemp()) / "cases.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--numprocesses=auto",
        "--dist=worksteal",
        f"--junit-xml={report}",
        "-k",
        " or ".join(ids),
    ]
    subprocess.run(command, cwd=REPOSITORY, stdout=sys.stderr, check=False)
    text = report.read_text()
    counts = {name: int(re.search(rf'{name}="(\d+)"', text)[1]) for name in ("tests", "failures", "errors", "skipped")}  # type: ignore[index]
    broken = counts["failures"] + counts["errors"]
    return len(ids), counts["tests"] - counts["skipped"] - broken, broken


def table(tallies: dict[str, Tally]) -> list[str]:
    """What each way to sync lost in the same histories."""
    lines = ["| rows lost silently | " + " | ".join(tallies) + " |", "| --- |" + " ---: |" * len(tallies)]
    for model, called in NAMES.items():
        cells = []
        for tally in tallies.values():
            if model == "sink":
                told_below = ", and see BROKEN" if tally.is_broken else ""
                cells.append(f"{tally.lost[model]:,} of {tally.rows:,} ({tally.named:,} named){told_below}")
            else:
                cells.append(
                    f"{tally.lost[model]:,}, in {tally.lossy[model]:,} histories"
                    + (f"; {tally.doubled[model]:,} doubled" if tally.doubled[model] else "")
                    + (f"; {tally.refused[model]:,} ended in an error" if tally.refused[model] else "")
                )
        lines.append(f"| {called} | " + " | ".join(cells) + " |")
    return lines


def note(text: str) -> None:
    print(text, file=sys.stderr, end="\r" if sys.stderr.isatty() else "\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="for the histories, three quarters of them on DuckDB")
    parser.add_argument("--seed", type=int, help="repeats the histories, kills and crowds of an earlier run")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="SIGKILL to N runs at random moments")
    parser.add_argument("--crowds", type=int, default=0, metavar="N", help="N rounds of two to eight processes at once")
    parser.add_argument("--cases", action="store_true", help="run the tests of the cases from the field, too")
    parser.add_argument("--everything", action="store_true", help=f"--kills {KILLS} --crowds {CROWDS} --cases")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the figures between the markers of FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures as JSON, too")
    given = parser.parse_args()
    if given.everything:
        given.kills, given.crowds, given.cases = given.kills or KILLS, given.crowds or CROWDS, True
    enable_test_caching()  # dbt's own, for its tests: each macro's Jinja is parsed once
    chosen_seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed

    figures: dict[str, Any] = {"seed": chosen_seed}
    broken: list[str] = []
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="two_clocks_soak_") as name:
        directory = Path(name)
        if given.minutes > 0:
            with project_in(directory / "duckdb", DuckdbWarehouse(directory / "duckdb" / "project")) as project:
                tallies["DuckDB"], wrong = play_histories(
                    Lab(project, with_rivals=True), given.minutes * 3 / 4, chosen_seed
                )
                broken += [wrong] if wrong else []
        with postgres() as database:
            if given.minutes > 0:
                warehouse = PostgresWarehouse(database)
                with project_in(directory / "postgres", warehouse) as project:
                    tallies["PostgreSQL"], wrong = play_histories(
                        Lab(project, with_rivals=True), given.minutes / 4, chosen_seed
                    )
                    broken += [wrong] if wrong else []
                warehouse.clear()
            if given.kills:
                warehouse = PostgresWarehouse(database)
                with project_in(directory / "kills", warehouse) as project:
                    killed = kills.play(with_sink(project), given.kills, chosen_seed, said=note)
                figures["kills"] = dict(killed.survived)
                broken += killed.broken
                warehouse.clear()
            if given.crowds:
                warehouse = PostgresWarehouse(database)
                with project_in(directory / "crowds", warehouse) as project:
                    neighbour = crowds.neighbour_of(with_sink(project), directory / "neighbour")
                    crowd = crowds.play(crowds.Square(project, neighbour), given.crowds, note)
                figures["crowds"] = {"rounds": dict(crowd.rounds), "runs": crowd.runs, "failed": dict(crowd.reported)}
                broken += crowd.broken
        if given.cases:
            figures["cases"] = play_cases()
            broken += [f"{figures['cases'][2]} tests of cases did not pass"] if figures["cases"][2] else []

    lines = told(figures, tallies)
    text = "\n".join(lines)
    print(text)
    if given.write:
        page = given.write.read_text()
        before, rest = page.split(START)
        given.write.write_text(f"{before}{START}\n\n{text}\n\n{END}{rest.split(END)[1]}")
    if given.json:
        figures["histories"] = {
            engine: {"histories": tally.histories, "rows": tally.rows, "named": tally.named, "lost": dict(tally.lost)}
            for engine, tally in tallies.items()
        }
        given.json.write_text(json.dumps(figures, indent=2) + "\n")
    for sentence in broken:
        print(f"\nBROKEN: {sentence}")
    return 1 if broken else 0


def told(figures: dict[str, Any], tallies: dict[str, Tally]) -> list[str]:
    """The figures, as a page shows them."""
    lines = []
    for engine, tally in tallies.items():
        lines.append(
            f"- {tally.histories:,} histories on {engine} with {tally.runs:,} runs that succeeded, {tally.rows:,} rows to deliver"
        )
    if "cases" in figures:
        cases, passed, failed = figures["cases"]
        lines.append(f"- {cases} cases from the field: {passed} tests passed, {failed} did not")
    if "kills" in figures:
        each = ", ".join(f"{kind} {count}" for kind, count in figures["kills"].items())
        lines.append(f"- {sum(figures['kills'].values())} kills survived ({each})")
    if "crowds" in figures:
        crowd = figures["crowds"]
        failed = ", ".join(f"{what}: {count}" for what, count in crowd["failed"].items())
        lines.append(
            f"- {crowd['runs']} concurrent runs in {sum(crowd['rounds'].values())} rounds of 2 to 8 processes; "
            f"{sum(crowd['failed'].values())} failed and said so{f' ({failed})' if failed else ''}"
        )
    lines.append(f"- seed {figures['seed']}")
    return [*lines, "", *table(tallies)] if tallies else lines


if __name__ == "__main__":
    sys.exit(main())
