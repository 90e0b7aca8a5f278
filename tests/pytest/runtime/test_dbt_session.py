"""dbt in this process: parsed once, told in one sentence, silent on standard output."""

from __future__ import annotations

from pathlib import Path

import pytest

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun


@pytest.fixture
def session(small_project: Path) -> DbtSession:
    return DbtSession(small_project, small_project, target_path=small_project / "target")


def test_a_var_is_read_by_each_run_although_the_project_is_parsed_once(session: DbtSession) -> None:
    said = []
    for word in ("first", "second"):
        session.invoke(["run", "--select", "said"], vars={"word": word}, check=True)
        said.append(session.query("select word from {{ ref('said') }}"))
    assert said == [[{"word": "first"}], [{"word": "second"}]]


def test_a_query_returns_every_row_with_its_type(session: DbtSession) -> None:
    rows = session.query("select range as number, cast(range as varchar) as text, null as nothing from range(1500)")
    assert len(rows) == 1500
    assert rows[7] == {"number": 7, "text": "7", "nothing": None}


def test_it_leaves_standard_output_alone(session: DbtSession, capfd: pytest.CaptureFixture[str]) -> None:
    session.invoke(["run"])
    session.query("select 1 as x")
    assert capfd.readouterr().out == ""


def test_a_question_leaves_the_artifacts_of_the_run_before_as_they_are(
    session: DbtSession, small_project: Path
) -> None:
    """`dbt retry` and others read them."""
    session.invoke(["run", "--select", "said"], check=True)
    files = [small_project / "target" / name for name in ("manifest.json", "run_results.json")]
    before = [file.read_bytes() for file in files]
    session.query("select 1 as x")
    assert [file.read_bytes() for file in files] == before


def test_the_manifest_needs_no_connection(small_project: Path) -> None:
    profiles = small_project / "profiles.yml"
    profiles.write_text(profiles.read_text().replace("small.duckdb", "no/such/folder/small.duckdb"))
    session = DbtSession(small_project, small_project, target_path=small_project / "target")
    assert {"model.small.base", "model.small.said"} <= set(session.manifest.nodes)


def test_a_failed_node_is_a_result_unless_checked(session: DbtSession) -> None:
    result = session.invoke(["run", "--select", "broken"])
    assert not result.success
    with pytest.raises(CannotRun, match=r"model\.small\.broken: .*no_such_column") as caught:
        session.invoke(["run", "--select", "broken"], check=True)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("dbt_project.yml", "name: small", "name: small\nnot yaml: ["), "could not read the project"),
        (("dbt_project.yml", "profile: small", "profile: other"), "profile named 'other'"),
        (("models/said.sql", "ref('base')", "ref('bass')"), "bass"),
        (("models/said.sql", "{{ ref", "{{ if ref"), "could not read the project"),
    ],
)
def test_what_cannot_be_parsed_is_one_sentence(
    small_project: Path, change: tuple[str, str, str], sentence: str
) -> None:
    name, before, after = change
    file = small_project / name
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(CannotRun, match=sentence) as caught:
        DbtSession(small_project, small_project, target_path=small_project / "target").invoke(["run"])
    assert "\n" not in caught.value.message


def test_no_project_and_no_target_are_named(small_project: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"no dbt_project\.yml in"):
        DbtSession(tmp_path).invoke(["run"])
    with pytest.raises(CannotRun, match="'nowhere'"):
        DbtSession(small_project, small_project, "nowhere", target_path=small_project / "target").invoke(["run"])


def test_a_query_that_the_database_refuses_is_one_sentence(session: DbtSession) -> None:
    with pytest.raises(CannotRun, match=r"a query could not run: .*no_such_table") as caught:
        session.query("select * from no_such_table")
    assert "\n" not in caught.value.message


def test_a_changed_file_counts_after_forget(session: DbtSession, small_project: Path) -> None:
    session.invoke(["run", "--select", "said"], check=True)
    (small_project / "models" / "base.sql").write_text(
        "{{ config(materialized='ephemeral') }} select 'changed' as word"
    )
    session.forget()
    session.invoke(["run", "--select", "said"], check=True)
    assert session.query("select word from {{ ref('said') }}") == [{"word": "changed"}]
