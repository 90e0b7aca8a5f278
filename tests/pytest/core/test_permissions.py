"""docs/permissions.md as it stands: its statements are run, and each part does its work with them and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg2
import pytest
from click.testing import CliRunner, Result
from support.project import LEDGER, REPOSITORY, SINK, Project

from two_clocks.cli import main

NOON = "2024-06-03T12:00:00Z"
VARS = {"two_clocks_ledger_schema": "monitoring"}
ROLES = ("sync_loader", "sync_reader")
ADMINISTRATOR, LOADER, READER, STRICT = (
    "Once, by an administrator",
    "The role that runs models",
    "The role that only looks",
    "A ledger that the role may not create, nor change",
)
LEDGER_OF_ITS_OWN = "grant usage, create on schema monitoring to sync_loader;"

GUARDED_SINK = SINK.replace(
    "unique_key='id'",
    "unique_key='id', meta={'two_clocks_quarantine': {'key': 'id', 'rules': "
    "[{'name': 'note_is_there', 'valid': 'note is not null'}]}}",
)


def statements_under(heading: str) -> list[str]:
    text = (REPOSITORY / "docs/permissions.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall("```sql\n(.*?)```", text, re.S)
    assert blocks, f"no statements under {heading}"
    return [line for block in blocks for line in block.strip().splitlines()]


@pytest.fixture
def granted(engine: str, request: pytest.FixtureRequest) -> Iterator[Granted]:
    if engine != "postgres":
        pytest.skip("DuckDB has no roles")
    granted = Granted(request.getfixturevalue("project"))
    yield granted
    granted.forget()


class Granted:
    """A project whose database has the roles of the document."""

    def __init__(self, project: Project) -> None:
        self.project, self.warehouse = project, project.warehouse
        project.model("sink", GUARDED_SINK)
        project.feed((1, "first", "2024-06-03 08:00"), (2, None, "2024-06-03 08:00"))

    def grant(self, statements: list[str]) -> None:
        for statement in statements:
            self.warehouse.execute(
                statement.replace("database warehouse", f"database {self.warehouse.server.database}")
            )

    def be(self, role: str) -> Project:
        self.warehouse.profile["user"] = role
        self.project.save_profile()
        return self.project

    def run(self, *arguments: str, **variables: Any) -> None:
        self.be("sync_loader").run(*arguments, variables={**VARS, "two_clocks_now": NOON, **variables})

    def refused(self, role: str = "sync_loader") -> str:
        """A run that has to fail; it may leave the word that it did in the ledger, and nothing else."""
        ledger = f"monitoring.{LEDGER}"
        before = self.project.everything()
        message = self.be(role).refused(now=NOON, variables=VARS)
        after = self.project.everything()
        assert {**after, ledger: None} == {**before, ledger: None}
        assert all("'failed'" in row for row in set(after.get(ledger, [])) - set(before.get(ledger, [])))
        return message

    def two_clocks(self, *command: str, role: str = "sync_reader") -> Result:
        self.be(role)
        place = ["--project-dir", str(self.project.directory), "--profiles-dir", str(self.project.directory)]
        given = "{two_clocks_ledger_schema: monitoring, two_clocks_now: '" + NOON + "'}"
        return CliRunner().invoke(main, [*command, *place, "--vars", given])

    def statuses(self) -> list[str]:
        return [window["status"] for window in self.project.ledger(schema="monitoring")]

    def forget(self) -> None:
        self.be(self.warehouse.server.user)
        self.warehouse.clear()
        for role in ROLES:
            if self.warehouse.query("select 1 from pg_roles where rolname = %s", (role,)):
                self.warehouse.execute(f"drop owned by {role}")
                self.warehouse.execute(f"drop role {role}")
        self.warehouse.execute(f"grant all on database {self.warehouse.server.database} to public")


def test_the_role_that_runs_models_and_the_one_that_only_looks(granted: Granted) -> None:
    for part in (ADMINISTRATOR, LOADER, READER):
        granted.grant(statements_under(part))
    project = granted.project
    granted.run()
    project.feed((1, "second", "2024-06-03 09:00"), (3, "late", "2024-06-03 07:00"))
    granted.run()
    granted.run("--full-refresh")
    granted.run(two_clocks_backfill_from="2024-06-03", two_clocks_backfill_to="2024-06-03")
    assert project.rows() == [(1, "second"), (3, "late")]
    project.feed((4, "new", "2024-06-03 10:00"))

    before = project.everything()
    for command, status in {
        ("status",): 0,
        ("check",): 0,
        ("lookback",): 0,
        ("reconcile",): 0,
        ("quarantine", "list"): 0,
    }.items():
        result = granted.two_clocks(*command)
        assert result.exit_code == status, (command, result.output)
    assert "may not write the table" in granted.refused("sync_reader")
    assert project.everything() == before

    # and what the database itself makes of the reader
    connection = psycopg2.connect(
        host=project.warehouse.server.host, user="sync_reader", dbname=project.warehouse.server.database
    )
    for statement in (
        f"delete from monitoring.{LEDGER}",
        f"insert into monitoring.{LEDGER} (window_id) values ('x')",
        "update sync.sink set note = 'x'",
        "create table sync.x (n integer)",
        "create temporary table x (n integer)",
    ):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege), connection, connection.cursor() as cursor:
            cursor.execute(statement)
    connection.close()
    granted.run()
    assert (4, "new") in project.rows()


def test_a_ledger_that_the_role_may_neither_create_nor_change(granted: Granted) -> None:
    granted.grant(statements_under(ADMINISTRATOR))
    granted.grant([line for line in statements_under(LOADER) if line != LEDGER_OF_ITS_OWN])
    made = granted.be(granted.warehouse.server.user).dbt(
        "run-operation", "two_clocks.make_ledger_tables", variables=VARS
    )
    assert made.result.success, made.errors()
    granted.grant(statements_under(STRICT))
    granted.run()
    granted.run()

    # what cannot be read is searched for, which changes the ranges beside the ledger
    granted.project.model("sink", GUARDED_SINK.replace("note,", "cast(note as integer) as note,"))
    granted.project.warehouse.execute("drop table sync.sink")
    for _ in range(4):
        granted.be("sync_loader").attempt(now=NOON, variables=VARS)
    assert granted.statuses()[:5] == ["succeeded", "succeeded", "failed", "failed", "failed"]
    (found,) = granted.warehouse.query("select * from monitoring.two_clocks_open_ranges")
    assert found["changed_at"] is not None
    for statement in (f"delete from monitoring.{LEDGER}", f"drop table monitoring.{LEDGER}"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            granted.warehouse.execute("set role sync_loader")
            granted.warehouse.execute(statement)
        granted.warehouse.execute("reset role")


@pytest.mark.parametrize(
    ("revoked", "words"),
    [
        ("drop schema monitoring", "the schema monitoring for the ledger does not exist"),
        ("revoke create on schema monitoring from sync_loader", "may not create it; let the owner of the schema run"),
        ("revoke usage on schema monitoring from sync_loader", "may not create it; let the owner of the schema run"),
    ],
    ids=["no schema", "no create", "no usage"],
)
def test_a_first_run_without_a_grant_names_it_and_writes_nothing(granted: Granted, revoked: str, words: str) -> None:
    for part in (ADMINISTRATOR, LOADER):
        granted.grant(statements_under(part))
    granted.grant([revoked])
    message = granted.refused()

    assert words in message
    granted.grant(told(message))
    granted.run()
    assert granted.statuses() == ["succeeded"]


def told(message: str) -> list[str]:
    """The statements that a refusal names."""
    named = re.search(r"let [a-z ]+ run: (.*?)(?:; or |\.(?: |$))", message)
    assert named, message
    return named[1].split("; ")


def test_a_later_run_or_look_without_a_grant_names_it_and_writes_nothing(granted: Granted) -> None:
    granted.grant(statements_under(ADMINISTRATOR))
    granted.grant([line for line in statements_under(LOADER) if line != LEDGER_OF_ITS_OWN])
    granted.be(granted.warehouse.server.user).dbt("run-operation", "two_clocks.make_ledger_tables", variables=VARS)
    granted.grant([*statements_under(STRICT), *statements_under(READER)])
    granted.run()
    tables = {
        LEDGER: ["usage", "select", "insert"],
        "two_clocks_dead_letters": ["select", "insert", "update"],
        "two_clocks_open_ranges": ["select", "update"],
    }
    for table, grants in tables.items():
        for grant in grants:
            where = "schema monitoring" if grant == "usage" else f"monitoring.{table}"
            granted.grant([f"revoke {grant} on {where} from sync_loader"])
            message = granted.refused()
            assert (
                f"role sync_loader may not write the table {granted.warehouse.server.database}.monitoring." in message
            )
            granted.grant(told(message))
            granted.run()
    granted.grant([f"revoke select on monitoring.{LEDGER} from sync_reader"])
    for command in ("status", "check", "lookback"):
        result = granted.two_clocks(command)
        assert (result.exit_code, result.stdout) == (2, "")
        (sentence,) = result.stderr.strip().splitlines()
        assert sentence.startswith("Error: two_clocks: role sync_reader may not read the table ")
        assert sentence.endswith(f'grant select on "monitoring"."{LEDGER}" to sync_reader.')
