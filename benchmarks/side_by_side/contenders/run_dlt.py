"""One run of the dlt pipeline; the first one is told where to begin."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path

import dlt
from dlt.sources.sql_database import sql_table


def main(begin: str | None = None) -> None:
    settings = json.loads(Path("pipeline.json").read_text())
    if settings["engine"] == "postgres":
        source = settings["place"].replace("postgresql://", "postgresql+psycopg2://")
        destination = dlt.destinations.postgres(settings["place"])
    else:
        source, destination = f"duckdb:///{settings['place']}", dlt.destinations.duckdb(settings["place"])
    incremental = dlt.sources.incremental(
        settings["watermark"],
        lag=settings["lag"],
        initial_value=datetime.fromisoformat(begin) if begin else None,
    )
    rows = sql_table(
        credentials=source,
        schema=settings["schema"],
        table=settings["table"],
        incremental=incremental,
        backend="pyarrow",
        chunk_size=100_000,
    )
    rows.apply_hints(
        table_name="crm_grades",
        primary_key=settings["key"],
        write_disposition={"disposition": "merge", "strategy": "upsert"},
    )
    pipeline = dlt.pipeline(
        "bench",
        destination=destination,
        dataset_name=settings["dataset"],
        pipelines_dir=settings["directory"],
    )
    pipeline.run(rows).raise_on_failed_jobs()


if __name__ == "__main__":
    main(*sys.argv[1:])
