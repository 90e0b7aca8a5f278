"""A small dbt project of a user who has installed two_clocks, and what that user can do with it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt_common.behavior_flags import BehaviorFlagRendered

from support.engines import SOURCE_SCHEMA, TARGET_SCHEMA, Warehouse
from support.parsed_once import digest_of, left_alone

REPOSITORY = Path(__file__).absolute().parents[3]
LEDGER = "two_clocks_window_ledger"

QUIET = [
    "--no-version-check",
    "--no-write-json",
    "--no-send-anonymous-usage-stats",
    "--no-use-colors",
    "--log-level=none",
    "--log-level-file=none",
]

# the three lines of the README, word for word
PROJECT_FILE = """\
name: consumer
version: 1.0.0
config-version: 2
profile: consumer
models:
  consumer:
    sync:
      +materialized: incremental
      +incremental_strategy: newest_wins
      +post-hook: "{{ two_clocks.record_window() }}"
on-run-end: "{{ two_clocks.record_failed_windows(results) }}"
vars:
  two_clocks_lookback: 48 hours
"""

WRAPPER = """\
{% macro get_incremental_newest_wins_sql(arg_dict) %}
  {{ return(two_clocks.get_incremental_newest_wins_sql(arg_dict)) }}
{% endmacro %}
"""

# the feed of most tests, and the model that keeps the newest version of each of its rows
FEED = {"id": "integer", "note": "varchar(50)", "changed_at": "timestamp"}
SINK = """\
{{ config(unique_key='id') }}
select id, note, changed_at
from {{ two_clocks.windowed(source('ods', 'feed'), 'changed_at') }} as feed
"""


# For each of its behaviour flags dbt looks through the whole stack, with the source of every frame, to name its caller
# in a warning. In a long test session that is three quarters of what a command costs, and no test reads the name.
BehaviorFlagRendered._default_source = staticmethod(lambda: "a test")  # type: ignore[method-assign]


@dataclass
class Run:
    """What one dbt command said and did."""

    result: dbtRunnerResult
    messages: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    invocation_id: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.messages)

    def errors(self) -> str:
        """What a user reads about why it failed, on one line."""
        parts = [str(self.result.exception)] if self.result.exception else []
        for result in getattr(self.result.result, "results", None) or []:
            if str(result.status) in ("error", "fail", "runtime error"):
                parts.append(str(result.message))
        return " ".join(" ".join(parts).split())

    def statuses(self) -> dict[str, str]:
        return {result.node.name: str(result.status) for result in self.result.result.results}


def invoke(command: Sequence[str], **options: Any) -> dbtRunnerResult:
    """Run dbt in a thread: it inspects each frame of the stack that it is called on, and pytest's is deep."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(dbtRunner(**options).invoke, list(command)).result()


