"""What the tests of reconcile, backfill and repair share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner
from support.project import Project

from two_clocks.cli import main

NOW = "2024-06-10T00:00:00Z"
TODAY = "2024-06-09"


@dataclass
class Answer:
    """What a command came to."""

    status: int
    said: str  # on standard error: for people
    document: Any  # on standard output: JSON

    @property
    def comparison(self) -> dict[str, Any]:
        (comparison,) = self.document["comparisons"]
        return comparison

    @property
    def repaired(self) -> dict[str, Any]:
        (repaired,) = self.document["repairs"]
        return repaired

    @property
    def named(self) -> list[tuple[str, Any]]:
        """(what, key) of every key that a comparison names; a key of several columns is a tuple."""
        named = []
        for one in (self.document.get("comparisons") or self.document["repairs"])[0]["keys"]:
            members = tuple(one["key"].values())
            named.append((one["what"], members if len(members) > 1 else int(members[0])))
        return sorted(named)


def two_clocks(
    project: Project,
    *arguments: str,
    now: str | None = NOW,
    variables: dict[str, Any] | None = None,
    answer: str | None = None,
) -> Answer:
    """Runs the command line as a user of the project does, with --json."""
    given = {**({"two_clocks_now": now} if now else {}), **(variables or {})}
    command = [*arguments, "--project-dir", str(project.directory), "--profiles-dir", str(project.directory), "--json"]
    command += ["--vars", json.dumps(given)] if given else []
    result = CliRunner().invoke(main, command, input=answer)
    close_duckdb()
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stderr, json.loads(result.stdout) if result.stdout.strip() else None)


def refused(project: Project, *arguments: str, **options: Any) -> str:
    """A command that cannot run: status 2, one sentence, nothing written. Returns the sentence."""
    before = project.everything()
    answer = two_clocks(project, *arguments, **options)
    assert answer.status == 2, answer
    assert answer.document is None
    last = answer.said.rstrip().splitlines()[-1]
    assert last.startswith("Error: "), answer.said
    assert last.endswith((".", "!")) and "Traceback" not in answer.said, last
    assert project.everything() == before
    return last.removeprefix("Error: ")


def close_duckdb() -> None:
    """`dbt show` leaves dbt-duckdb's connection open for the rest of the process; the next test has a file of its own."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager

    if DuckDBConnectionManager._ENV is not None:
        DuckDBConnectionManager._ENV.close()
        DuckDBConnectionManager._ENV = None


def days(*numbers: int, note: str = "first", plus: int = 0) -> list[tuple[Any, ...]]:
    """Rows of the feed, one for each day of June, with the day (and `plus`) as the key."""
    return [(plus + number, note, f"2024-06-{number:02} 06:00:00") for number in numbers]
