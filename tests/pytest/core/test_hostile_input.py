"""Names and values from data and vars are names and values: nothing of them is run, rendered or obeyed."""

from __future__ import annotations

import pytest
from support.project import Project
from support.terminal import NOT_FOR_A_TERMINAL

NOON = "2024-06-03T12:00:00Z"

# each has something that ends a name or a literal somewhere, that a template takes for its own, or that a terminal obeys
ODD_NAMES = [
    'say "when"',
    'x" from ods.odd; drop table ods.odd; --',
    "it's",
    "semi;colon --",
    "{{ 1 / 0 }}",
    "{% endif %}",
    "ナイーブ ☃ \U0001f600",
    "back\\slash",
    "\x1b[31mred\u202e",
]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def show(project: Project, columns: list[str], *rows: tuple[object, ...]) -> None:
    """Rows become visible in ods.odd; written out, because a client's own placeholders stumble over such names."""
    for row in rows:
        values = ", ".join(str(value) if isinstance(value, int) else f"'{value}'" for value in row)
        project.warehouse.execute(f"insert into ods.odd ({', '.join(columns)}) values ({values})")


def test_columns_may_be_called_anything(project: Project) -> None:
    columns = ["id", *map(quoted, ODD_NAMES), "changed_at"]
    project.source("odd", {"id": "integer", **dict.fromkeys(columns[1:-1], "varchar(50)"), "changed_at": "timestamp"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select * from {{ two_clocks.windowed(source('ods', 'odd'), 'changed_at') }} as odd
        """,
    )

    def version(key: int, text: str, moment: str) -> tuple[object, ...]:
        return (key, *[text] * len(ODD_NAMES), moment)

    show(project, columns, version(1, "first", "2024-06-03 09:00"), version(1, "older", "2024-06-03 08:00"))
    project.run(now=NOON)
    show(project, columns, version(1, "second", "2024-06-03 10:00"), version(2, "new", "2024-06-03 10:00"))
    project.run(now=NOON)

    assert project.rows(", ".join(columns[:-1])) == [version(1, "second", "")[:-1], version(2, "new", "")[:-1]]
    assert project.counts() == {"extracted": 4, "inserted": 1, "updated": 1, "superseded": 2}


@pytest.mark.parametrize("name", ODD_NAMES[:2])
def test_key_and_watermark_may_be_called_anything(project: Project, name: str) -> None:
    key, mark = quoted(name), quoted(name + "!")
    project.source("odd", {key: "integer", mark: "timestamp"})
    project.model(
        "sink",
        f"{{{{ config(unique_key={key!r}) }}}} select * "
        f"from {{{{ two_clocks.windowed(source('ods', 'odd'), {mark!r}) }}}} as odd",
    )
    show(project, [key, mark], (1, "2024-06-03 09:00"))
    project.run(now=NOON)
    show(project, [key, mark], (1, "2024-06-03 10:00"), (2, "2024-06-03 10:00"))
    project.run(now=NOON)

    assert project.rows(f"{key}, 1") == [(1, 1), (2, 1)]


def test_models_and_streams_may_be_called_anything(project: Project) -> None:
    stream = "it's \\\"; drop table ods.feed; --{{ 1 / 0 }}\\x1b[31m\u202e\\\\"
    project.model(
        "it's;--{{1}}☃",
        f"""
        {{{{ config(unique_key='id', alias='other') }}}}
        with found as (
            select id, cast(note as integer) as note, changed_at
            from {{{{ two_clocks.windowed(source('ods', 'feed'), 'changed_at', stream="{stream}") }}}} as feed
        )
        select * from {{{{ two_clocks.newest_wins('found') }}}} as newest
        """,
    )
    project.feed((1, "1", "2024-06-03 09:00"))
    said = project.run(now=NOON).text + project.run(now=NOON).text
    project.feed((2, "two", "2024-06-03 09:00"))
    project.attempt(now=NOON)

    windows = project.ledger("it's;--{{1}}☃")
    assert [window["status"] for window in windows] == ["succeeded", "succeeded", "failed"]
    assert {window["stream"] for window in windows} == {"it's \"; drop table ods.feed; --{{ 1 / 0 }}\x1b[31m\u202e\\"}
    lines = [line for line in said.splitlines() if line.startswith("two_clocks: it's;--{{1}}☃ (it's ")]
    assert len(lines) == 2
    assert not NOT_FOR_A_TERMINAL.search("\n".join(lines))


def test_a_column_named_after_an_escape_sequence_steers_no_terminal(project: Project) -> None:
    project.source("odd", {"id": "integer", quoted("\x1b[31mred\u202e"): "integer", "changed_at": "timestamp"})
    project.model(
        "sink",
        """
        {{ config(unique_key='key') }}
        select * from {{ two_clocks.windowed(source('ods', 'odd'), 'changed_at') }} as odd
        """,
    )
    show(project, ["id", "changed_at"], (1, "2024-06-03 09:00"))
    message = project.refused(now=NOON)

    assert "?[31mred?" in message
    assert not NOT_FOR_A_TERMINAL.search(message)


# each would call for a number of the sequence, were it run
BAIT = {
    "bigint": "nextval('ods.bait')",
    "timestamp": "2024-01-01' as timestamp) or nextval('ods.bait') > 0 or mark > cast('1999-01-01",
}


@pytest.mark.parametrize("kind", BAIT)
def test_what_somebody_wrote_into_the_tables_beside_the_ledger_is_not_run(project: Project, kind: str) -> None:
    project.source("odd", {"id": "integer", "mark": kind})
    project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, mark "
        "from {{ two_clocks.windowed(source('ods', 'odd'), 'mark', lookback=0) }} as odd",
    )
    first, second = (3, 9) if kind == "bigint" else ("2024-06-03 09:00", "2024-06-03 10:00")
    show(project, ["id", "mark"], (1, first))
    project.run(now=NOON)
    made = project.dbt("run-operation", "two_clocks.make_ledger_tables")
    assert made.result.success, made.errors()
    (window,) = project.ledger()
    project.warehouse.insert(
        "sync.two_clocks_open_ranges",
        [
            {
                "range_id": "x",
                "model": window["model"],
                "target_relation": window["target_relation"],
                "state": "searching",
                "lower_value": BAIT[kind],
                "upper_value": window["window_to_value"],
                "failures": 3,
            }
        ],
    )
    show(project, ["id", "mark"], (2, second))
    project.warehouse.execute("create sequence ods.bait")
    project.refused(now=NOON)
    assert project.warehouse.query("select nextval('ods.bait') as n") == [{"n": 1}]
    assert project.ids() == [1]
