"""What cannot be read stops the run before anything is written, in one sentence that names it."""

from __future__ import annotations

import pytest
from support.project import Project

NOON = "2024-06-03T12:00:00Z"

UNREADABLE = [
    ("two_clocks_lookback", "soon", "hours"),
    ("two_clocks_lookback", "48 parsecs", "hours"),
    ("two_clocks_lookback", "", "hours"),
    ("two_clocks_lookback", "hours", "hours"),
    ("two_clocks_lookback", "48 hours; drop table x", "hours"),
    ("two_clocks_lookback", "1e3", "hours"),
    ("two_clocks_lookback", ".nan", "hours"),
    ("two_clocks_lookback", True, "hours"),
    ("two_clocks_lookback", ["48 hours"], "hours"),
    ("two_clocks_lookback", {"hours": 48}, "hours"),
    ("two_clocks_lookback", -1, "0 or more"),
    ("two_clocks_lookback", "-2 hours", "0 or more"),
    ("two_clocks_now", "yesterday", "ISO 8601"),
    ("two_clocks_now", "2024-06-03T12:00:00", "zone"),
    ("two_clocks_now", "2024-06-03", "zone"),
    ("two_clocks_now", "2024-02-30T12:00:00Z", "ISO 8601"),
    ("two_clocks_now", "2024-06-03T25:00:00Z", "ISO 8601"),
    ("two_clocks_now", 1717416000, "ISO 8601"),
    ("two_clocks_now", "", "ISO 8601"),
    ("two_clocks_max_window", "a while", "days"),
    ("two_clocks_max_window", 0, "greater than 0"),
    ("two_clocks_max_window", "-1 day", "greater than 0"),
    ("two_clocks_max_shrink", -0.1, "between 0 and 1"),
    ("two_clocks_max_shrink", 1.5, "between 0 and 1"),
    ("two_clocks_max_shrink", "10%", "between 0 and 1"),
    ("two_clocks_max_shrink", "half", "between 0 and 1"),
    ("two_clocks_max_shrink", True, "between 0 and 1"),
]


@pytest.mark.parametrize("run", ["first build", "later run"])
@pytest.mark.parametrize(("name", "value", "advice"), UNREADABLE, ids=lambda value: str(value) or "nothing")
def test_a_var_that_cannot_be_read_is_refused_by_name_value_and_advice(
    project: Project, run: str, name: str, value: object, advice: str
) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    if run == "later run":
        project.run(now=NOON)
    elif name != "two_clocks_lookback":
        pytest.skip("one var is enough to show that a first build reads its vars too")
    before = project.everything()
    message = project.refused("--full-refresh" if "shrink" in name else "--fail-fast", variables={"two_clocks_now": NOON, name: value})

    assert name in message
    assert str(value)[:40] in message
    assert advice in message
    assert project.everything() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'changed_at', lookback='soon'", ["lookback", "soon", "hours"]),
        ("'changed_at', lookback=-1", ["lookback", "-1"]),
        ("'changed_at', max_window='some'", ["max_window", "some"]),
        ("'changed_at', nulls='maybe'", ["nulls", "maybe", "exclude", "include"]),
        ("'changed_at', time_zone='Europe/Atlantis'", ["time_zone", "Europe/Atlantis"]),
        ("'no_such_column'", ["no_such_column", "changed_at"]),
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


def test_a_refused_value_leaves_no_row_in_the_ledger(project: Project) -> None:
    project.feed((1, "a", "2024-06-03 09:00"))
    project.run(now=NOON)
    project.refused(now=NOON, lookback="soon")
    assert len(project.ledger()) == 1
