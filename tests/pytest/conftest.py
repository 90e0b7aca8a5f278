"""Fixtures of the behaviour tests: real dbt, driven as a user drives it, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dbt_common.tests import enable_test_caching
from support.engines import DuckdbWarehouse, PostgresDatabase, PostgresWarehouse, Warehouse
from support.parsed_once import share_parses
from support.project import Project
from support.worked_out_once import share_what_stays

share_parses()
share_what_stays()
enable_test_caching()  # dbt's own, for its tests: each macro's Jinja is parsed once in a session

ENGINES = ("duckdb", "postgres")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        choices=ENGINES,
        help="run the behaviour tests on this engine only (may be repeated; all by default)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--engine") or ENGINES
        if metafunc.definition.get_closest_marker("any_engine"):
            chosen = chosen[:1]
        # one engine after the other: the server starts when it is first needed
        metafunc.parametrize("engine", chosen, scope="session")


@pytest.fixture(scope="session")
def first_engine(pytestconfig: pytest.Config) -> str:
    """Where the tests run that ask for no dialect."""
    return (pytestconfig.getoption("--engine") or ENGINES)[0]


@pytest.fixture(scope="session")
def postgres_database() -> Iterator[PostgresDatabase]:
    from support.servers import postgres

    with postgres() as database:
        yield database


@pytest.fixture
def warehouse(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Warehouse]:
    if engine == "duckdb":
        yield DuckdbWarehouse(tmp_path)
        DuckdbWarehouse.let_go()
        return
    warehouse = PostgresWarehouse(request.getfixturevalue("postgres_database"))
    warehouse.clear()
    yield warehouse
    warehouse.clear()


@pytest.fixture(scope="session")
def template_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture
def empty_project(
    engine: str, warehouse: Warehouse, template_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A consumer's project with the three lines in place and no model yet."""
    project = Project.from_template(template_directory / engine, warehouse, tmp_path)
    monkeypatch.chdir(tmp_path)
    return project


@pytest.fixture
def project(empty_project: Project) -> Project:
    """The same with an empty source `feed` and a model `sink` that keeps the newest version of its rows."""
    return empty_project.with_feed()
