"""A small dbt project to write models into, and the audit of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from two_clocks.audit.judge import Report
from two_clocks.audit.run import Audit, audit_project

PROJECT = """
name: shop
version: "1.0"
profile: shop
models:
  shop:
    +materialized: incremental
    +unique_key: id
"""


class Shop:
    """A dbt project in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("dbt_project.yml", PROJECT)

    def write(self, path: str, text: str | bytes) -> Path:
        """Writes one file of the project."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def audit(self, dialect: str = "postgres", **more: object) -> Audit:
        """Audits the project in this process."""
        return audit_project(self.root, dialect=dialect, workers=1, **more)  # type: ignore[arg-type]

    def report(self, text: str, dialect: str = "postgres", path: str = "models/m.sql") -> Report:
        """The report on one model."""
        self.write(path, text)
        reports = [report for report in self.audit(dialect).reports if report.path == path]
        assert len(reports) == 1, f"{path} was not audited"
        return reports[0]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


@pytest.fixture
def rules(shop: Shop) -> Callable[..., set[str]]:
    """The codes found in a model."""

    def found(text: str, dialect: str = "postgres") -> set[str]:
        return {finding.rule for finding in shop.report(text, dialect).findings}

    return found
