"""A cast that does not fail, on every engine and every version of PostgreSQL that is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.engines import PostgresWarehouse, Warehouse
from support.project import Project
from support.servers import binaries, postgres

# value, type, and what comes of it as text; None where it cannot be cast
CASTS = [
    ("12", "integer", "12"),
    (" 12 ", "integer", "12"),
    ("12.5.1", "integer", None),
    ("", "integer", None),
    ("99999999999", "integer", None),
    ("12.50", "numeric(10, 2)", "12.50"),
    ("n/a", "numeric(10, 2)", None),
    ("123456789012", "numeric(10, 2)", None),
    ("2024-02-29", "date", "2024-02-29"),
    ("2023-02-29", "date", None),
    ("2024-06-03 10:00:00", "timestamp", "2024-06-03 10:00:00"),
    ("yesterday-ish", "timestamp", None),
    ("true", "boolean", "true"),
    ("ja", "boolean", None),
    (None, "integer", None),
]


def check_casts(warehouse: Warehouse, project: Project) -> None:
    # from a table: PostgreSQL works a cast of a constant out before it looks at the CASE around it
    project.source("texts", {"id": "integer", "value": "varchar(50)"})
    project.feed(
        *((number, value) for number, (value, _, _) in enumerate(CASTS)), table="texts", columns=("id", "value")
    )
    cells = [
        f"select id, cast({{{{ two_clocks.safe_cast('value', '{type_name}') }}}} as varchar(50)) as result, "
        f"case when {{{{ two_clocks.cannot_cast('value', '{type_name}') }}}} then 1 else 0 end as bad "
        f"from {{{{ source('ods', 'texts') }}}} where id = {number}"
        for number, (_, type_name, _) in enumerate(CASTS)
    ]
    project.model(
        "casts", "{{ config(materialized='table', post_hook=[]) }} " + " union all ".join(cells), folder="plain"
    )
    project.run()
    found = {row["id"]: (row["result"], row["bad"]) for row in warehouse.query("select * from sync.casts")}
    for number, (value, type_name, expected) in enumerate(CASTS):
        assert found[number] == (expected, int(expected is None and value is not None)), (value, type_name)


def test_safe_cast_gives_the_value_or_null(empty_project: Project) -> None:
    check_casts(empty_project.warehouse, empty_project)


@pytest.mark.parametrize("major", [15, 16, 17, 18])
def test_safe_cast_on_each_version_of_postgresql(
    major: int, template_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if binaries(major) is None:
        pytest.skip(f"no PostgreSQL {major} on this machine")
    with postgres(major) as database:
        assert database.version() == major
        warehouse = PostgresWarehouse(database)
        template = template_directory / f"postgres{major}"
        project = Project.copy_of(Project.template(warehouse, template), warehouse, tmp_path)
        monkeypatch.chdir(tmp_path)
        check_casts(warehouse, project)
        # and in a window, where the cast decides; the function of 15 is made anew, before anything is written
        warehouse.execute("drop function if exists sync.two_clocks_input_is_valid(text, text)")
        project.source("feed", {"id": "integer", "grade": "varchar(50)", "changed_at": "timestamp"})
        project.model(
            "sink",
            "{{ config(unique_key='id', meta={'two_clocks_quarantine': {'key': 'id', 'rules': [{'name': 'number', 'column': 'grade', 'cast_to': 'numeric'}]}}) }} "
            "select id, cast(grade as numeric) as grade, changed_at from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed where cast(grade as numeric) > 0",
        )
        columns = ("id", "grade", "changed_at")
        for _ in range(2):
            project.feed((1, "n/a", "2024-06-03 10:00"), (2, "5", "2024-06-03 10:00"), columns=columns)
            project.run(now="2024-06-03T12:00:00Z")
            assert project.ids() == [2]
            assert warehouse.query("select key from sync.two_clocks_dead_letters") == [{"key": "1"}]
