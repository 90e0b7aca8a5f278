"""What cannot be read stops the run before anything is written, in one sentence that names it."""

from __future__ import annotations

import pytest
from support.project import Project

NOON = "2024-06-03T12:00:00Z"

# var: (what would be right, values that cannot be read)
UNREADABLE: dict[str, list[tuple[str, list[object]]]] = {
    "two_clocks_lookback": [
        (
            "hours",
            [
                "soon",
                "48 parsecs",
                "",
                "hours",
                "48 hours; drop table x",
                "1e3",
                ".nan",
                True,
                ["48 hours"],
                {"hours": 48},
            ],
        ),
        ("0 or more", [-1, "-2 hours"]),
    ],
    "two_clocks_now": [
        ("ISO 8601", ["yesterday", "", "2024-02-30T12:00:00Z", "2024-06-03T25:00:00Z", 1717416000, True]),
        ("zone", ["2024-06-03T12:00:00", "2024-06-03"]),
    ],
    "two_clocks_max_window": [("days", ["a while", "", ["7 days"]]), ("greater than 0", [0, "0 hours", "-1 day"])],
    "two_clocks_max_shrink": [("between 0 and 1", [-0.1, 1.5, "10%", "half", "", True, [0.1]])],
}


@pytest.mark.any_engine
@pytest.mark.parametrize("run", ["first build", "later run", "full refresh"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_var_that_cannot_be_read_is_refused_by_name_value_and_advice(project: Project, run: str, name: str) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    if run != "first build":
        project.run(now=NOON)
    before = project.everything()
    complaints = []
    for advice, values in UNREADABLE[name]:
        for value in values:
            attempt = project.attempt(
                *(["--full-refresh"] if run == "full refresh" else []), variables={"two_clocks_now": NOON, name: value}
            )
            message = attempt.errors()
            for part in (name, str(value), advice):
                if part not in message:
                    complaints.append(f"{value!r}: no {part!r} in: {message or 'dbt succeeded'}")
            if project.everything() != before:
                complaints.append(f"{value!r}: something was written")
                before = project.everything()
    assert not complaints, "\n".join(complaints)


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'changed_at', lookback='soon'", ["lookback", "soon", "hours"]),
        ("'changed_at', lookback=-1", ["lookback", "-1"]),
        ("'changed_at', max_window='some'", ["max_window", "some"]),
        ("'changed_at', nulls='maybe'", ["nulls", "maybe", "exclude", "include"]),
        ("'changed_at', time_zone='Europe/Atlantis'", ["time_zone", "Europe/Atlantis"]),
        ("'no_such_column'", ["no_such_column", "sink"]),
        ("'coalesce(changed_at, changed_at)'", ["target_watermark", "coalesce(changed_at, changed_at)"]),
        ("'note'", ["note", "timestamp"]),
        ("none", ["watermark"]),
        ("'changed_at', target_watermark='not_there'", ["not_there"]),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_by_name(project: Project, arguments: str, words: list[str]) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.model(
        "sink",
        "{{ config(unique_key='id') }} select id, note, changed_at "
        f"from {{{{ two_clocks.windowed(source('ods', 'feed'), {arguments}) }}}} as feed",
    )
    before = project.everything()
    message = project.refused(now=NOON)

    for word in words:
        assert word in message
    assert project.everything() == before


@pytest.mark.any_engine
@pytest.mark.parametrize("schema", ["monitoring\n", 'x" cascade; --', "a.b", "m" * 64, " ", 7])
def test_a_ledger_schema_that_is_no_plain_name_is_refused(project: Project, schema: object) -> None:
    before = project.everything()
    message = project.refused(now=NOON, variables={"two_clocks_ledger_schema": schema})
    assert "two_clocks_ledger_schema is '" in message and "63 at most" in message
    assert project.everything() == before


@pytest.mark.any_engine
def test_a_length_of_time_is_refused_as_the_lookback_of_an_integer_id(empty_project: Project) -> None:
    project = empty_project
    project.source("log", {"id": "integer", "note": "varchar(50)", "seq": "bigint"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, seq from {{ two_clocks.windowed(source('ods', 'log'), 'seq') }} as log
        """,
    )
    project.feed((1, "a", 10), table="log", columns=("id", "note", "seq"))
    before = project.everything()
    message = project.refused(lookback="48 hours")

    assert "two_clocks_lookback" in message and "48 hours" in message and "seq" in message
    assert project.everything() == before


@pytest.mark.any_engine
def test_a_refused_value_leaves_no_row_in_the_ledger(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.refused(now=NOON, lookback="soon")
    assert len(project.ledger()) == 1


@pytest.mark.any_engine
def test_two_sources_without_streams_are_refused_and_leave_no_window_behind(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.source("other_feed", {"id": "integer", "note": "varchar(50)", "changed_at": "timestamp"})
    project.model(
        "sink",
        """
        {{ config(unique_key='id') }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as one
        union all
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'other_feed'), 'changed_at') }} as other
        """,
    )
    assert "stream" in project.refused(now=NOON)
    assert project.ledger() == []


def test_a_view_is_refused_and_the_table_of_its_name_stays(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.model(
        "sink",
        """
        {{ config(materialized='view', unique_key='id', post_hook=[]) }}
        select id, note, changed_at from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
        """,
    )
    before = project.everything()
    assert "set materialized='incremental'" in project.refused(now=NOON)
    assert project.everything() == before


def test_a_full_refresh_with_empty_does_not_empty_a_table(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    before = project.everything()
    assert "would leave nothing of the 1 rows of sink" in project.refused("--full-refresh", "--empty", now=NOON)
    assert project.everything() == before

    project.run("--full-refresh", "--empty", variables={"two_clocks_now": NOON, "two_clocks_max_shrink": 1})
    assert project.ids() == []
