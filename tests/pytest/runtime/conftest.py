"""Fixtures for what runs dbt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]

CommandLine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of a shell in which the package is installed, and nothing points dbt anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DBT_", "PG", "TWO_CLOCKS_"))}
    return {**kept, "PYTHONPATH": str(REPOSITORY / "scripts"), "PYTHONIOENCODING": "utf-8"}


@pytest.fixture(scope="session")
def two_clocks(environment: dict[str, str]) -> CommandLine:
    """Runs `two-clocks` as a shell would."""

    def run(*arguments: str | Path, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "two_clocks", *map(str, arguments)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture
def small_project(tmp_path: Path) -> Path:
    """A dbt project on a DuckDB file: an ephemeral model, one on top of it that reads a var, and one that fails."""
    project = tmp_path / "small"
    files = {
        "dbt_project.yml": "name: small\nversion: 0.1.0\nprofile: small\n",
        "profiles.yml": json.dumps(
            {"small": {"target": "dev", "outputs": {"dev": {"type": "duckdb", "path": str(tmp_path / "small.duckdb")}}}}
        ),
        "models/base.sql": "{{ config(materialized='ephemeral') }} select '{{ var('word', 'none') }}' as word",
        "models/said.sql": "{{ config(materialized='table') }} select word from {{ ref('base') }}",
        "models/broken.sql": "select 1 / no_such_column as x",
    }
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    return project
