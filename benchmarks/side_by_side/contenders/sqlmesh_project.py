"""SQLMesh, with the two kinds of model that read a window. Intervals of half an hour, so that its look-back is the same 48 hours."""

from __future__ import annotations

import json
import os
from pathlib import Path

from side_by_side.commands import timed
from side_by_side.contenders.base import VIRTUAL_ENVIRONMENT, Contender, Moment
from side_by_side.feed import COLUMNS, END_OF_HISTORY, KEY, LOOKBACK_HOURS, WATERMARK
from side_by_side.postgres import PORT, USER

RUNNER = Path(__file__).with_name("run_sqlmesh.py")


class SqlmeshProject(Contender):
    package = "sqlmesh"
    python = Path(os.environ.get("TWO_CLOCKS_BENCH_SQLMESH", VIRTUAL_ENVIRONMENT)) / "bin/python"
    kind: str

    @property
    def schemas(self) -> tuple[str, ...]:
        return (self.schema, f"sqlmesh__{self.schema}", f"{self.schema}_state")

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "true", "MAX_FORK_WORKERS": "1"}

    def prepare(self) -> None:
        if self.engine == "postgres":
            server = self.database.server
            connection = {
                "type": "postgres",
                "host": server.socket_directory,
                "port": PORT,
                "user": USER,
                "password": "",
                "database": "postgres",
                "check_import": False,
            }
        else:
            connection = {"type": "duckdb", "database": str(self.database.path)}
        gateway = {"connection": connection, "state_schema": f"{self.schema}_state"}
        config = {
            "gateways": {"bench": gateway},
            "default_gateway": "bench",
            "model_defaults": {"dialect": self.engine, "start": "2010-01-01"},
            "disable_anonymized_analytics": True,
        }
        self.write("config.yaml", json.dumps(config))
        self.write("models/crm_grades.sql", self.model())
        timed(self._run("plan", END_OF_HISTORY), self.directory, self.environment)
        self.index(self.stored_table())

    def model(self) -> str:
        columns = ",\n  ".join(f"gg.{name}" for name in COLUMNS)
        return (
            f"MODEL (\n  name {self.table},\n  kind {self.kind},\n  cron '*/30 * * * *',\n  start '{self.start()}'\n);\n\n"
            f"SELECT\n  {columns}\nFROM ods.grade_grades AS gg\nWHERE gg.{WATERMARK} BETWEEN @start_ts AND @end_ts\n"
        )

    def start(self) -> str:
        return str(self.database.value(f"select cast(min({WATERMARK}) as date) from ods.grade_grades"))

    def command(self, moment: Moment) -> list[str]:
        return self._run("run", f"{moment.now:%Y-%m-%d %H:%M:%S}")

    def _run(self, what: str, now: str) -> list[str]:
        return [str(self.python), str(RUNNER), what, now]

    def stored_table(self) -> str:
        schema = f"sqlmesh__{self.schema}"
        (name,) = self.database.query(
            f"select table_name from information_schema.tables where table_schema = '{schema}' and table_name like '%crm_grades%' and table_name not like '%temp%'"
        )[0]
        return f"{schema}.{name}"


class SqlmeshByUniqueKey(SqlmeshProject):
    name = "sqlmesh_key"
    title = "SQLMesh INCREMENTAL_BY_UNIQUE_KEY"
    kind = f"INCREMENTAL_BY_UNIQUE_KEY (unique_key {KEY}, lookback {LOOKBACK_HOURS * 2})"


class SqlmeshByTimeRange(SqlmeshProject):
    name = "sqlmesh_range"
    title = "SQLMesh INCREMENTAL_BY_TIME_RANGE"
    kind = f"INCREMENTAL_BY_TIME_RANGE (time_column {WATERMARK}, lookback {LOOKBACK_HOURS * 2})"

    @property
    def unique(self) -> bool:
        return False
