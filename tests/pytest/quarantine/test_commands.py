"""What a person sees of quarantine and can do about it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from quarantine.conftest import Guarded, at
from two_clocks.cli import main

NOON = "2024-06-03T12:00:00Z"
NEXT_DAY = "2024-06-04T12:00:00Z"


def two_clocks(guarded: Guarded, *arguments: str, now: str = NOON) -> Result:
    place = ["--project-dir", str(guarded.project.directory), "--profiles-dir", str(guarded.project.directory)]
    result = CliRunner().invoke(main, [*arguments, *place, "--vars", f"{{two_clocks_now: '{now}'}}"])
    guarded.warehouse.after_dbt()
    return result


def listed(guarded: Guarded, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(two_clocks(guarded, "quarantine", "list", "--json", *arguments).stdout)["letters"]


def test_C56_check_and_status_tell_of_one_bad_row_in_a_thousand(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed_many(1000, bad=1)
    guarded.project.run(now=NEXT_DAY)

    check = two_clocks(guarded, "check", now=NEXT_DAY)
    assert check.exit_code == 0, check.output
    assert "WARN  quarantined  model sink: 1 row is in quarantine (grade_is_a_number 1)" in check.stderr
    assert two_clocks(guarded, "check", "--fail-on-warn", now=NEXT_DAY).exit_code == 1
    assert "quarantine" in two_clocks(guarded, "status", now=NEXT_DAY).stderr


@pytest.mark.any_engine
def test_list_shows_the_rows_and_is_safe_to_read(guarded: Guarded) -> None:
    guarded.declare()
    assert "Nothing is in quarantine." in two_clocks(guarded, "quarantine", "list").stderr
    guarded.feed((1, "\x1b[31mred", at(1)), (None, "5", at(2)), (3, "5", at(3)))
    guarded.project.run(now=NOON)
    result = two_clocks(guarded, "quarantine", "list")
    assert result.exit_code == 0, result.output
    assert "2 in quarantine." in result.stderr and "grade_is_a_number" in result.stderr and "null_key" in result.stderr
    assert "\x1b" not in result.stderr
    letters = listed(guarded)
    assert sorted(str(letter["key"]) for letter in letters) == ["1", "None"]


@pytest.mark.any_engine
def test_retry_reads_again_where_the_usual_window_does_not_reach(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a", at(1)), (2, "n/a", at(2)), (3, "5", at(3)))
    guarded.project.run(now=NOON)
    guarded.feed((4, "5", "2024-06-30 00:00"))
    guarded.project.run(now="2024-07-01T00:00:00Z")
    guarded.repair(1)
    result = two_clocks(guarded, "quarantine", "retry", "--select", "sink", now="2024-07-01T00:00:00Z")
    assert result.exit_code == 1, result.output
    assert "sink: 2 in quarantine before, 1 after." in result.stderr
    assert guarded.project.ids() == [1, 3, 4]
    guarded.repair(2)
    assert two_clocks(guarded, "quarantine", "retry", "--select", "sink", now="2024-07-01T00:00:00Z").exit_code == 0
    assert guarded.project.ids() == [1, 2, 3, 4]


def test_a_row_let_go_by_hand_comes_back_only_when_it_changes(guarded: Guarded) -> None:
    guarded.declare()
    guarded.feed((1, "n/a", at(1)), (2, "n/a", at(2)), (3, "5", at(3)))
    guarded.project.run(now=NOON)
    nothing = two_clocks(guarded, "quarantine", "release", "--select", "sink", "--key", "9", "--reason", "x")
    assert nothing.exit_code == 2 and "is named 9;" in nothing.stderr
    assert two_clocks(guarded, "quarantine", "release", "--select", "sink", "--reason", "x").exit_code == 2

    result = two_clocks(guarded, "quarantine", "release", "--select", "sink", "--key", "1", "--reason", "a test's row")
    assert result.exit_code == 0, result.output
    guarded.project.run(now=NOON)
    assert guarded.letters() == [("2", "grade_is_a_number")]
    (let_go,) = [letter for letter in listed(guarded, "--all") if letter["key"] == "1"]
    assert (let_go["released_by"], let_go["released_why"], let_go["times_seen"]) == ("person", "a test's row", 2)
    assert guarded.project.ids() == [3]

    guarded.repair(1, grade="worse")
    guarded.project.run(now=NOON)
    assert ("1", "grade_is_a_number") in guarded.letters()


def test_what_is_in_quarantine_is_named_where_it_looks_like_a_loss(guarded: Guarded) -> None:
    test = {"source_relation": "source('ods', 'feed')", "unique_key": "id", "watermark": "changed_at"}
    guarded.declare()
    declared = yaml.safe_load((guarded.project.directory / "models/sync/sink.yml").read_text())
    declared["models"][0]["data_tests"] = [{"two_clocks.nothing_lost": {"arguments": test}}]
    guarded.project.write("models/sync/sink.yml", yaml.safe_dump(declared))
    guarded.feed((1, "n/a", at(1)), (2, "5", at(2)), (3, "n/a", at(3)))
    guarded.feed((4, "5", at(4)))
    guarded.project.run(now=NEXT_DAY)
    guarded.warehouse.execute("delete from sync.sink where id = 2")

    reconciled = two_clocks(guarded, "reconcile", "--select", "sink", "--json", now=NEXT_DAY)
    (found,) = json.loads(reconciled.stdout)["comparisons"]
    assert [row["key"]["id"] for row in found["keys"]] == ["2"], "its rules keep 1 and 3 out of the model's own SQL"
    assert found["not_compared"]["in_quarantine"] == 2
    said = two_clocks(guarded, "reconcile", "--select", "sink", now=NEXT_DAY).stderr
    assert "Not compared: 2 rows of the source in quarantine." in said

    # the test compares with the source itself
    guarded.project.attempt("--store-failures", command="test", now=NEXT_DAY)
    (table,) = guarded.warehouse.query(
        "select table_schema as s, table_name as t from information_schema.tables where table_name like '%nothing_lost%'"
    )
    rows = guarded.warehouse.query(
        f'select key_1, what_happened, what_to_do from {table["s"]}."{table["t"]}" order by key_1'
    )
    told = {row["key_1"]: (row["what_happened"], row["what_to_do"]) for row in rows}
    assert told["1"][0].endswith("is missing; it is in quarantine by the rule grade_is_a_number")
    assert told["1"][1].startswith("mend it at the source")
    assert told["2"][0].endswith("is missing") and "two-clocks repair" in told["2"][1]


@pytest.mark.parametrize("command", ["list", "retry", "release"])
def test_help_needs_no_project(command: str) -> None:
    assert CliRunner().invoke(main, ["quarantine", command, "--help"]).exit_code == 0
