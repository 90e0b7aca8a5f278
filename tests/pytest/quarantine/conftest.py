"""A feed in which every value is text, a sink that casts it, and rules that stand between the two."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
import yaml
from support.project import Project

FEED = {"id": "integer", "grade": "varchar(50)", "changed_at": "timestamp"}
SINK = """\
{{ config(unique_key='id') }}
select id, cast(grade as numeric(10, 2)) as grade, changed_at
from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
"""
RULES = [{"name": "grade_is_a_number", "column": "grade", "cast_to": "numeric(10, 2)"}]
START = datetime(2024, 6, 3)


def at(minutes: int) -> str:
    return f"{START + timedelta(minutes=minutes)}"


class Guarded:
    """The project, and what its quarantine holds."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.warehouse = project.warehouse

    def declare(
        self, rules: list[dict[str, Any]] = RULES, model: str = "sink", key: Any = "id", **settings: Any
    ) -> None:
        self.declare_as({"key": key, "rules": rules, **settings}, model)

    def declare_as(self, quarantine: Any, model: str = "sink") -> None:
        content = {"models": [{"name": model, "config": {"meta": {"two_clocks_quarantine": quarantine}}}]}
        self.project.write(f"models/sync/{model}.yml", yaml.safe_dump(content, width=10**6))

    def feed(self, *rows: tuple[Any, ...]) -> None:
        self.project.feed(*rows, columns=tuple(FEED))

    def feed_many(self, count: int, bad: int, first: int = 1) -> None:
        """`count` rows a minute apart, the first `bad` of them no numbers."""
        self.warehouse.execute(
            "insert into ods.feed select n, case when n < "
            f"{first + bad} then 'n/a ' || n else cast(n % 100 as varchar(10)) end, cast('{START}' as timestamp) + n * interval '1 minute' "
            f"from generate_series({first}, {first + count - 1}) as numbers(n)"
        )

    def letters(self, columns: str = "key, rule", only_open: bool = True) -> list[tuple[Any, ...]]:
        where = " where released_at is null" if only_open else ""
        rows = self.warehouse.query(f"select {columns} from sync.two_clocks_dead_letters{where} order by 1, 2")
        return [tuple(row.values()) for row in rows]

    def repair(self, key: int, grade: str = "50", changed_at: str | None = None) -> None:
        moved = f", changed_at = cast('{changed_at}' as timestamp)" if changed_at else ""
        self.warehouse.execute(f"update ods.feed set grade = '{grade}'{moved} where id = {key}")


@pytest.fixture
def guarded(empty_project: Project) -> Guarded:
    empty_project.source("feed", FEED)
    empty_project.model("sink", SINK)
    return Guarded(empty_project)
