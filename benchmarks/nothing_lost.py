"""How long the test nothing_lost takes on PostgreSQL, and how much memory: python benchmarks/nothing_lost.py [--rows 1000000 ...]

Prints a Markdown table: nothing lost, and then with ten rows missing and ten stale. Starts a PostgreSQL of its own, which is gone afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import psycopg2
import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from two_clocks.dbt_session import DbtSession  # noqa: E402
from two_clocks.postgres_server import PostgresServer  # noqa: E402

PROJECT = {
    "dbt_project.yml": {
        "name": "bench",
        "version": "1.0.0",
        "config-version": 2,
        "profile": "bench",
        "models": {"bench": {"+materialized": "table"}},
    },
    "packages.yml": {"packages": [{"local": str(REPOSITORY)}]},
    "models/models.yml": {
        "version": 2,
        "sources": [{"name": "ods", "schema": "ods", "tables": [{"name": "feed"}]}],
        "models": [
            {
                "name": "sink",
                "data_tests": [
                    {
                        "two_clocks.nothing_lost": {
                            "arguments": {
                                "source_relation": "source('ods', 'feed')",
                                "unique_key": "id",
                                "watermark": "changed_at",
                            }
                        }
                    }
                ],
            }
        ],
    },
}


class Memory:
    """The most private memory that the server's backends and this process held, sampled."""

    def __init__(self) -> None:
        self.server = self.client = 0
        self._stop = threading.Event()

    def sample(self) -> None:
        while not self._stop.wait(0.1):
            for directory in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    status = (directory / "status").read_text()
                    if "Name:\tpostgres\n" in status:
                        self.server = max(self.server, _kilobytes(status))
            self.client = max(self.client, _kilobytes(Path("/proc/self/status").read_text()))

    @classmethod
    @contextlib.contextmanager
    def watched(cls) -> Iterator[Memory]:
        memory = cls()
        thread = threading.Thread(target=memory.sample, daemon=True)
        thread.start()
        try:
            yield memory
        finally:
            memory._stop.set()
            thread.join()


def _kilobytes(status: str) -> int:
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")), 0)


def write_project(directory: Path) -> None:
    for name, content in PROJECT.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(yaml.safe_dump(content))
    (directory / "models/sink.sql").write_text("select * from {{ source('ods', 'feed') }}")
    profile = {
        "type": "postgres",
        "host": os.environ["PGHOST"],
        "port": int(os.environ["PGPORT"]),
        "user": os.environ["PGUSER"],
        "password": "",
        "dbname": os.environ["PGDATABASE"],
        "schema": "sync",
        "threads": 1,
    }
    (directory / "profiles.yml").write_text(
        yaml.safe_dump({"bench": {"target": "bench", "outputs": {"bench": profile}}})
    )


def fill(cursor: psycopg2.extensions.cursor, rows: int) -> None:
    cursor.execute(
        "drop schema if exists ods cascade; drop schema if exists sync cascade; create schema ods; create schema sync"
    )
    cursor.execute(
        """
        create table ods.feed as
        select cast(n as bigint) as id, md5(cast(n as text)) as note, timestamp '2024-01-01' + n * interval '1 second' as changed_at
        from generate_series(1, %s) as g(n)
        """,
        (rows,),
    )
    cursor.execute("create table sync.sink as select * from ods.feed order by id")
    cursor.execute("analyze ods.feed; analyze sync.sink")


def spoil(cursor: psycopg2.extensions.cursor, rows: int) -> None:
    step = rows // 11
    cursor.execute(f"delete from sync.sink where id in ({', '.join(str(n * step) for n in range(1, 11))})")
    cursor.execute(
        f"update sync.sink set changed_at = changed_at - interval '1 day' where id in ({', '.join(str(n * step + 7) for n in range(1, 11))})"
    )


def measured(session: DbtSession) -> tuple[int, float, Memory]:
    with Memory.watched() as memory:
        result = session.invoke(["test"])
    (outcome,) = [one for one in result.result.results if one.node.resource_type == "test"]
    return outcome.failures, outcome.execution_time, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    arguments = parser.parse_args()
    click.echo(f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}")
    click.echo("| rows a side | what was found | seconds | server, MB | dbt, MB |")
    click.echo("| ---: | --- | ---: | ---: | ---: |")
    with PostgresServer(durable=False) as server, tempfile.TemporaryDirectory() as name:
        os.environ.update(server.environment)
        directory = Path(name)
        write_project(directory)
        session = DbtSession(directory, directory)
        session._run(["deps"])
        connection = psycopg2.connect("")
        connection.autocommit = True
        with connection.cursor() as cursor:
            for rows in arguments.rows:
                fill(cursor, rows)
                for spoiled in (False, True):
                    if spoiled:
                        spoil(cursor, rows)
                    failures, seconds, memory = measured(session)
                    found = "nothing lost" if not failures else f"{failures} rows"
                    click.echo(
                        f"| {rows:,} | {found} | {seconds:.1f} | {memory.server / 1024:.0f} | {memory.client / 1024:.0f} |"
                    )
        connection.close()


if __name__ == "__main__":
    main()
