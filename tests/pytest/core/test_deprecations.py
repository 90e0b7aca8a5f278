"""Nothing that dbt has deprecated is used."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.project import QUIET, REPOSITORY, invoke

# parsing connects to nothing, so the values mean nothing
PROFILES: dict[str, dict[str, Any]] = {
    "duckdb": {"type": "duckdb", "path": "unused.duckdb", "schema": "s"},
    "postgres": {
        "type": "postgres",
        "host": "h",
        "port": 1,
        "user": "u",
        "password": "p",
        "dbname": "d",
        "schema": "s",
    },
    # its adapter checks configurations that the other two let pass
    "snowflake": {
        "type": "snowflake",
        "account": "a",
        "user": "u",
        "password": "p",
        "role": "r",
        "database": "d",
        "warehouse": "w",
        "schema": "s",
    },
}


@pytest.mark.parametrize("adapter", PROFILES)
def test_a_strict_parse_reports_no_deprecation(adapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec(f"dbt.adapters.{adapter}") is None:
        pytest.skip(f"dbt-{adapter} is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profiles.yml").write_text(
        yaml.safe_dump({"two_clocks": {"target": "fake", "outputs": {"fake": PROFILES[adapter]}}})
    )
    places = [
        "--project-dir",
        str(REPOSITORY),
        "--profiles-dir",
        str(tmp_path),
        "--target-path",
        str(tmp_path / "target"),
    ]
    heard: list[str] = []

    def listen(event: Any) -> None:
        if "Deprecat" in event.info.name or event.info.level in ("warn", "error"):
            heard.append(f"{event.info.name}: {event.info.msg}")

    result = invoke([*QUIET, "parse", "--no-partial-parse", "--show-all-deprecations", *places], callbacks=[listen])
    assert result.success, result.exception
    assert heard == []
