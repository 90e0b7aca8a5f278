"""The PostgreSQL that everything is measured on, and the eyes that measure it from outside."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2

from two_clocks.postgres_server import PORT, USER, PostgresServer


def settings() -> dict[str, str]:
    """What somebody who runs a warehouse on this machine would set: durable, on a solid-state disk, a quarter of memory."""
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "shared_buffers": f"{min(megabytes // 4, 4096)}MB",
        "effective_cache_size": f"{megabytes // 2}MB",
        "work_mem": "64MB",
        "maintenance_work_mem": "512MB",
        "random_page_cost": "1.1",
        "max_wal_size": "8GB",
        "checkpoint_timeout": "30min",
        "max_connections": "100",
        # cleaned up by nobody, so that dead rows and growth are what the runs left
        "autovacuum": "off",
        "track_io_timing": "on",
    }


MEASURING = {
    "shared_preload_libraries": "'pg_stat_statements'",
    "pg_stat_statements.max": "50000",
    "pg_stat_statements.track_planning": "on",
    "logging_collector": "on",
    "log_destination": "'jsonlog'",
    "log_directory": "'statements'",
    "log_filename": "'statements'",
    "log_rotation_size": "0",
    "log_checkpoints": "off",
    "log_min_duration_statement": "-1",
}


@dataclass(frozen=True)
class Work:
    """What the server did between two looks at it."""

    seconds: float  # planning and executing, all statements of all sessions
    statements: int
    wal_bytes: int
    full_pages: int  # copies of whole pages in it, which depend on when the last checkpoint was
    rows_written: int  # inserted, updated and deleted, in the contender's own tables


@dataclass(frozen=True)
class Size:
    dead_rows: int
    table_bytes: int
    index_bytes: int


class Database:
    """A running server, seen through a session of its own that is not counted."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.connection = psycopg2.connect(host=server.socket_directory, port=PORT, user=USER, dbname="postgres")
        self.connection.autocommit = True
        self.execute("create extension pg_stat_statements")
        self.execute("set pg_stat_statements.track = 'none'")
        self.execute("set timezone to 'UTC'")

    def execute(self, sql: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def value(self, sql: str) -> Any:
        return self.query(sql)[0][0]

    def version(self) -> str:
        return f"PostgreSQL {self.value('show server_version')}"

    # ---- what a command cost ----

    def begin(self) -> None:
        """Just after a checkpoint, as a nightly run would find it: the first change of each page then costs a copy of it."""
        self.wait_until_alone()
        self.execute("checkpoint")
        # what this session has done itself, such as the load, is counted before, not in between
        self.execute("select pg_stat_force_next_flush()")
        self.execute("select pg_stat_statements_reset()")
        self._before = self._counters()

    def end(self, schemas: tuple[str, ...]) -> Work:
        """`schemas` are those whose tables count as written."""
        self.wait_until_alone()
        seconds, statements = self.query(
            "select coalesce(sum(total_plan_time + total_exec_time), 0) / 1000, coalesce(sum(calls), 0) from pg_stat_statements where toplevel"
        )[0]
        before, after = self._before, self._counters()
        written = sum(count - before[2].get(table, 0) for table, count in after[2].items() if table[0] in schemas)
        return Work(float(seconds), int(statements), int(after[0] - before[0]), int(after[1] - before[1]), written)

    def _counters(self) -> tuple[Any, Any, dict[tuple[str, str], int]]:
        (lsn, pages), *_ = self.query("select pg_current_wal_lsn() - '0/0', (select wal_fpi from pg_stat_wal)")
        tables = self.query("select schemaname, relname, n_tup_ins + n_tup_upd + n_tup_del from pg_stat_user_tables")
        return lsn, pages, {(schema, name): count for schema, name, count in tables}

    def wait_until_alone(self) -> None:
        """A backend reports its counters when it ends, a moment after its client has gone."""
        deadline = time.monotonic() + 30
        while self.value(
            "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and backend_type in ('client backend', 'parallel worker')"
        ):
            if time.monotonic() > deadline:
                raise RuntimeError("a contender has left a connection open")
            time.sleep(0.01)

    def size(self, table: str) -> Size:
        return Size(
            self.value(f"select n_dead_tup from pg_stat_user_tables where relid = cast('{table}' as regclass)"),
            self.value(f"select pg_table_size('{table}')"),
            self.value(f"select pg_indexes_size('{table}')"),
        )

    # ---- every statement, in order ----

    @property
    def log(self) -> Path:
        return Path(self.server.socket_directory) / "data/statements/statements.json"

    @contextmanager
    def logged(self) -> Iterator[int]:
        """Every session that begins within logs its statements; yields where in the log they begin."""
        self.execute("alter database postgres set log_min_duration_statement = 0")
        try:
            yield self.log.stat().st_size if self.log.exists() else 0
            self.wait_until_alone()
        finally:
            self.execute("alter database postgres reset log_min_duration_statement")


@contextmanager
def database() -> Iterator[Database]:
    with PostgresServer(settings=settings() | MEASURING) as server:
        eyes = Database(server)
        with closing(eyes.connection):
            yield eyes
