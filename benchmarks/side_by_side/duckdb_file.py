"""The same eyes for DuckDB, where the database is a file and its work is done by the client."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb

from side_by_side.postgres import Size

# The oldest layout that every client here can read: contenders bring their own version of DuckDB.
STORAGE = "v1.2.0"


class DuckdbFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def execute(self, sql: str) -> None:
        self._run(sql)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self._run(sql)

    def value(self, sql: str) -> Any:
        return self.query(sql)[0][0]

    def version(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    def copy(self, path: Path) -> DuckdbFile:
        shutil.copyfile(self.path, path)
        return DuckdbFile(path)

    def size(self, table: str) -> Size:
        """The file alone says how much there is: nothing is known of dead rows or of single tables."""
        self.execute("checkpoint")
        return Size(0, self.path.stat().st_size, 0)

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect() as connection:
            # by the name that every client gives it, which SQLMesh writes into its views
            connection.execute(f"attach '{self.path}' as {self.path.stem} (storage_version '{STORAGE}')")
            connection.execute(f"use {self.path.stem}")
            return connection.execute(sql).fetchall()
