"""A run where a load log given as `data_clock` has not moved: what it asks the database, beside what dbt asks anyway."""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from side_by_side import postgres
from side_by_side.commands import timed
from side_by_side.contenders.base import Moment
from side_by_side.contenders.dbt_projects import TwoClocks
from side_by_side.feed import TABLE, WATERMARK, Feed
from side_by_side.lab import Say

DURATION = re.compile(r"duration: ([\d.]+) ms  \w+[^:]*: (.*)", re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


class WithLoadLog(TwoClocks):
    def model(self) -> str:
        return (
            super()
            .model()
            .replace(f"'{WATERMARK}')", f"'{WATERMARK}', data_clock='select max(loaded_to) from ods.load_log')")
        )

    def command(self, moment: Moment) -> list[str]:
        return [*super().command(moment), "--select", "crm_grades"]


def measure(rows: int, say: Say) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="two_clocks_bench_") as name, postgres.database() as database:
        for statement in Feed("postgres", rows).create():
            database.execute(statement)
        database.execute(f"create table ods.load_log as select max({WATERMARK}) as loaded_to from {TABLE}; analyze")
        model = WithLoadLog("postgres", database, Path(name) / "project")
        model.prepare()
        command = model.command(None)
        timed(command, model.directory, model.environment)  # reads the look-back: nothing is proven yet
        database.begin()
        with database.logged() as start:
            cost = timed(command, model.directory, model.environment)
        work = database.end(model.schemas)
        say(f"the load log has not moved: {work.seconds * 1000:.0f} ms of the database's work")
        statements = _statements(database, start)
        named = [{**one, "what": _what(one["sql"])} for one in statements if _what(one["sql"])]
        return {
            "rows": rows,
            "seconds": cost.seconds,
            "database_seconds": work.seconds,
            "statements": len(statements),
            "queries": sum(one["what"] == "query" for one in named),
            "named": named,
        }


def _what(sql: str) -> str | None:
    """What a statement has to do with the source, the target or the load log. The catalogue is not among them: dbt reads it for every model."""
    if "information_schema" in sql.lower() or not any(
        name in sql for name in ("grade_grades", "crm_grades", "load_log")
    ):
        return None
    if sql.startswith("insert into") and "two_clocks_window_ledger" in sql:
        return "the ledger's row"
    return "dbt's own, of no row" if sql.startswith("create temporary table") and "__dbt_tmp" in sql else "query"


def _statements(database: postgres.Database, start: int) -> list[dict[str, Any]]:
    time.sleep(0.5)  # the collector writes a moment later
    found = []
    with database.log.open("rb") as log:
        log.seek(start)
        for line in log:
            match = DURATION.match(json.loads(line)["message"])
            if match:
                sql = " ".join(COMMENT.sub("", match[2]).split())
                found.append({"milliseconds": float(match[1]), "sql": sql})
    return found
