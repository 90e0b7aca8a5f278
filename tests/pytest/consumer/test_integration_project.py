"""The project in integration_tests/, run as somebody would who has just cloned the repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.engines import Warehouse
from support.project import PROJECT_FILE, QUIET, REPOSITORY, WRAPPER, invoke

LIBRARY_VIEWS = {"model.two_clocks.two_clocks_health", "model.two_clocks.two_clocks_windows"}
NOT_THE_PACKAGES = {".git", ".venv", "integration_tests", "target", "logs", "dbt_packages"}


@pytest.fixture
def clone(warehouse: Warehouse, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of integration_tests/ that has the package above it, so that the checkout stays clean."""
    package = tmp_path / "clone"
    package.mkdir()
    for entry in REPOSITORY.iterdir():
        if entry.name not in NOT_THE_PACKAGES:
            (package / entry.name).symlink_to(entry)
    consumer = package / "integration_tests"
    shutil.copytree(
        REPOSITORY / "integration_tests",
        consumer,
        ignore=shutil.ignore_patterns("dbt_packages", "target", "logs", "*.duckdb*", "package-lock.yml"),
    )
    monkeypatch.setenv("TWO_CLOCKS_ENGINE", engine)
    if engine == "postgres":
        for name, key in (("PGHOST", "host"), ("PGPORT", "port"), ("PGUSER", "user"), ("PGDATABASE", "dbname")):
            monkeypatch.setenv(name, str(warehouse.profile[key]))
    else:
        warehouse.path = consumer / "grades_warehouse.duckdb"
    monkeypatch.chdir(consumer)
    return consumer


def dbt(warehouse: Warehouse, *arguments: str) -> Any:
    result = invoke([*QUIET, *arguments])
    warehouse.after_dbt()
    assert result.success, result.exception or [(r.node.name, r.message) for r in result.result.results]
    return result.result


def test_a_project_that_installs_the_package_builds_and_sees_no_node_of_its_demo(
    clone: Path, warehouse: Warehouse
) -> None:
    dbt(warehouse, "deps")
    listed = dbt(warehouse, "ls", "--output", "json", "--output-keys", "unique_id", "package_name")
    nodes = [json.loads(line) for line in listed]
    assert {node["unique_id"] for node in nodes if node["package_name"] == "two_clocks"} == LIBRARY_VIEWS

    # what ls leaves out: sources, unit tests, exposures, groups and hooks
    manifest = dbt(warehouse, "parse")
    for kind in ("nodes", "sources", "unit_tests", "exposures", "groups", "metrics", "saved_queries"):
        of_package = {unique_id for unique_id in getattr(manifest, kind) if unique_id.split(".")[1] == "two_clocks"}
        assert of_package <= LIBRARY_VIEWS, kind

    for _ in range(2):
        dbt(warehouse, "build", "--vars", "{two_clocks_now: '2024-06-03T12:00:00Z'}")
    grades = warehouse.query("select grade_id, finalgrade from analytics.crm_grades order by 1")
    assert [tuple(map(lambda value: value and float(value), row.values())) for row in grades] == [
        (1, 71.5),
        (2, 64),
        (3, 90),
        (4, None),
    ]
    ledger = warehouse.query(
        "select model, kind, rows_inserted, rows_superseded from analytics.two_clocks_window_ledger order by 1, 2 desc"
    )
    assert [tuple(row.values()) for row in ledger] == [
        ("model.grades_warehouse.crm_courses", "initial", 3, 0),
        ("model.grades_warehouse.crm_courses", "incremental", 0, 0),
        ("model.grades_warehouse.crm_grades", "initial", 4, 1),
        ("model.grades_warehouse.crm_grades", "incremental", 0, 1),
    ]


def test_the_lines_of_the_consumer_are_those_that_the_behaviour_tests_use() -> None:
    written = (REPOSITORY / "integration_tests/dbt_project.yml").read_text()
    for line in PROJECT_FILE.split("models:\n")[1].splitlines():
        assert line.replace("consumer", "grades_warehouse") in written
    assert (REPOSITORY / "integration_tests/macros/get_incremental_newest_wins_sql.sql").read_text() == WRAPPER
