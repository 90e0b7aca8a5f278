"""A project on a real database in which histories are played: the model under test, its signals, and its rivals if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import yaml
from support.engines import SOURCE_SCHEMA, TARGET_SCHEMA
from support.project import Project, Run

from soak.feed import Feed
from soak.judge import Named, Row
from soak.rivals import OURS, batches_at, rival_models

BEGIN = datetime(2024, 6, 7)
OLDEST = datetime(2024, 6, 3)  # no row is older, so microbatch may begin here
LOOKBACK = timedelta(hours=6)
FEED_TABLE = f'"{SOURCE_SCHEMA}"."feed"'
FINDINGS_SCHEMA = f"{TARGET_SCHEMA}_dbt_test__audit"


@dataclass(frozen=True)
class Seen:
    """What a person would find in the database."""

    sink: list[Row] | None = None  # none if it was never built
    windows: list[dict[str, Any]] = field(default_factory=list)
    leaves_out: bool = False  # a range is being searched for poison, or left out because of it


class Lab:
    """One database and one project for many histories, one after the other."""

    def __init__(self, project: Project, with_rivals: bool = False) -> None:
        self.project, self.warehouse = project, project.warehouse
        self.rivals = rival_models(self.warehouse.engine, OLDEST, LOOKBACK) if with_rivals else {}
        self.models = ["sink", *self.rivals]
        self._write_project()
        manifest = project.manifest()
        # no file changes any more, so none has to be looked at before each command
        project.manifest = lambda: manifest  # type: ignore[method-assign]

    def _write_project(self) -> None:
        project = self.project
        project.configure(vars={"two_clocks_lookback": f"{LOOKBACK.seconds} seconds"})
        project.source("feed")
        project.model("sink", OURS)
        for name, sql in self.rivals.items():
            project.model(name, sql, folder="rivals")
        lost = {"source_relation": "source('ods', 'feed')", "unique_key": "id", "watermark": "changed_at"}
        lost |= {"columns": ["note"], "buckets": 64}
        invalid = {"two_clocks.watermark_valid": {"config": kept("invalid")}}
        table = {"name": "feed", "columns": [{"name": "changed_at", "data_tests": [invalid]}]}
        sources = [{"name": SOURCE_SCHEMA, "schema": SOURCE_SCHEMA, "tables": [table]}]
        # the same table by another name: its event_time is for microbatch alone
        timed = {"name": "feed", "config": {"event_time": "changed_at"}}
        sources.append({"name": "ods_with_event_time", "schema": SOURCE_SCHEMA, "tables": [timed]})
        project.write("models/sources.yml", yaml.safe_dump({"version": 2, "sources": sources}))
        tests = [
            {"two_clocks.nothing_lost": {"arguments": lost, "config": kept("lost")}},
            {"two_clocks.windows_contiguous": {"config": kept("gaps")}},
        ]
        project.write(
            "models/sync/sink.yml", yaml.safe_dump({"version": 2, "models": [{"name": "sink", "data_tests": tests}]})
        )

    # ---- the database ----

    def clear(self) -> None:
        """Nothing of an earlier history is left."""
        for schema in (TARGET_SCHEMA, FINDINGS_SCHEMA, SOURCE_SCHEMA):
            self.warehouse.execute(f'drop schema if exists "{schema}" cascade')
        self.warehouse.execute(f'create schema "{SOURCE_SCHEMA}"')
        self.warehouse.execute(f"create table {FEED_TABLE} (id integer, note varchar(50), changed_at timestamp)")

    def show(self, feed: Feed) -> None:
        """The source's table as the last load left it."""
        self.warehouse.execute(f"delete from {FEED_TABLE}")
        if feed.visible:
            self.warehouse.execute(f"insert into {FEED_TABLE} values {values(feed.visible)}")

    def stored(self, model: str = "sink") -> list[Row] | None:
        """What a sink holds; none if it was never built."""
        if not self.warehouse.has_table(f"{TARGET_SCHEMA}.{model}"):
            return None
        return self._rows(f"{TARGET_SCHEMA}.{model}")

    def look(self) -> Seen:
        """What is there now of the model under test."""
        windows = self.project.ledger()
        return Seen(self.stored(), windows, self._leaves_out())

    def _leaves_out(self) -> bool:
        table = f"{TARGET_SCHEMA}.two_clocks_open_ranges"
        return self.warehouse.has_table(table) and bool(
            self.warehouse.query(f"select 1 as one from {table} where state in ('searching', 'pinned')")
        )

    def put_back(self, model: str, copy: str | None, keep_as: str | None = None) -> None:
        """What a backup does: keep a sink under a name, and make it again from there."""
        if keep_as:
            self.warehouse.execute(f"drop table if exists {SOURCE_SCHEMA}.{keep_as}")
            self.warehouse.execute(f"create table {SOURCE_SCHEMA}.{keep_as} as select * from {TARGET_SCHEMA}.{model}")
        if copy:
            self.warehouse.execute(f"delete from {TARGET_SCHEMA}.{model}")
            self.warehouse.execute(f"insert into {TARGET_SCHEMA}.{model} select * from {SOURCE_SCHEMA}.{copy}")

    # ---- dbt ----

    def run(
        self,
        now: datetime,
        *arguments: str,
        models: Sequence[str] = (),
        is_first: bool = False,
        variables: dict[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        """`dbt run` at a wall clock, of all models or of these."""
        arguments += ("--select", *(models or self.models))
        if "microbatch" in (models or self.models) and "--event-time-start" not in arguments:
            arguments += tuple(batches_at(now, OLDEST, LOOKBACK, is_first))
        return self.project.attempt(*arguments, now=spoken(now), variables=variables, **options)

    def signals(self, now: datetime) -> Named:
        """`dbt test`, and the findings that it stored."""
        run = self.project.attempt(command="test", now=spoken(now))
        assert run.result.exception is None, run.result.exception
        statuses = {name: status for name, status in run.statuses().items() if name in ("lost", "invalid", "gaps")}
        assert "error" not in run.statuses().values(), run.errors()
        named = Named()
        for finding in self._findings("lost"):
            # a comparison that had no row to look at names no key
            if finding.get("key_1") is not None:
                named.lost.add(int(finding["key_1"]))
        for finding in self._findings("invalid"):
            if finding["id"] is not None:
                named.invalid[Row(finding["id"], finding["note"], finding["changed_at"])] += 1
        for finding in self._findings("gaps"):
            if finding["signal"] == "left_out":
                named.left_out.append((moment(finding["gap_from"]), moment(finding["gap_to"]) or datetime.max))
            elif finding["signal"] == "gap":
                named.gaps.append(finding["what_happened"])
        assert statuses.get("lost") != "pass" or not named.lost
        return named

    def _findings(self, table: str) -> list[dict[str, Any]]:
        return self.warehouse.query(f"select * from {FINDINGS_SCHEMA}.{table}")

    def _rows(self, table: str) -> list[Row]:
        return [Row(**row) for row in self.warehouse.query(f"select id, note, changed_at as at from {table}")]


def kept(name: str) -> dict[str, Any]:
    """The findings of a test stay in a table of this name."""
    return {"store_failures": True, "alias": name}


def values(rows: Sequence[Row]) -> str:
    return ", ".join(f"({row.id}, '{row.note}', {'null' if row.at is None else repr(str(row.at))})" for row in rows)


def spoken(now: datetime) -> str:
    return now.isoformat() + "Z"


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
