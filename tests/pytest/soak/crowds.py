"""Many processes at once on one model, one ledger, one database: real `dbt run`s that begin at the same moment, on PostgreSQL."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from support.engines import PostgresWarehouse
from support.project import LEDGER, Project

BEGIN = datetime(2024, 6, 1, 12)
BACKFILL = {"two_clocks_backfill_from": "2024-05-01", "two_clocks_backfill_to": "2024-05-10"}


@dataclass
class Crowds:
    """What came of a number of rounds."""

    rounds: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    reported: Counter[str] = field(default_factory=Counter)  # runs that failed, by what dbt said
    broken: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Order:
    """One process: which project it runs, and how."""

    project: Project
    arguments: tuple[str, ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)


def at_once(orders: list[Order], now: datetime) -> list[str]:
    """Run them all, each in a process of its own, none before all are ready; returns what each failed with, or ''."""
    gate, opener = os.pipe()
    children = []
    for number, order in enumerate(orders):
        order.project.manifest()
        outcome = order.project.directory / f"outcome_{number}.json"
        outcome.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            # nothing of pytest's may run in here
            try:
                os.close(opener)
                with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
                    run = order.project.attempt(
                        *order.arguments,
                        now=now.isoformat() + "Z",
                        variables=order.variables,
                        before_statement=lambda number, sql: os.read(gate, 1) if number == 1 else None,
                    )
                outcome.write_text(json.dumps("" if run.result.success else run.errors() or "failed without a word"))
            finally:
                os._exit(0)
        children.append((child, outcome))
    os.close(gate)
    os.close(opener)  # whoever reads from the gate now goes on
    said = []
    for child, outcome in children:
        os.waitpid(child, 0)
        said.append(json.loads(outcome.read_text()) if outcome.exists() else "the process died")
    return said


class Square:
    """Two projects on one database, with a source that both read and a ledger that both write."""

    def __init__(self, project: Project, neighbour: Project) -> None:
        self.project, self.neighbour, self.warehouse = project, neighbour, project.warehouse
        for one in (project, neighbour):
            one.configure(vars={"two_clocks_ledger_schema": "monitoring"})
            lost = {"source_relation": "source('ods', 'feed')", "unique_key": "id", "watermark": "changed_at"}
            lost |= {"columns": ["note"], "buckets": 64}
            tests = ["two_clocks.windows_contiguous", {"two_clocks.nothing_lost": {"arguments": lost}}]
            tests.append({"two_clocks.idempotent_sink": {"arguments": {"unique_key": "id"}}})
            models = [{"name": "sink", "data_tests": tests}]
            one.write("models/sync/sink.yml", yaml.safe_dump({"version": 2, "models": models}))
        self.now = BEGIN
        self.turns = 0

    def change(self) -> None:
        """New rows, edits, and rows of May that only a backfill reads."""
        self.now += timedelta(hours=1)
        self.turns += 1
        first = self.turns * 1000
        self.warehouse.execute(
            f"insert into ods.feed select {first} + i, 'new', timestamp '{self.now}' - i * interval '1 second' "
            "from generate_series(1, 300) as t(i)"
        )
        self.warehouse.execute(
            f"update ods.feed set note = 'turn {self.turns}', changed_at = timestamp '{self.now}' "
            f"where id between {first - 1000} and {first - 900}"
        )
        self.warehouse.execute(
            f"insert into ods.feed select {first} + 500 + i, 'old', timestamp '2024-05-02' + i * interval '1 minute' "
            "from generate_series(1, 20) as t(i)"
        )

    def play(self, what: str, orders: list[Order], crowds: Crowds) -> None:
        """One round: the source changes, all run at once, then each project runs once more and its tests are asked."""
        projects = list({id(order.project): order.project for order in orders}.values())
        recorded = sum(succeeded(project) for project in projects)
        said = at_once(orders, self.now)
        crowds.rounds[what] += 1
        crowds.runs += len(orders)
        for words in filter(None, said):
            crowds.reported[kind_of(words)] += 1
        recorded = sum(succeeded(project) for project in projects) - recorded
        if recorded != said.count(""):
            crowds.broken.append(f"{what}: {said.count('')} runs succeeded, {recorded} are in the ledger; {said}")
        for project in projects:
            now = self.now.isoformat() + "Z"
            project.run(now=now)
            # what is older than the look-back comes by a backfill, as it should have
            project.run(now=now, variables=BACKFILL)
            tested = project.attempt(command="test", now=now)
            if not tested.result.success:
                crowds.broken.append(f"{what}: {tested.text}")
            (doubled,) = project.warehouse.query(
                f"select count(*) - count(distinct id) as n from {schema_of(project)}.sink"
            )
            if doubled["n"]:
                crowds.broken.append(f"{what}: {doubled['n']} rows are there twice")


def neighbour_of(project: Project, directory: Path) -> Project:
    """The same project as somebody else deploys it: another schema of the same database."""
    warehouse = PostgresWarehouse(project.warehouse.server)  # type: ignore[attr-defined]
    warehouse.profile["schema"] = "next_door"
    return Project.copy_of(project.directory, warehouse, directory)


def schema_of(project: Project) -> str:
    return project.warehouse.profile["schema"]


def succeeded(project: Project) -> int:
    if not project.warehouse.has_table(f"monitoring.{LEDGER}"):
        return 0
    tail = f"%.{schema_of(project)}.sink"
    (row,) = project.warehouse.query(
        f"select count(*) as n from monitoring.{LEDGER} where status = 'succeeded' and target_relation like '{tail}'"
    )
    return row["n"]


def kind_of(words: str) -> str:
    """What a failure is called in a table."""
    for kind in ("deadlock detected", "already exists", "duplicate key value", "does not exist", "could not serialize"):
        if kind in words:
            return kind
    return words[:100]


def play(square: Square, rounds: int, said: Callable[[str], None] = lambda line: None) -> Crowds:
    """Rounds of each kind in turn, with two to eight processes."""
    crowds = Crowds()
    ours, neighbour = square.project, square.neighbour
    for number in range(rounds):
        size = 2 + number % 7
        square.change()
        if number == 0:
            what, orders = "first builds, ledger missing", [Order(ours)] * 2 + [Order(neighbour)] * 2
        elif number % 4 == 1:
            what, orders = "one model, many runs", [Order(ours)] * size
        elif number % 4 == 2:
            what = "a backfill and normal runs"
            orders = [Order(ours, variables=BACKFILL)] + [Order(ours)] * (size - 1)
        elif number % 4 == 3:
            what = "two projects, one ledger"
            orders = [Order(ours), Order(neighbour)] * (size // 2)
        else:
            what, orders = (
                "a full refresh and normal runs",
                [Order(ours, ("--full-refresh",))] + [Order(ours)] * (size - 1),
            )
        square.play(what, orders, crowds)
        said(f"round {number + 1}: {what}, {len(orders)} processes")
    return crowds
