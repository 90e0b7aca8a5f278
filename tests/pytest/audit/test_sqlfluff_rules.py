"""The rules in sqlfluff, as it is installed: a plugin that does not load is passed over in silence, so it is asked for."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from two_clocks.audit.rules import RULES

from .conftest import Shop

HEAD = "{{ config(materialized='incremental', unique_key='id') }}\n\n"
BODY = "select\n    id,\n    updated_at\nfrom {{ ref('orders') }}\n{% if is_incremental() %}\n"
TAIL = "\n{% endif %}\n"

# A Python that has this package and sqlfluff 3, such as one made by:
#   python -m venv .venv3 && .venv3/bin/pip install -e . 'sqlfluff<4' 'sqlfluff-templater-dbt<4' dbt-duckdb
OTHER = os.environ.get("TWO_CLOCKS_SQLFLUFF3_PYTHON")
PYTHONS = [
    pytest.param(sys.executable, id="installed"),
    pytest.param(
        OTHER,
        id="sqlfluff3",
        marks=pytest.mark.skipif(not OTHER, reason="TWO_CLOCKS_SQLFLUFF3_PYTHON names no Python with sqlfluff 3"),
    ),
]


def sqlfluff(python: str, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    code = "import sys; from sqlfluff.cli.commands import cli; sys.exit(cli())"
    return subprocess.run(
        [python, "-c", code, *map(str, arguments)], text=True, capture_output=True, check=False, cwd=cwd, timeout=300
    )


def lint(python: str, folder: Path, *arguments: object) -> list[tuple[str, int, int]]:
    done = sqlfluff(python, "lint", "--format", "json", *arguments, cwd=folder)
    start = done.stdout.find("[{")
    assert start >= 0, done.stdout + done.stderr
    (file,) = json.loads(done.stdout[start:].splitlines()[0])
    return [(found["code"], found["start_line_no"], found["start_line_pos"]) for found in file["violations"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write(folder: Path, condition: str, head: str = HEAD) -> Path:
    file = folder / "m.sql"
    file.write_text(head + BODY + condition + TAIL, encoding="utf-8")
    return file


@pytest.mark.parametrize("python", PYTHONS)
def test_sqlfluff_lists_every_rule(python: str) -> None:
    done = sqlfluff(python, "rules")
    assert done.returncode == 0, done.stderr
    joined = re.sub(r"\s+", "", done.stdout)
    for rule in RULES.values():
        assert f"[{rule.name}]" in joined
    version = sqlfluff(python, "--version").stdout
    assert ("version 3." in version) == (python == OTHER)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    "dialect",
    ["ansi", "snowflake", "bigquery", "postgres", "redshift", "databricks", "duckdb", "clickhouse", "trino", "tsql"],
)
def test_any_dialect_with_the_jinja_templater(python: str, dialect: str, folder: Path) -> None:
    write(folder, "    where updated_at >= current_timestamp")
    assert lint(python, folder, "--dialect", dialect, "--rules", "two_clocks", "m.sql") == [("TwoClocks_TC01", 8, 11)]


@pytest.mark.parametrize("python", PYTHONS)
def test_aliases_noqa_and_comments(python: str, folder: Path) -> None:
    bad = "    where updated_at > (select max(updated_at) from {{ this }})"
    write(folder, bad)
    arguments = ("--dialect", "postgres", "--rules", "TC02,TC03", "m.sql")
    assert [code for code, _, _ in lint(python, folder, *arguments)] == ["TwoClocks_TC02", "TwoClocks_TC03"]
    write(folder, bad + "  -- noqa: TC03")
    assert [code for code, _, _ in lint(python, folder, *arguments)] == ["TwoClocks_TC02"]
    write(folder, "    -- two_clocks: ignore TC02, TC03 because the table is rebuilt weekly\n" + bad)
    assert sqlfluff(python, "lint", *arguments, cwd=folder).returncode == 0


@pytest.mark.parametrize("python", PYTHONS)
def test_the_fix_is_made_only_where_it_is_safe(python: str, folder: Path) -> None:
    file = write(folder, "    where updated_at > (select coalesce(max(updated_at), '1900-01-01') from {{ this }})")
    assert sqlfluff(python, "fix", "--dialect", "postgres", "--rules", "TC03", "m.sql", cwd=folder).returncode == 0
    assert "updated_at >= (select" in file.read_text(encoding="utf-8")
    keyless = "{{ config(materialized='incremental') }}\n\n"
    file = write(
        folder, "    where updated_at > (select coalesce(max(updated_at), '1900-01-01') from {{ this }})", keyless
    )
    before = file.read_text(encoding="utf-8")
    sqlfluff(python, "fix", "--dialect", "postgres", "--rules", "TC03", "m.sql", cwd=folder)
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("python", PYTHONS)
def test_two_rules_are_off_until_asked_for(python: str, folder: Path) -> None:
    write(folder, "    where updated_at >= (select coalesce(max(updated_at), '1900-01-01') from {{ this }})")
    arguments = ("--dialect", "postgres", "--rules", "two_clocks", "m.sql")
    assert sqlfluff(python, "lint", *arguments, cwd=folder).returncode == 0
    (folder / ".sqlfluff").write_text("[sqlfluff:rules:two_clocks.no_lookback]\nforce_enable = True\n")
    assert [code for code, _, _ in lint(python, folder, *arguments)] == ["TwoClocks_TC10"]


@pytest.mark.parametrize("python", PYTHONS)
def test_other_files_are_left_alone(python: str, folder: Path) -> None:
    for number, text in enumerate(
        (
            "select id from orders where created_at < now()\n",
            "select id from orders where created_at >= current_date - 3\n",
            "{{ config(materialized='table') }}\nselect id from {{ ref('a') }} where ts > now()\n",
            HEAD
            + BODY
            + "    where updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }})"
            + TAIL,
        )
    ):
        (folder / f"m{number}.sql").write_text(text, encoding="utf-8")
    done = sqlfluff(
        python, "lint", "--dialect", "postgres", "--rules", "two_clocks", "--format", "json", ".", cwd=folder
    )
    assert done.returncode == 0, done.stdout
    (start,) = {line for line in done.stdout.splitlines() if line.startswith("[{")}
    assert sorted(Path(one["filepath"]).name for one in json.loads(start)) == ["m0.sql", "m1.sql", "m2.sql", "m3.sql"]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_project_around_the_file_counts(python: str, shop: Shop) -> None:
    text = (
        BODY
        + "    where updated_at >= (select coalesce(max(updated_at), '1900-01-03') - interval '2 days' from {{ this }})"
        + TAIL
    )
    shop.write("models/m.sql", text)
    arguments = ("--dialect", "postgres", "--rules", "two_clocks", "models/m.sql")
    assert sqlfluff(python, "lint", *arguments, cwd=shop.root).returncode == 0
    shop.write(
        "dbt_project.yml",
        (shop.root / "dbt_project.yml").read_text().replace("+unique_key: id", "+incremental_strategy: append"),
    )
    assert [code for code, _, _ in lint(python, shop.root, *arguments)] == ["TwoClocks_TC04"]


@pytest.mark.parametrize("python", PYTHONS)
def test_with_the_dbt_templater(python: str, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    if python == sys.executable and importlib.util.find_spec("sqlfluff_templater_dbt") is None:
        pytest.skip("sqlfluff-templater-dbt is not installed")
    if python == sys.executable and importlib.util.find_spec("dbt.adapters.duckdb") is None:
        pytest.skip("dbt-duckdb is not installed")
    monkeypatch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    shop.write("profiles.yml", "shop: {target: dev, outputs: {dev: {type: duckdb, path: ':memory:'}}}\n")
    shop.write(
        ".sqlfluff",
        "[sqlfluff]\ntemplater = dbt\ndialect = duckdb\n[sqlfluff:templater:dbt]\nproject_dir = .\nprofiles_dir = .\n",
    )
    shop.write(
        "models/orders.sql",
        "{{ config(materialized='table') }}\nselect\n    1 as id,\n    current_timestamp as updated_at\n",
    )
    # the target is not built, so dbt leaves the block out: the finding is in what the templater did not show
    shop.write(
        "models/m.sql",
        BODY
        + "    where updated_at > (select max(updated_at) from {{ this }})\n        and updated_at >= current_date - 3"
        + TAIL,
    )
    found = lint(python, shop.root, "--rules", "two_clocks", "models/m.sql")
    assert found == [("TwoClocks_TC02", 6, 11), ("TwoClocks_TC03", 6, 11), ("TwoClocks_TC01", 7, 13)]
