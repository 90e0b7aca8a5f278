"""dbt's own unit tests of pure macros (tests/unit), run in this project as its root."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.engines import Warehouse
from support.project import QUIET, REPOSITORY, invoke


def test_the_unit_tests_of_macros_pass(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = {"test": {**warehouse.profile, "schema": "unit_tests"}}
    (tmp_path / "profiles.yml").write_text(yaml.safe_dump({"two_clocks": {"target": "test", "outputs": outputs}}))
    places = [
        "--project-dir",
        str(REPOSITORY),
        "--profiles-dir",
        str(tmp_path),
        "--target-path",
        str(tmp_path / "target"),
    ]
    result = invoke([*QUIET, "test", "--select", "test_type:unit,path:tests/unit", *places])
    warehouse.after_dbt()

    assert result.result, result.exception
    outcomes = {
        done.node.name: done.message or done.status
        for done in result.result.results
        if done.node.resource_type == "unit_test"
    }
    assert len(outcomes) > 15
    assert {name: said for name, said in outcomes.items() if said != "pass"} == {}
