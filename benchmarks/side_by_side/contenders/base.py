"""What every contender has to answer."""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from side_by_side.duckdb_file import DuckdbFile
from side_by_side.feed import COLUMNS, KEY, TABLE, WATERMARK
from side_by_side.postgres import Database

VIRTUAL_ENVIRONMENT = Path(sys.prefix)


class Skipped(Exception):
    """Why a contender does not take part."""


@dataclass(frozen=True)
class Moment:
    """When a run happens, on the feed's clock."""

    now: datetime
    last_run: datetime
    says_range: bool = (
        False  # True: the user knows that runs were missed, and names the range where the tool asks for one
    )


class Contender(ABC):
    name: ClassVar[str]
    title: ClassVar[str]
    package: ClassVar[str]  # whose version is printed
    python: ClassVar[Path] = VIRTUAL_ENVIRONMENT / "bin/python"

    def __init__(self, engine: str, database: Database | DuckdbFile, directory: Path) -> None:
        self.engine, self.database, self.directory = engine, database, directory
        directory.mkdir(parents=True)

    @property
    def schema(self) -> str:
        return self.name

    @property
    def schemas(self) -> tuple[str, ...]:
        """Where everything lies that the contender writes."""
        return (self.schema,)

    @property
    def table(self) -> str:
        """What a reader of the target selects from."""
        return f"{self.schema}.crm_grades"

    def stored_table(self) -> str:
        """Where the rows lie."""
        return self.table

    @property
    def environment(self) -> Mapping[str, str]:
        if isinstance(self.database, DuckdbFile):
            return {}
        return self.database.server.environment

    @abstractmethod
    def prepare(self) -> None:
        """Make the target equal to the source, and let the tool know of it."""

    @abstractmethod
    def command(self, moment: Moment) -> list[str]:
        """One run, as a user would start it."""

    @classmethod
    def version(cls) -> str:
        """Raises Skipped where the package is not installed."""
        asked = (
            f"from importlib.metadata import version; print(*(p + ' ' + version(p) for p in {cls.package.split()!r}))"
        )
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        try:
            told = subprocess.run([cls.python, "-c", asked], capture_output=True, text=True, env=environment)
        except OSError as error:
            raise Skipped(f"{cls.python} does not run: {error}") from None
        if told.returncode:
            raise Skipped(f"{cls.package} is not installed for {cls.python}: {told.stderr.strip().splitlines()[-1]}")
        return told.stdout.strip()

    def write(self, path: str, text: str) -> None:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def copy_source(self) -> None:
        """The target as a first run leaves it, with the indexes that each tool is advised to have."""
        self.database.execute(f"create schema if not exists {self.schema}")
        self.database.execute(f"create table {self.table} as select {', '.join(COLUMNS)} from {TABLE}")
        self.index(self.table)

    @property
    def unique(self) -> bool:
        """False for those that leave the old version of a row where it was, when the row moves to another range."""
        return True

    def index(self, table: str) -> None:
        self.database.execute(f"create {'unique ' if self.unique else ''}index {self.name}_key on {table} ({KEY})")
        self.database.execute(f"create index {self.name}_watermark on {table} ({WATERMARK})")
        self.database.execute(f"analyze {table}")
