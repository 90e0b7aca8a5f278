"""The hand-written job: one query for the clock, one merge. Runs in the folder of its two SQL files."""

from __future__ import annotations

import sys
from pathlib import Path


def main(engine: str, path: str) -> None:
    clock, merge = Path("clock.sql").read_text(), Path("merge.sql").read_text()
    if engine == "duckdb":
        import duckdb

        with duckdb.connect(path) as connection:
            (watermark,) = connection.execute(clock).fetchone()
            connection.execute(merge.replace("{target_watermark}", str(watermark)))
        return

    import psycopg2

    connection = psycopg2.connect("")
    with connection, connection.cursor() as cursor:
        cursor.execute(clock)
        (watermark,) = cursor.fetchone()
        cursor.execute(merge.replace("{target_watermark}", str(watermark)))
    connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
