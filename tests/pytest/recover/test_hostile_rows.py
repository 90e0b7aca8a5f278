"""Keys that are SQL, Jinja, markup or an escape sequence: named, repaired and deleted like any other key."""

from __future__ import annotations

import pytest
from support.project import SINK, Project
from support.terminal import NOT_FOR_A_TERMINAL

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun
from two_clocks.one_model import selector_of

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


def test_a_model_of_any_name_is_looked_at_and_mended(project: Project) -> None:
    name = "it's;--{{1}}{%☃\U0001f600"
    (project.directory / "models/sync/sink.sql").unlink()
    project.model(name, SINK.replace("unique_key='id'", "unique_key='id', alias='odd'"))
    project.feed((1, "x", "2024-06-05 06:00"), (3, "x", "2024-06-09 06:00"))
    project.run(now="2024-06-09T12:00:00Z")
    project.feed((2, "x", "2024-06-01 06:00"))

    answer = two_clocks(project, "reconcile")
    assert (answer.status, answer.named) == (1, [("missing", 2)]), answer.said
    mended = two_clocks(project, "backfill", "--select", name, "--from", "2024-06-01", "--to", "2024-06-01")
    assert mended.status == 0, mended.said
    assert project.ids("odd") == [1, 2, 3]


def test_one_model_is_selected_and_no_other(project: Project, engine: str) -> None:
    if engine != "duckdb":
        pytest.skip("nothing is asked of a database")
    # what dbt's selectors take for operators, beside models that they would take for the same
    for name in ("sink*", "sink[kx]", "-x", "a,b", "it's"):
        project.model(name, SINK)
    project.model("inside", SINK, folder="sync/sink")
    session = DbtSession(project.directory, project.directory, artifacts=False)
    models = [
        node
        for node in session.manifest.nodes.values()
        if str(node.resource_type) == "model" and node.package_name == "consumer"
    ]
    for model in models:
        listed = session.invoke(["ls", "--resource-type", "model", "--select", selector_of(session, model.unique_id)])
        assert listed.result == [".".join(model.fqn)]
    assert len(models) == 7

    project.model("a;b", SINK)
    session.forget()
    with pytest.raises(CannotRun, match="dbt cannot select model a;b without model a,b"):
        selector_of(session, "model.consumer.a;b")
