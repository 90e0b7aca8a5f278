"""Keys that are SQL, Jinja, markup or an escape sequence: named, repaired and deleted like any other key."""

from __future__ import annotations

import re

from support.project import Project

from .recover_support import two_clocks

KEYS = [
    "o'brien'; drop table sync.sink; --",
    "back\\slash\\'",
    "{{ 1 / 0 }}{% endraw %}{# x",
    "$$ || E'\\x27' %s %(name)s",
    "\x1b[2J\x1b]0;title\x07\u202e",
    "[bold]red[/bold] <script>",
    "\U0001f600 emoji",
    "line\nbreak\ttab",
    "007",
    "null",
    " ",
]
NOT_FOR_A_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def test_keys_of_any_text_are_named_repaired_and_deleted(project: Project) -> None:
    project.warehouse.execute("drop table ods.feed")
    project.source("feed", {"id": "varchar(50)", "note": "varchar(50)", "changed_at": "timestamp"})
    lost, orphaned = KEYS, [f"{key}!" for key in KEYS]
    project.feed(*[(key, "x", "2024-06-05 06:00") for key in [*orphaned, "stays"]])
    project.run(now="2024-06-09T12:00:00Z", lookback=0)
    place = project.warehouse.placeholder
    for key in orphaned:
        project.warehouse.execute(f"delete from ods.feed where id = {place}", (key,))
    project.feed(*[(key, "late", "2024-06-01 06:00") for key in lost])

    named = two_clocks(project, "reconcile", "--keys", "99")
    assert named.status == 1
    assert {(one["what"], one["key"]["id"]) for one in named.comparison["keys"]} == {
        *[("missing", key) for key in lost],
        *[("orphaned", key) for key in orphaned],
    }
    repaired = two_clocks(project, "repair", "--by-key", "--delete-orphans", "--yes")
    assert repaired.status == 0, repaired.said
    assert sorted(project.ids()) == sorted([*lost, "stays"])
    assert not NOT_FOR_A_TERMINAL.search(named.said + repaired.said)
