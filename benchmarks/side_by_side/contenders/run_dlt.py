"""One run of the dlt pipeline; the first one is told where to begin."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import dlt

BATCH = 100_000


def main(begin: str | None = None) -> None:
    settings = json.loads(Path("pipeline.json").read_text())
    clock = dlt.sources.incremental(
        settings["watermark"],
        lag=settings["lag"],
        initial_value=datetime.fromisoformat(begin) if begin else None,
    )
    read, destination = {"postgres": from_postgres, "duckdb": from_duckdb}[settings["engine"]](settings, clock)
    read.apply_hints(
        table_name="crm_grades",
        primary_key=settings["key"],
        write_disposition={"disposition": "merge", "strategy": "upsert"},
    )
    pipeline = dlt.pipeline(
        "bench", destination=destination, dataset_name=settings["dataset"], pipelines_dir=settings["directory"]
    )
    pipeline.run(read).raise_on_failed_jobs()


def from_postgres(settings: dict[str, Any], clock: Any) -> tuple[Any, Any]:
    from dlt.sources.sql_database import sql_table

    rows = sql_table(
        credentials=settings["place"].replace("postgresql://", "postgresql+psycopg2://"),
        schema=settings["schema"],
        table=settings["table"],
        incremental=clock,
        backend="pyarrow",
        chunk_size=BATCH,
    )
    return rows, dlt.destinations.postgres(settings["place"])


def from_duckdb(settings: dict[str, Any], clock: Any) -> tuple[Any, Any]:
    """A resource of our own: what SQLAlchemy needs to read DuckDB does not keep up with it."""
    import duckdb

    @dlt.resource(name=settings["table"])
    def rows(clock: Any = clock) -> Iterator[Any]:
        names = ", ".join(settings["columns"])
        with duckdb.connect(settings["place"]) as connection:
            batches = connection.execute(
                f"select {names} from {settings['schema']}.{settings['table']} where {settings['watermark']} >= ?",
                [clock.start_value],
            )
            yield batches.to_arrow_table()

    return rows, dlt.destinations.duckdb(settings["place"])


if __name__ == "__main__":
    main(*sys.argv[1:])
