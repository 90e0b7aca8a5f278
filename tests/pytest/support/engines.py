"""The databases the behaviour tests run on, seen from the outside: what a user's own client would see."""

from __future__ import annotations

import functools
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import psycopg2
import psycopg2.extras
from dbt.adapters.duckdb.connections import DuckDBConnectionManager

SOURCE_SCHEMA = "ods"
TARGET_SCHEMA = "sync"


class Warehouse:
    """One empty database for one test."""

    engine: str
    profile: dict[str, Any]
    placeholder: str

    def after_dbt(self) -> None:
        """What the end of dbt's process would do; here, many dbt commands share one process."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        raise NotImplementedError

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        raise NotImplementedError

    def set_session_zone(self, zone: str) -> None:
        """Every session that dbt opens from now on has this time zone."""
        raise NotImplementedError

    def watch_writes(self, table: str, column: str) -> None:
        """Prepare a table so that `row_versions` notices a write of `column`."""

    def row_versions(self, table: str) -> Any:
        """What the engine itself says about which rows of a table were written when.

        Equal before and after means that no row was written in between, not even with the values it had.
        """
        raise NotImplementedError

    def has_table(self, table: str) -> bool:
        schema, name = table.split(".")
        return bool(
            self.query(
                "select 1 as found from information_schema.tables "
                f"where table_schema = {self.placeholder} and table_name = {self.placeholder}",
                (schema.strip('"'), name.strip('"')),
            )
        )

    def columns(self, table: str) -> list[str]:
        schema, name = table.split(".")
        return [
            row["column_name"]
            for row in self.query(
                "select column_name from information_schema.columns "
                f"where table_schema = {self.placeholder} and table_name = {self.placeholder} order by ordinal_position",
                (schema, name),
            )
        ]

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            names = ", ".join(row)
            values = ", ".join([self.placeholder] * len(row))
            self.execute(f"insert into {table} ({names}) values ({values})", list(row.values()))


class DuckdbWarehouse(Warehouse):
    engine = "duckdb"
    placeholder = "?"
    _open: ClassVar[list[DuckdbWarehouse]] = []

    def __init__(self, directory: Path) -> None:
        self.path = directory / "warehouse.duckdb"
        # a relative path: dbt runs in the project's own directory, and all projects share one parsed state
        self.profile = {
            "type": "duckdb",
            "path": self.path.name,
            "schema": TARGET_SCHEMA,
            "threads": 4,
        }
        self._kept: duckdb.DuckDBPyConnection | None = None

    def after_dbt(self) -> None:
        with DuckDBConnectionManager._LOCK:
            if DuckDBConnectionManager._ENV is not None:
                DuckDBConnectionManager._ENV.close()
                DuckDBConnectionManager._ENV = None

    def connection(self) -> duckdb.DuckDBPyConnection:
        """To open the file costs more than most statements, so it stays open until somebody else may want it."""
        if self._kept is None:
            kept = duckdb.connect(str(self.path))  # which lets go of all that is kept
            kept.execute("set TimeZone = 'UTC'")
            self._kept = kept
            self._open.append(self)
        return self._kept

    @classmethod
    def let_go(cls) -> None:
        """DuckDB lets one process have a file, and one setting of its own in a process: nothing is kept open."""
        while cls._open:
            warehouse = cls._open.pop()
            warehouse._kept.close()
            warehouse._kept = None

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        cursor = self.connection().execute(sql, list(parameters))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        self.connection().execute(sql, list(parameters))

    def set_session_zone(self, zone: str) -> None:
        self.profile["settings"] = {"TimeZone": zone}

    def watch_writes(self, table: str, column: str) -> None:
        # an update of an indexed column is a deletion and an insertion: the row moves
        self.execute(f"create index watch_{column} on {table} ({column})")

    def row_versions(self, table: str) -> Any:
        return self.query(f"select rowid as place, * from {table} order by rowid")


def _after_letting_go(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def first_let_go(*arguments: Any, **options: Any) -> Any:
        DuckdbWarehouse.let_go()
        return call(*arguments, **options)

    return first_let_go


# whoever else opens a file, dbt above all, and whoever could: another process
duckdb.connect = _after_letting_go(duckdb.connect)
subprocess.Popen.__init__ = _after_letting_go(subprocess.Popen.__init__)  # type: ignore[method-assign]
os.register_at_fork(before=DuckdbWarehouse.let_go)


class PostgresWarehouse(Warehouse):
    engine = "postgres"
    placeholder = "%s"

    def __init__(self, server: PostgresDatabase) -> None:
        self.server = server
        self.profile = {
            "type": "postgres",
            "host": server.host,
            "port": server.port,
            "user": server.user,
            "password": "unused",
            "dbname": server.database,
            "schema": TARGET_SCHEMA,
            "threads": 4,
        }

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self.server.connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(sql, parameters or None)
            return [dict(row) for row in cursor.fetchall()]

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        with self.server.connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)

    def set_session_zone(self, zone: str) -> None:
        self.execute(f"alter database {self.server.database} set timezone to '{zone}'")

    def row_versions(self, table: str) -> Any:
        self.wait_for_dbt_to_disconnect()
        counters = self.query(
            "select n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables where relid = cast(%s as regclass)",
            (table,),
        )
        return counters, self.query(
            f"select cast(ctid as text) as place, cast(xmin as text) as writer from {table} order by 1"
        )

    def wait_for_dbt_to_disconnect(self) -> None:
        """A backend reports its counters when it ends, a moment after its client has gone."""
        deadline = time.monotonic() + 10
        while self.query(
            "select pid from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        ):
            assert time.monotonic() < deadline, "dbt has left a connection open"
            time.sleep(0.01)

    def clear(self) -> None:
        self.execute(f"alter database {self.server.database} reset all")
        self.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
        for row in self.query(
            "select nspname from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')"
        ):
            self.execute(f'drop schema "{row["nspname"]}" cascade')


class PostgresDatabase:
    """The one database of a test session on a running server."""

    def __init__(self, host: str, port: int, user: str, database: str = "two_clocks_tests") -> None:
        self.host, self.port, self.user, self.database = host, port, user, database
        with closing(self.connect("postgres")) as connection, connection.cursor() as cursor:
            cursor.execute(f"create database {database}")
        self.connection = self.connect(database)
        with self.connection.cursor() as cursor:
            cursor.execute("set timezone to 'UTC'")

    def connect(self, database: str) -> Any:
        connection = psycopg2.connect(host=self.host, port=self.port, user=self.user, dbname=database)
        connection.autocommit = True
        return connection

    def version(self) -> int:
        return self.connection.server_version // 10000

    def close(self) -> None:
        self.connection.close()
