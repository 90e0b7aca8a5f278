"""A diff that is shown applies, and what it makes is safe."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from two_clocks.audit.run import audit_project

from .conftest import Shop

HEAD = "{{ config(unique_key='id') }}\n\n"
SIMPLE = {
    "strict": ("snowflake", "updated_at > (select max(updated_at) from {{ this }})"),
    "unguarded look-back": ("postgres", "updated_at >= (select max(updated_at) - interval '3 days' from {{ this }})"),
    "inclusive": ("redshift", "updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})"),
    "alias": ("postgres", "updated_at > (select max(t.updated_at) from {{ this }} as t)"),
    "wall clock": ("snowflake", "updated_at >= dateadd(day, -3, current_timestamp())"),
    "wall clock without look-back": ("postgres", "updated_at >= current_date"),
    "wall clock in a macro": ("databricks", "updated_at >= {{ dbt.dateadd('day', -3, dbt.current_timestamp()) }}"),
    "and more": ("postgres", "status <> 'x' and updated_at > (select max(updated_at) from {{this}}) and kind = 1"),
}


def model(condition: str) -> str:
    return (
        HEAD
        + f"select id, updated_at\nfrom {{{{ ref('a') }}}}\n{{% if is_incremental() %}}\nwhere {condition}\n{{% endif %}}\n"
    )


@pytest.mark.parametrize("tool", ["patch", "git"])
@pytest.mark.parametrize("case", SIMPLE)
def test_applies_and_mends(shop: Shop, case: str, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    dialect, condition = SIMPLE[case]
    report = shop.report(model(condition), dialect, "models/deep down/m.sql")
    assert report.verdict != "safe"
    assert report.diff, "no diff was offered"
    _apply(tool, report.diff, shop.root)
    after = shop.audit(dialect).reports[0]
    assert (after.verdict, after.findings) == ("safe", [])
    assert "2 days" in after.lookback or "3 days" in after.lookback


def _apply(tool: str, diff: str, root: Path) -> None:
    arguments = {"patch": ["patch", "-p1"], "git": ["git", "apply", "--whitespace=error"]}[tool]
    done = subprocess.run(arguments, input=diff, text=True, cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("ending", ["", "\n", "\n\n"])
def test_the_end_of_the_file_does_not_matter(shop: Shop, ending: str) -> None:
    text = (
        HEAD
        + "select id, updated_at from {{ ref('a') }} where updated_at > (select max(updated_at) from {{ this }})"
        + ending
    )
    report = shop.report(text)
    assert report.diff
    _apply("patch", report.diff, shop.root)
    assert shop.audit().reports[0].verdict == "safe"


@pytest.mark.parametrize(
    "text",
    [
        model("updated_at > (select max(updated_at) from {{ this }})").replace(
            HEAD, "{{ config(incremental_strategy='append') }}"
        ),
        model("id > (select max(id) from {{ this }})").replace("id, updated_at", "id"),
        model("updated_epoch > (select max(updated_epoch) from {{ this }})"),
        model("date(updated_at) > (select max(updated_at) from {{ this }})"),
        model("updated_at > (select max(updated_at) from {{ this }}) or kind = 1"),
        model("updated_at > (select max(updated_at) from {{ this }})").replace("\n", "\r\n"),
        model("updated_at > (select max(updated_at) from {{ this }})").replace(
            "select id, updated_at", "select id, now() as updated_at"
        ),
        model("{{ only_new() }}").replace(
            HEAD,
            "{% macro only_new() %}updated_at > (select max(updated_at) from {{ this }}) and kind = 1{% endmacro %}"
            + HEAD,
        ),
    ],
)
def test_no_diff_where_it_could_do_harm(shop: Shop, text: str) -> None:
    report = shop.report(text)
    assert report.findings
    assert report.diff == ""


def test_the_whole_corpus(tmp_path: Path) -> None:
    corpus = Path(__file__).parent / "corpus"
    offered = 0
    for source in sorted(path.parent for path in corpus.glob("*/dbt_project.yml")):
        root = tmp_path / source.name
        shutil.copytree(source, root)
        audit = audit_project(root, workers=1)
        mended = [report for report in audit.reports if report.diff]
        for report in mended:
            assert re.match(r"--- a/.+\n\+\+\+ b/", report.diff)
            _apply("patch", report.diff, root)
        after = {report.path: report for report in audit_project(root, dialect=audit.dialect, workers=1).reports}
        assert {report.path: after[report.path].verdict for report in mended} == {
            report.path: "safe" for report in mended
        }
        offered += len(mended)
    assert offered >= 10