class Project:
    _manifests: ClassVar[dict[str, Any]] = {}

    def __init__(self, warehouse: Warehouse, directory: Path) -> None:
        self.warehouse = warehouse
        self.directory = directory
        self._tables: dict[str, str] = {}
        self.save_profile()

    # ---- the files ----

    @classmethod
    def template(cls, warehouse: Warehouse, directory: Path) -> Path:
        """A project as it stands after `dbt deps` and a first parse; copying it is cheaper than repeating both."""
        directory.mkdir(parents=True)
        for path, text in {
            "dbt_project.yml": PROJECT_FILE,
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPOSITORY)}]}),
            "macros/get_incremental_newest_wins_sql.sql": WRAPPER,
        }.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
        project = cls(warehouse, directory)
        project.dbt("deps", manifest=False)
        project.dbt("parse", manifest=False)
        return directory

    @classmethod
    def from_template(cls, template: Path, warehouse: Warehouse, directory: Path) -> Project:
        """A copy of the template, which is made when it is first asked for."""
        if not template.exists():
            cls.template(warehouse, template)
        return cls.copy_of(template, warehouse, directory)

    @classmethod
    def copy_of(cls, template: Path, warehouse: Warehouse, directory: Path) -> Project:
        shutil.copytree(template, directory, symlinks=True, dirs_exist_ok=True)
        return cls(warehouse, directory)

    def save_profile(self) -> None:
        profile = {"consumer": {"target": "test", "outputs": {"test": self.warehouse.profile}}}
        self.write("profiles.yml", yaml.safe_dump(profile))

    def write(self, path: str, text: str) -> None:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def set_session_zone(self, zone: str) -> None:
        """Every session that dbt opens from now on has this time zone."""
        self.manifest()  # a zone changes nothing in what was parsed, but dbt would parse all of it again
        self.warehouse.set_session_zone(zone)
        self.save_profile()

    def configure(self, **settings: Any) -> None:
        """Change keys of dbt_project.yml; `vars` is merged."""
        file = self.directory / "dbt_project.yml"
        content = yaml.safe_load(file.read_text())
        content["vars"].update(settings.pop("vars", {}))
        content.update(settings)
        file.write_text(yaml.safe_dump(content))

    def model(self, name: str, sql: str, folder: str = "sync") -> None:
        self.write(f"models/{folder}/{name}.sql", sql)

    def with_feed(self) -> Project:
        """An empty source `feed`, and a model `sink` that keeps the newest version of its rows."""
        self.source("feed", FEED)
        self.model("sink", SINK)
        return self

    # ---- the source ----

    def source(self, table: str = "feed", columns: Mapping[str, str] = FEED, schema: str = SOURCE_SCHEMA) -> str:
        """Create a source table, name it in the project, and return its name for SQL."""
        relation = f'"{schema}"."{table}"'
        typed = ", ".join(f"{name} {data_type}" for name, data_type in columns.items())
        self.warehouse.execute(f'create schema if not exists "{schema}"')
        self.warehouse.execute(f"create table {relation} ({typed})")
        self._tables[table] = schema
        sources = [
            {
                "name": schema,
                "schema": schema,
                "tables": [{"name": name} for name, where in self._tables.items() if where == schema],
                "quoting": {"schema": True, "identifier": True},
            }
            for schema in dict.fromkeys(self._tables.values())
        ]
        self.write("models/sources.yml", yaml.safe_dump({"version": 2, "sources": sources}))
        return relation

    def feed(self, *rows: tuple[Any, ...], table: str = "feed", columns: Sequence[str] = tuple(FEED)) -> None:
        """Rows become visible in a source."""
        self.warehouse.insert(f'"{SOURCE_SCHEMA}"."{table}"', [dict(zip(columns, row, strict=True)) for row in rows])

    # ---- dbt ----

    def dbt(
        self,
        *arguments: str,
        variables: Mapping[str, Any] | None = None,
        manifest: bool = True,
        before_statement: Any = None,
    ) -> Run:
        run = Run(result=None)  # type: ignore[arg-type]

        def listen(event: Any) -> None:
            run.invocation_id = event.info.invocation_id
            if event.info.name in ("SQLQuery", "AdapterEventDebug"):
                sql = getattr(event.data, "sql", None)
                if sql:
                    run.statements.append(sql)
                    if before_statement:
                        before_statement(len(run.statements), sql)
            if event.info.level in ("info", "warn", "error"):
                run.messages.append(event.info.msg)

        command = [
            *QUIET,
            *arguments,
            "--project-dir",
            str(self.directory),
            "--profiles-dir",
            str(self.directory),
        ]
        if variables:
            command += ["--vars", yaml.safe_dump(dict(variables), default_flow_style=True, width=10**6)]
        run.result = invoke(command, manifest=self.manifest() if manifest else None, callbacks=[listen])
        self.warehouse.after_dbt()
        return run

    def manifest(self) -> Any:
        """The parsed project. Projects with the same files share it: parsing costs more than running."""
        key = f"{self.warehouse.engine} {self.warehouse.profile['schema']} {digest_of(self.directory)}"
        if key not in self._manifests:
            run = self.dbt("parse", manifest=False)
            assert run.result.success, run.errors()
            self._manifests[key] = left_alone(run.result.result)
        return self._manifests[key]

    def attempt(
        self,
        *arguments: str,
        command: str = "run",
        now: str | None = None,
        lookback: Any = None,
        variables: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        """`dbt run` of the consumer's own models at a wall clock of our choice, whatever comes of it."""
        given = {"two_clocks_now": now, "two_clocks_lookback": lookback}
        variables = {**{name: value for name, value in given.items() if value is not None}, **(variables or {})}
        if "--select" not in arguments:
            arguments += ("--select", "package:consumer")
        return self.dbt(command, *arguments, variables=variables, **options)

    def run(self, *arguments: str, **options: Any) -> Run:
        """`dbt run`, which has to succeed."""
        run = self.attempt(*arguments, **options)
        assert run.result.success, run.errors() or run.text
        return run

    def refused(self, *arguments: str, **options: Any) -> str:
        """`dbt run`, which has to fail; returns what it says."""
        run = self.attempt(*arguments, **options)
        assert not run.result.success, "dbt succeeded where it should have refused:\n" + run.text
        return run.errors()

    # ---- what came of it ----

    def rows(
        self, columns: str = "id, note", model: str = "sink", schema: str = TARGET_SCHEMA
    ) -> list[tuple[Any, ...]]:
        return [
            tuple(row.values()) for row in self.warehouse.query(f"select {columns} from {schema}.{model} order by 1, 2")
        ]

    def ids(self, model: str = "sink") -> list[Any]:
        """The keys in a target, repeated if they are there more than once."""
        return [row["id"] for row in self.warehouse.query(f"select id from {TARGET_SCHEMA}.{model} order by 1")]

    def ledger(self, model: str | None = "sink", schema: str = TARGET_SCHEMA) -> list[dict[str, Any]]:
        """The ledger's rows, oldest first."""
        if not self.warehouse.has_table(f"{schema}.{LEDGER}"):
            return []
        rows = self.warehouse.query(f"select * from {schema}.{LEDGER} order by started_at, finished_at, window_id")
        return [row for row in rows if model is None or row["model"] == f"model.consumer.{model}"]

    def counts(self, model: str = "sink") -> dict[str, int]:
        """What the last window did with its rows, without the zeros."""
        window = self.last_window(model)
        names = ("extracted", "inserted", "updated", "unchanged", "stale", "superseded", "quarantined")
        counts = {name: window[f"rows_{name}"] or 0 for name in names}
        assert counts["extracted"] == sum(counts.values()) - counts["extracted"], counts
        return {name: count for name, count in counts.items() if count}

    def everything(self) -> dict[str, Any]:
        """All tables of the database with their rows: equal before and after means that nothing was written."""
        tables = self.warehouse.query(
            "select table_schema as s, table_name as t from information_schema.tables "
            "where table_schema not in ('information_schema', 'pg_catalog') and table_type = 'BASE TABLE' order by 1, 2"
        )
        return {
            f"{table['s']}.{table['t']}": sorted(
                map(
                    repr,
                    (
                        tuple(row.values())
                        for row in self.warehouse.query(f'select * from "{table["s"]}"."{table["t"]}"')
                    ),
                )
            )
            for table in tables
        }

    def last_window(self, model: str = "sink") -> dict[str, Any]:
        return self.ledger(model)[-1]
