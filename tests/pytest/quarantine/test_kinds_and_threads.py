"""Quarantine where there are several models, several streams, and other kinds of watermarks."""

from __future__ import annotations

import pytest
import yaml

from quarantine.conftest import RULES, SINK, Guarded, at

NOON = "2024-06-03T12:00:00Z"


def test_eight_models_in_four_threads_each_have_their_letters(guarded: Guarded) -> None:
    names = ["sink", *(f"sink_{number}" for number in range(7))]
    for name in names[1:]:
        guarded.project.model(name, SINK)
    meta = {"two_clocks_quarantine": {"key": "id", "rules": RULES}}
    content = {"models": [{"name": name, "config": {"meta": meta}} for name in names]}
    guarded.project.write("models/sync/sinks.yml", yaml.safe_dump(content))
    guarded.feed((1, "n/a", at(1)), (2, "5", at(2)))
    for _ in range(2):
        guarded.project.run(now=NOON)
    expected = sorted((f"model.consumer.{name}", "1", 2) for name in names)
    assert guarded.letters("model, key, times_seen") == expected


def test_each_stream_has_letters_of_its_own(guarded: Guarded) -> None:
    columns = {"id": "integer", "grade": "varchar(50)", "changed_at": "timestamp"}
    selects = []
    for stream in ("north", "south"):
        guarded.project.source(stream, columns)
        selects.append(
            f"select id, '{stream}' as origin, cast(grade as numeric(10, 2)) as grade, changed_at from {{{{ two_clocks.windowed(source('ods', '{stream}'), "
            f"'changed_at', stream='{stream}', target_filter=\"origin = '{stream}'\") }}}} as {stream}"
        )
        guarded.project.feed((1, "n/a", at(1)), (2, "5", at(2)), table=stream, columns=tuple(columns))
    guarded.project.model("sink", "{{ config(unique_key=['id', 'origin']) }} " + " union all ".join(selects))
    guarded.declare([*RULES, {"name": "not_two", "valid": "id <> 2", "stream": "south"}])
    for _ in range(2):
        guarded.project.run(now=NOON)
    assert guarded.letters("stream, key, rule") == [
        ("north", "1", "grade_is_a_number"),
        ("south", "1", "grade_is_a_number"),
        ("south", "2", "not_two"),
    ]
    assert guarded.project.rows("id, origin") == [(2, "north")]


@pytest.mark.parametrize(
    ("kind", "good", "bad", "future"),
    [
        ("bigint", 1717372800, 1717372900, 1917372800),
        ("date", "2024-06-02", "2024-06-03", "2031-01-01"),
        ("timestamp with time zone", "2024-06-03 10:00+02", "2024-06-03 11:00:00.123456+02", "2031-01-01 00:00+00"),
    ],
)
def test_other_kinds_of_watermarks_are_set_aside_searched_and_let_go(
    guarded: Guarded, kind: str, good: object, bad: object, future: object
) -> None:
    project = guarded.project
    project.source("other", {"id": "integer", "grade": "varchar(50)", "changed_at": kind})
    project.model("sink", SINK.replace("'feed'", "'other'"))
    meta = {
        "two_clocks_quarantine": {
            "key": "id",
            "rules": [{"name": "not_bad", "valid": "grade <> 'bad'"}, {"name": "future", "watermark": "future"}],
        },
        "two_clocks_poison": {"after": 1},
    }
    project.write("models/sync/sink.yml", yaml.safe_dump({"models": [{"name": "sink", "config": {"meta": meta}}]}))
    columns = ("id", "grade", "changed_at")
    project.feed((1, "5", good), (2, "bad", bad), (3, "5", future), table="other", columns=columns)
    project.run(now=NOON)
    assert guarded.letters() == [("2", "not_bad"), ("3", "future")]
    guarded.warehouse.execute("update ods.other set grade = '7' where id = 2")
    project.run(now=NOON)
    assert guarded.letters() == [("3", "future")] and project.ids() == [1, 2]

    guarded.warehouse.execute("update ods.other set grade = 'poison' where id = 2")
    for _ in range(4):
        run = project.attempt(now=NOON)
    assert run.result.success, run.errors()
    (found,) = guarded.warehouse.query("select state, lower_value, upper_value from sync.two_clocks_open_ranges")
    assert found["state"] == "pinned", found
    project.feed((4, "5", good), table="other", columns=columns)
    project.run(now=NOON)
    assert project.ids() == [1, 2, 4]
