"""PostgreSQL servers for the tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.engines import PostgresDatabase
from support.project import REPOSITORY

if str(REPOSITORY / "scripts") not in sys.path:
    sys.path.insert(0, str(REPOSITORY / "scripts"))

from two_clocks.postgres_server import PORT, USER, PostgresServer, find_postgres_binaries


@contextmanager
def postgres(major: int | None = None) -> Iterator[PostgresDatabase]:
    """A server with an empty database for the tests: of this version, or of the one that ./scripts/test was asked for."""
    # what is tested survives a killed client, not a power cut
    server = PostgresServer(binaries(major) if major else None, durable=False, settings={"autovacuum": "off"})
    with server:
        database = PostgresDatabase(server.socket_directory, PORT, USER)
        try:
            yield database
        finally:
            database.close()


def binaries(major: int) -> Path | None:
    return find_postgres_binaries(major)
