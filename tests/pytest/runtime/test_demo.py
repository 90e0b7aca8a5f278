"""The two-clock scenario, replayed whole on each engine: what is lost, by whom, and why."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from two_clocks.dbt_session import DbtSession
from two_clocks.private_database import private_database

from .conftest import REPOSITORY, CommandLine

MONDAY_GRADE = 7
LATE, TIED, BEFORE_THE_STALL, OUT_OF_ORDER, AFTER_THE_LATE_LOAD = 15, 14, 17, 12, 21
NEVER_DUE = {8, 20}  # no timemodified, and dated 2031

BY_HAND = ["crm_grades_wall_clock", "crm_grades_data_clock", "crm_grades_lookback", "crm_grades_after_load"]


@dataclass
class Demo:
    told: dict[str, Any]
    shown: str
    files_left: set[str]

    def lost_keys(self, model: str) -> set[int]:
        return set(self.told["models"][model]["lost_keys"])

    def reason(self, model: str, key: int) -> str:
        return self.told["models"][model]["reasons"][str(key)]

    def sync(self, at: str) -> dict[str, Any]:
        return next(run for run in self.told["runs"] if run["kind"] == "sync" and run["at"] == at)


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dbt project alone, as a clone holds it."""
    clone = tmp_path_factory.mktemp("demo") / "two_clocks"
    for name in ("macros", "models", "seeds"):
        shutil.copytree(REPOSITORY / name, clone / name)
    for name in ("dbt_project.yml", "profiles.example.yml"):
        shutil.copy(REPOSITORY / name, clone / name)
    return clone


@pytest.fixture(scope="session")
def demo(engine: str, first_engine: str, two_clocks: CommandLine, clone: Path) -> Demo:
    before = files_in(clone)

    # JSON to a file on one engine, to standard output on the other
    file = clone.with_name("demo.json") if engine == "postgres" else None
    arguments = ["--project-dir", clone, "--target", engine, "--json", *([file] if file else [])]
    if engine != first_engine:
        arguments += ["--repeat", "0"]
    done = two_clocks("replay", *arguments)
    assert done.returncode == 0, done.stderr
    assert bool(file) == (done.stdout == "")
    told = json.loads(file.read_text() if file else done.stdout)
    return Demo(told, done.stderr, files_in(clone) - before)


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_the_package_loses_nothing_and_the_wall_clock_loses_the_monday_grade(demo: Demo) -> None:
    assert demo.told["models"]["crm_grades"]["rows_lost"] == 0
    assert demo.told["models"]["crm_grades_wall_clock"]["rows_lost"] > 0
    assert MONDAY_GRADE in demo.lost_keys("crm_grades_wall_clock")


def test_the_numbers_add_up(demo: Demo) -> None:
    for told in demo.told["models"].values():
        assert told["rows_expected"] == told["rows_delivered"] + told["rows_lost"] == 22
        assert told["rows_lost"] == len(told["lost_keys"]) == len(told["reasons"])
        assert not NEVER_DUE & set(told["lost_keys"])


def test_each_remedy_loses_rows_for_its_own_reason(demo: Demo) -> None:
    assert MONDAY_GRADE not in set.union(*(demo.lost_keys(model) for model in BY_HAND[1:]))

    assert demo.lost_keys("crm_grades_data_clock") >= {LATE, TIED, AFTER_THE_LATE_LOAD}
    assert "already stood at Mon 22:51:30" in demo.reason("crm_grades_data_clock", LATE)
    assert "strict >" in demo.reason("crm_grades_data_clock", TIED)
    assert "dated 2031-06-05 11:00" in demo.reason("crm_grades_data_clock", AFTER_THE_LATE_LOAD)

    assert demo.lost_keys("crm_grades_lookback") == {OUT_OF_ORDER, BEFORE_THE_STALL, AFTER_THE_LATE_LOAD}
    assert "overwritten with the older version of Mon 11:00" in demo.reason("crm_grades_lookback", OUT_OF_ORDER)
    assert "62 hours after the change" in demo.reason("crm_grades_lookback", BEFORE_THE_STALL)

    assert "carried data only to Tue 01:40" in demo.reason("crm_grades_after_load", BEFORE_THE_STALL)
    assert any("was empty" in reason for reason in demo.told["models"]["crm_grades_after_load"]["reasons"].values())


def test_the_timeline_is_the_one_of_the_story(demo: Demo) -> None:
    noon, afternoon, night = (
        demo.sync(at) for at in ("2024-06-03T12:00:00Z", "2024-06-03T15:00:00Z", "2024-06-04T01:00:00Z")
    )
    assert [run["monday_grade_in_ods"] for run in (noon, afternoon, night)] == [False, False, True]

    hour = 3600
    windows = [run["models"]["crm_grades_wall_clock"] for run in (noon, afternoon, night)]
    assert [(w["window_to"] - w["window_from"]) / hour for w in windows] == [4, 3, 10]
    assert [w["rows_written"] for w in windows[:2]] == [0, 0]
    assert not windows[2]["has_monday_grade"]
    assert night["models"]["crm_grades"]["has_monday_grade"]


@pytest.mark.any_engine
def test_a_second_replay_changes_nothing(demo: Demo) -> None:
    (repeat,) = demo.told["repeats"]
    assert repeat["changed_models"] == []
    assert repeat["rows_read"] > 0
    assert repeat["rows_written"] == 0


def test_a_person_sees_it_too(demo: Demo) -> None:
    for words in ("the Monday 10:00 grade", "(Mon 08:00, Mon 12:00]", "crm_grades: 22 of 22 grades delivered, 0 lost"):
        assert words in demo.shown
    assert "\x1b" not in demo.shown, "colours belong on a terminal, not in a pipe"


def test_the_clone_stays_clean(demo: Demo) -> None:
    assert demo.files_left == set()


def test_plain_build_works_with_the_example_profile(engine: str, clone: Path) -> None:
    with private_database(engine, clone) as database:
        session = DbtSession(clone, database.profiles_dir, database.target, target_path=database.target_path)
        for _ in range(2):
            session.invoke(["build"], check=True)


def test_a_project_that_installs_the_package_sees_no_demo(clone: Path, small_project: Path) -> None:
    (small_project / "packages.yml").write_text(f"packages: [{{local: {clone}}}]\n")
    (small_project / "dbt_packages").mkdir()
    (small_project / "dbt_packages" / "two_clocks").symlink_to(clone)

    manifest = DbtSession(small_project, small_project, target_path=small_project / "target").manifest

    everything = [*manifest.nodes.values(), *manifest.sources.values(), *manifest.unit_tests.values()]
    assert {thing.unique_id for thing in everything if thing.package_name == "two_clocks"} == {
        "model.two_clocks.two_clocks_health",
        "model.two_clocks.two_clocks_windows",
    }
