"""The same sinks guarded by two_clocks and by dbt-expectations, on an empty table, a frozen source and a vanished group."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.project import REPOSITORY, Project

SIDE_BY_SIDE = REPOSITORY / "integration_tests" / "side_by_side"
PAGE = REPOSITORY / "docs" / "signals.md"
HUB = "hub.getdbt.com"
COLUMNS = {"id": "integer", "branch": "varchar(10)", "changed_at": "timestamp"}
FEEDS = ("healthy_feed", "empty_feed", "frozen_feed", "north_feed", "south_feed")

TESTS = (
    "no_empty_window_streak",
    "data_clock_fresh",
    "expect_table_row_count_to_be_between",
    "expect_row_values_to_have_recent_data",
    "expect_grouped_row_values_to_have_recent_data",
)
# what each test says: True is green. The same table stands in docs/signals.md.
OUTCOME = {
    "healthy": (True, True, True, True, True),
    "empty_table": (False, False, True, False, True),
    "frozen_source": (False, False, True, False, False),
    "vanished_group": (False, True, True, True, True),
}


def checkout(variable: str) -> Path | None:
    """A local checkout of a dbt package, if the environment names one."""
    place = os.environ.get(variable)
    if place and not (Path(place) / "dbt_project.yml").is_file():
        pytest.fail(f"{variable} is {place}, where there is no dbt_project.yml")
    return Path(place) if place else None


def hub_answers() -> bool:
    try:
        with socket.create_connection((HUB, 443), timeout=3):
            return True
    except OSError:
        return False


def install(project: Project, directory: Path) -> None:
    """dbt-expectations into a project, or a skip that says why not."""
    packages: list[dict[str, Any]] = [{"local": str(REPOSITORY)}]
    expectations, dates = checkout("TWO_CLOCKS_DBT_EXPECTATIONS"), checkout("TWO_CLOCKS_DBT_DATE")
    if expectations and dates:
        copied = directory / "dbt_expectations"
        shutil.copytree(expectations, copied, ignore=shutil.ignore_patterns(".git", "integration_tests"))
        # its own packages.yml asks the hub for dbt_date
        (copied / "packages.yml").write_text(yaml.safe_dump({"packages": [{"local": str(dates.resolve())}]}))
        packages.append({"local": str(copied)})
    elif hub_answers():
        packages.append({"package": "metaplane/dbt_expectations", "version": [">=0.10.8", "<0.11.0"]})
    else:
        pytest.skip(
            f"dbt-expectations is not there: {HUB} cannot be reached, and TWO_CLOCKS_DBT_EXPECTATIONS and TWO_CLOCKS_DBT_DATE name no local checkouts"
        )
    project.write("packages.yml", yaml.safe_dump({"packages": packages}))
    shutil.rmtree(project.directory / "dbt_packages", ignore_errors=True)
    (project.directory / "package-lock.yml").unlink(missing_ok=True)
    run = project.dbt("deps", manifest=False)
    if not run.result.success:
        pytest.skip(f"dbt-expectations could not be installed: {run.result.exception}")


@pytest.fixture
def guarded_twice(empty_project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = empty_project
    project.configure(vars={"dbt_date:time_zone": "UTC"})
    install(project, tmp_path_factory.mktemp("packages"))
    for feed in FEEDS:
        project.source(feed, COLUMNS)
    (project.directory / "models/sources.yml").unlink()
    for file in (SIDE_BY_SIDE / "models").iterdir():
        project.write(f"models/sync/{file.name}", file.read_text())
    return project


def arrive(project: Project, feed: str, number: int, branch: str, age: str) -> None:
    project.warehouse.execute(
        f"""insert into ods.{feed} select {number}, '{branch}', cast(current_timestamp at time zone 'UTC' as timestamp) - interval '{age}'"""
    )


def verdicts(project: Project) -> dict[str, dict[str, bool]]:
    run = project.attempt(command="test")
    assert run.result.exception is None, run.result.exception
    said: dict[str, dict[str, bool]] = {name: {} for name in OUTCOME}
    for result in run.result.result.results:
        if result.node.resource_type == "test":
            assert str(result.status) in ("pass", "fail"), result.message
            model = result.node.attached_node.rsplit(".", 1)[-1]
            said[model][result.node.test_metadata.name] = str(result.status) == "pass"
    return said


def test_side_by_side(guarded_twice: Project) -> None:
    project = guarded_twice
    arrive(project, "frozen_feed", 1, "north", "5 days")
    arrive(project, "south_feed", 1, "south", "1 day")
    for number in range(1, 5):
        arrive(project, "healthy_feed", number, "north", "1 hour")
        arrive(project, "north_feed", number, "north", "1 hour")
        if number == 2:
            project.warehouse.execute("delete from ods.south_feed")
            project.run("--full-refresh", "--select", "vanished_group", variables={"two_clocks_max_shrink": 1})
            project.run("--select", "package:consumer", "--exclude", "vanished_group")
            continue
        project.run()

    said = verdicts(project)

    assert {name: tuple(said[name][test] for test in TESTS) for name in OUTCOME} == OUTCOME


def test_the_page_shows_the_same_table() -> None:
    page = PAGE.read_text()
    for name, outcome in OUTCOME.items():
        row = f"| {name.replace('_', ' ')} | " + " | ".join("green" if green else "**red**" for green in outcome) + " |"
        assert row in page, row
