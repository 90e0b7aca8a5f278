"""The command as people, hooks and workflows call it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from two_clocks.audit.rules import RULES
from two_clocks.commands.audit import command

from .conftest import Shop

ROOT = Path(__file__).parents[3]
GOOD = "select id, updated_at from {{ ref('a') }} {% if is_incremental() %} where updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }}) {% endif %}"
LOSES = (
    "select id, updated_at from {{ ref('a') }}\n{% if is_incremental() %} where updated_at >= current_date {% endif %}"
)
MEDIUM = GOOD.replace(">=", ">").replace(" - interval '2 days'", "")
LOW = GOOD.replace(" - interval '2 days'", "")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("text", "level", "status"),
    [
        (GOOD, "low", 0),
        (LOW, "low", 1),
        (LOW, "medium", 0),
        (MEDIUM, "medium", 1),
        (MEDIUM, "high", 0),
        (LOSES, "high", 1),
        (LOSES, "never", 0),
    ],
)
def test_exit_status(shop: Shop, text: str, level: str, status: int) -> None:
    shop.write("models/m.sql", text)
    assert run(shop.root, "--fail-on", level).exit_code == status


def test_by_default_any_finding_counts(shop: Shop) -> None:
    shop.write("models/m.sql", LOW)
    assert run(shop.root).exit_code == 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda root: root / "absent", "There is no file or folder"),
        (lambda root: (root / "empty").mkdir() or root / "empty", "There is no dbt_project.yml in, above or below"),
        (lambda root: (root / "dbt_project.yml").write_text("[") and root, "is no valid dbt_project.yml"),
    ],
)
def test_what_it_cannot_do_is_one_sentence(tmp_path: Path, make: object, sentence: str) -> None:
    result = run(make(tmp_path))  # type: ignore[operator]
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and sentence in lines[0] and lines[0].endswith(".")


def test_nothing_to_judge_is_said(shop: Shop) -> None:
    shop.write("models/t.sql", "{{ config(materialized='table') }} select 1 as id")
    result = run(shop.root)
    assert result.exit_code == 0
    assert "No incremental model, microbatch model or snapshot was found in shop (1 files read)" in result.stdout


def test_json_goes_to_standard_output_and_words_elsewhere(shop: Shop) -> None:
    shop.write("models/m.sql", LOSES)
    for arguments in (["--json"], ["--format", "json"]):
        result = run(shop.root, *arguments)
        document = json.loads(result.stdout)
        assert document["summary"] == {"loses_rows": 1, "at_risk": 0, "safe": 0, "not_judged": 0}
        (model,) = document["projects"][0]["models"]
        wanted = {
            "strategy",
            "unique_key",
            "watermark",
            "lower_bound",
            "upper_bound",
            "lookback",
            "verdict",
            "line",
            "reason",
            "change",
            "diff",
        }
        assert wanted <= set(model)
        assert (model["verdict"], model["line"], model["findings"][0]["rule"]) == ("loses rows", 2, "TC01")
        assert result.stderr.startswith("1 incremental model or snapshot in shop: 1 lose rows")


def test_output_to_a_file(shop: Shop, tmp_path: Path) -> None:
    shop.write("models/m.sql", LOSES)
    for form in ("table", "json", "sarif", "markdown"):
        file = tmp_path / f"out.{form}"
        result = run(shop.root, "--format", form, "--output", file)
        assert result.stdout == "" and result.exit_code == 1
        assert "TC01" in file.read_text(encoding="utf-8")


def test_vars_reach_the_templates(shop: Shop) -> None:
    shop.write("models/m.sql", LOSES.replace("current_date", "now() - interval '{{ var('days') }} days'"))
    assert "an amount that the template computes" in run(shop.root, "--json").stdout
    assert "3 days, counted from the wall clock" in run(shop.root, "--json", "--vars", "{days: 3}").stdout
    assert run(shop.root, "--vars", "3").exit_code == 2
    assert run(shop.root, "--vars", "[").exit_code == 2


def test_sarif_is_what_code_scanning_takes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("models/a b/m.sql", LOSES)
    shop.write("models/s.sql", "-- two_clocks: ignore TC01 because it may\n" + LOSES)
    shop.write("models/u.sql", LOSES.replace("updated_at >= current_date", "{{ unknown_window() }}"))
    monkeypatch.chdir(shop.root.parent)
    log = json.loads(run(shop.root, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (sarif,) = log["runs"]
    rules = sarif["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(RULES)
    for rule in rules:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"]
        assert re.fullmatch(r"[A-Z][A-Za-z]+", rule["name"])
    assert len(sarif["results"]) == 2
    for result in sarif["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert (
            not place["artifactLocation"]["uri"].startswith(("/", "..")) and " " not in place["artifactLocation"]["uri"]
        )
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
        assert re.fullmatch(r"[0-9a-f]{32}", result["partialFingerprints"]["primaryLocationLineHash"])
    assert (
        sarif["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "shop/models/a%20b/m.sql"
    )
    assert sarif["results"][1]["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "it may"}
    ]
    (invocation,) = sarif["invocations"]
    assert invocation["executionSuccessful"] is True
    assert "unknown_window()" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_fingerprints_survive_moved_lines_and_tell_findings_apart(shop: Shop) -> None:
    text = "with a as (select * from {{ ref('a') }} {% if is_incremental() %} where x >= current_date {% endif %}),\nb as (select * from {{ ref('b') }} {% if is_incremental() %} where y >= current_date {% endif %})\nselect * from a join b using (id)"

    def prints() -> list[str]:
        log = json.loads(run(shop.root, "--format", "sarif").stdout)
        return [result["partialFingerprints"]["primaryLocationLineHash"] for result in log["runs"][0]["results"]]

    shop.write("models/m.sql", text)
    before = prints()
    shop.write("models/m.sql", "\n\n" + text)
    assert prints() == before
    assert len(set(before)) == 2


def test_this_projects_own_demo() -> None:
    result = run(ROOT / "models/demo", "--json")
    assert result.exit_code == 1
    models = {model["name"]: model for project in json.loads(result.stdout)["projects"] for model in project["models"]}
    assert models["crm_grades_wall_clock"]["verdict"] == "loses rows"
    assert {"TC01", "TC05"} <= {finding["rule"] for finding in models["crm_grades_wall_clock"]["findings"]}
    assert models["crm_grades"]["verdict"] == "safe"
    assert models["crm_grades"]["findings"] == [] and models["crm_grades"]["lookback"] == "48 hours"


def test_the_installed_command(shop: Shop) -> None:
    shop.write("models/m.sql", LOSES)
    done = subprocess.run(
        [sys.executable, "-m", "two_clocks", "audit", "--brief"],
        cwd=shop.root,
        text=True,
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "scripts"), "PATH": ""},
    )
    assert done.returncode == 1, done.stderr
    assert "loses rows" in done.stdout and "TC01" in done.stdout


def test_it_needs_no_dbt_and_no_sqlfluff(shop: Shop) -> None:
    shop.write("models/m.sql", LOSES)
    code = (
        "import sys\n"
        "class Closed:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.split('.')[0] in {'dbt', 'dbt_common', 'sqlfluff'}: raise ImportError(name)\n"
        "sys.meta_path.insert(0, Closed())\n"
        "import socket\n"
        "def closed(*_, **__): raise OSError('no network')\n"
        "socket.socket.connect = closed\n"
        "from two_clocks.cli import main\n"
        f"main(['audit', {str(shop.root)!r}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        text=True,
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "scripts"), "PATH": ""},
    )
    assert done.returncode == 1, done.stderr


def test_the_hook_calls_what_exists(shop: Shop) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, name, *arguments = hook["entry"].split()
    assert (program, name, hook["id"]) == ("two-clocks", "audit", "two-clocks-audit")
    good, bad = shop.write("models/good.sql", GOOD), shop.write("models/bad.sql", LOSES)
    stray = shop.root.parent / "stray.yml"
    stray.write_text("a: 1\n")
    assert run(*arguments, good).exit_code == 0
    assert run(*arguments, good, stray).exit_code == 0
    assert run(*arguments, good, bad).exit_code == 1
    assert run(*arguments, shop.root / "dbt_project.yml").exit_code == 1


def test_the_workflow_example_calls_what_exists(shop: Shop) -> None:
    shop.write("models/m.sql", GOOD)
    workflow = yaml.safe_load((ROOT / "docs/examples/audit-workflow.yml").read_text(encoding="utf-8"))
    calls = [
        step["run"].split(">>")[0].split()
        for step in workflow["jobs"]["audit"]["steps"]
        if step.get("run", "").startswith("two-clocks")
    ]
    assert len(calls) == 3
    for call in calls:
        arguments = [
            str(shop.root) if part == "." else str(shop.root / part) if part.endswith(".sarif") else part
            for part in call[2:]
        ]
        assert run(*arguments).exit_code == 0, call
    assert workflow["permissions"]["security-events"] == "write"


def test_every_rule_is_documented() -> None:
    text = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    for code, rule in RULES.items():
        assert f"### {code}: {rule.title[0].lower()}{rule.title[1:]}".lower() in text.lower(), code


def test_a_thousand_models_in_a_minute(shop: Shop) -> None:
    texts = [
        path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "corpus").rglob("models/**/*.sql"))
    ]
    for number in range(1000):
        shop.write(f"models/part_{number % 20}/m_{number}.sql", texts[number % len(texts)])
    started = time.monotonic()
    result = run(shop.root, "--json")
    assert time.monotonic() - started < 60
    assert sum(json.loads(result.stdout)["summary"].values()) > 950
