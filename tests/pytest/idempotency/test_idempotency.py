"""One window run twice: what the second run may not change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.project import SINK, Project

from two_clocks.cli import main

NOW = "2024-06-03T12:00:00Z"
PLAIN = """\
{{{{ config(materialized='incremental', post_hook=[], {config}) }}}}
select id, note, changed_at{column} from {{{{ source('ods', 'feed') }}}}
{{% if is_incremental() %}}where changed_at > (select max(changed_at) from {{{{ this }}}}){{% endif %}}
"""


def prove(project: Project, *arguments: str, model: str = "sink") -> Result:
    place = ["--project-dir", str(project.directory), "--profiles-dir", str(project.directory)]
    result = CliRunner().invoke(
        main, ["idempotency", "--select", model, *place, "--vars", f"{{two_clocks_now: '{NOW}'}}", *arguments]
    )
    project.warehouse.after_dbt()
    schemas = project.warehouse.query(
        "select schema_name as s from information_schema.schemata where schema_name like '%proof%'"
    )
    assert not schemas, "the scratch schema goes with the proof"
    return result


@pytest.fixture
def fed(project: Project) -> Project:
    project.feed(*((key, f"note {key}", f"2024-06-03 0{key}:00") for key in range(1, 9)))
    return project


def test_a_model_of_newest_wins_passes_and_its_own_table_is_left_alone(fed: Project) -> None:
    fed.run(now=NOW)
    before = fed.everything()
    result = prove(fed)
    assert result.exit_code == 0, result.output
    assert "sink: idempotent. The same window twice: 8 rows, not one of them changed, 0 written again." in result.stderr
    assert fed.everything() == before


@pytest.mark.parametrize("strategy", ["delete+insert"])
def test_an_upsert_written_by_hand_passes_although_it_writes_again(fed: Project, strategy: str) -> None:
    fed.model("sink", PLAIN.format(config=f"unique_key='id', incremental_strategy='{strategy}'", column=""))
    result = prove(fed, "--json")
    assert result.exit_code == 0, result.output
    (proof,) = json.loads(result.stdout)
    assert (proof["idempotent"], proof["rows"], proof["rows_after"]) == (True, 8, 8)


@pytest.mark.any_engine
def test_an_append_model_is_found(fed: Project) -> None:
    fed.model("sink", PLAIN.format(config="incremental_strategy='append'", column=""))
    result = prove(fed)
    assert result.exit_code == 1, result.output
    assert "sink: NOT idempotent: it appends: the same window was stored again (8 rows became 16)" in result.stderr
    assert "column" not in result.stderr


@pytest.mark.parametrize("call", ["now()"])
def test_a_column_that_changes_each_time_is_named(fed: Project, call: str) -> None:
    fed.model("sink", SINK.replace("changed_at\n", f"changed_at, {call} as synced\n", 1))
    result = prove(fed)
    assert result.exit_code == 1, result.output
    assert (
        f"column synced holds another value after the second run in 8 of 8 rows; its SQL asks for {call[:-2]}"
        in result.stderr
    )
    assert "column note" not in result.stderr


def test_a_sequence_in_an_upsert_by_hand_is_named(fed: Project) -> None:
    fed.warehouse.execute("create sequence ods.numbers")
    fed.model(
        "sink",
        PLAIN.format(
            config="unique_key='id', incremental_strategy='delete+insert'", column=", nextval('ods.numbers') as number"
        ),
    )
    result = prove(fed)
    assert result.exit_code == 1, result.output
    assert "column number holds another value" in result.stderr and "nextval" in result.stderr


def test_a_key_that_is_another_each_time_and_one_that_repeats_are_told_apart(fed: Project) -> None:
    fed.model(
        "sink",
        PLAIN.format(config="unique_key='number', incremental_strategy='delete+insert'", column=", random() as number"),
    )
    assert "its unique_key (number) is another one each time" in prove(fed).stderr
    fed.feed((1, "again", "2024-06-03 09:00"))
    fed.model("sink", PLAIN.format(config="unique_key='id', incremental_strategy='delete+insert'", column=""))
    assert "unique_key (id) is not unique: 1 keys stand in more than one row" in prove(fed).stderr


@pytest.mark.any_engine
def test_nothing_to_look_at_proves_nothing(project: Project) -> None:
    result = prove(project)
    assert result.exit_code == 1 and "it read no row, so nothing is proven" in result.stderr
    project.model("plain", "{{ config(materialized='table', post_hook=[]) }} select 1 as id", folder="plain")
    assert prove(project, model="plain").exit_code == 2


@pytest.mark.any_engine
def test_a_model_that_cannot_run_is_no_finding(fed: Project) -> None:
    fed.model("sink", SINK.replace("note,", "cast(note as integer) as note,", 1))
    result = prove(fed)
    assert result.exit_code == 2 and "The first run of sink failed" in result.stderr


@pytest.mark.parametrize("kind", ["bigint"])
def test_every_kind_of_watermark(empty_project: Project, kind: str) -> None:
    empty_project.source("feed", {"id": "integer", "note": "varchar(50)", "changed_at": kind})
    empty_project.model("sink", SINK)
    value: Any = 1717372800 if kind == "bigint" else "2024-06-03"
    empty_project.feed((1, "x", value), (2, "y", value))
    result = prove(empty_project)
    assert result.exit_code == 0, result.output
    assert "2 rows, not one of them changed" in result.stderr
