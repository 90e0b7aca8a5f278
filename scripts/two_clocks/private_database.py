"""A database of one's own for the length of a `with` block, reached through the project's profiles.example.yml."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from two_clocks.errors import CannotRun
from two_clocks.postgres_server import PostgresServer

TARGETS = ("postgres", "duckdb")
SCHEMA = "two_clocks"


@dataclass(frozen=True)
class PrivateDatabase:
    """Where dbt finds it, and a directory for dbt's own files. All of it is gone after the block."""

    target: str
    profiles_dir: Path
    target_path: Path


@contextmanager
def private_database(target: str, project_dir: Path) -> Iterator[PrivateDatabase]:
    """Starts an empty database that nobody else can reach.

    Args:
        target: `postgres` (a real server, see postgres_server.py) or `duckdb` (a file).
        project_dir: the project whose profiles.example.yml says how to connect.

    Raises:
        CannotRun: an unknown target, no profiles.example.yml, or no server to be had.
    """
    if target not in TARGETS:
        raise CannotRun(f"There is no private database of the kind '{target}': take {' or '.join(TARGETS)}.")
    example = project_dir / "profiles.example.yml"
    if not example.is_file():
        raise CannotRun(
            f"There is no profiles.example.yml in {project_dir}: the replay needs the two_clocks project itself."
        )

    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="two_clocks_")))
        shutil.copy(example, directory / "profiles.yml")
        settings = {"TWO_CLOCKS_SCHEMA": SCHEMA, "TWO_CLOCKS_DUCKDB_PATH": str(directory / "warehouse.duckdb")}
        if target == "postgres":
            settings |= stack.enter_context(PostgresServer(durable=False)).environment
        stack.enter_context(_environment(settings))
        yield PrivateDatabase(target, directory, directory / "target")


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
