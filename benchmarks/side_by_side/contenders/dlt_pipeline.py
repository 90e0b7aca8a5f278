"""dlt: an incremental cursor with a lag, merged by key. Rows travel through the client, as they do between two databases."""

from __future__ import annotations

import json
import os
from pathlib import Path

from side_by_side.commands import timed
from side_by_side.contenders.base import VIRTUAL_ENVIRONMENT, Contender, Moment
from side_by_side.feed import COLUMNS, KEY, LOOKBACK_HOURS, TABLE, WATERMARK
from side_by_side.postgres import PORT, USER

RUNNER = Path(__file__).with_name("run_dlt.py")


class DltMerge(Contender):
    name = "dlt_merge"
    title = "dlt merge with lag"
    package = "dlt"
    python = Path(os.environ.get("TWO_CLOCKS_BENCH_DLT", VIRTUAL_ENVIRONMENT)) / "bin/python"

    @property
    def schemas(self) -> tuple[str, ...]:
        return (self.schema, f"{self.schema}_staging")

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}

    def prepare(self) -> None:
        """A first run reads the last two days, so that its state knows the clock; the rest of the history is copied beside it."""
        if self.engine == "postgres":
            # the socket's folder goes into the query: dlt takes a URL
            place = f"postgresql://{USER}:none@localhost:{PORT}/postgres?host={self.database.server.socket_directory}"
        else:
            place = str(self.database.path)
        settings = {
            "engine": self.engine,
            "place": place,
            "dataset": self.schema,
            "table": TABLE.split(".")[1],
            "schema": TABLE.split(".")[0],
            "key": KEY,
            "watermark": WATERMARK,
            "lag": LOOKBACK_HOURS * 3600,
            "directory": str(self.directory / "state"),
            "columns": list(COLUMNS),
        }
        self.write("pipeline.json", json.dumps(settings))
        since = self.database.value(f"select max({WATERMARK}) - interval '1 hour' from {TABLE}")
        timed([*self._run(), str(since)], self.directory, self.environment)
        names = ", ".join(COLUMNS)
        self.database.execute(
            f"insert into {self.table} ({names}) select {names} from {TABLE} where {KEY} not in (select {KEY} from {self.table})"
        )
        self.index(self.table)

    def command(self, moment: Moment) -> list[str]:
        return self._run()

    def _run(self) -> list[str]:
        return [str(self.python), str(RUNNER)]
