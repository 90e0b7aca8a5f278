"""What is written with no framework: as most would write it, and as it gets after a long look at the plan."""

from __future__ import annotations

from pathlib import Path

from side_by_side.contenders.base import Contender, Moment
from side_by_side.feed import COLUMNS, KEY, LOOKBACK_HOURS, TABLE, WATERMARK

RUNNER = Path(__file__).with_name("run_sql.py")
NAMES = ", ".join(COLUMNS)
SOURCE, TARGET = (", ".join(f"{alias}.{name}" for name in COLUMNS) for alias in ("s", "t"))
# `{target_watermark}` is filled in as a literal, so that the planner knows how large the window is
SINCE = f"timestamp '{{target_watermark}}' - interval '{LOOKBACK_HOURS} hours'"


class PlainMerge(Contender):
    """Every row of the look-back meets the target by key; rows that are the same are not written."""

    name = "plain_merge"
    title = "hand-written, one plain MERGE"
    package = "psycopg2-binary duckdb"

    def prepare(self) -> None:
        self.copy_source()
        self.write("clock.sql", f"select max({WATERMARK}) from {self.table}")
        self.write("merge.sql", self.merge(self.rows(), f"({SOURCE}) is distinct from ({TARGET})"))

    def command(self, moment: Moment) -> list[str]:
        where = "" if self.engine == "postgres" else str(self.database.path)
        return [str(self.python), str(RUNNER), self.engine, where]

    def rows(self) -> str:
        return f"(select {NAMES} from {TABLE} where {WATERMARK} >= {SINCE})"

    def merge(self, rows: str, condition: str) -> str:
        return merge_of_changes(self.table, rows, condition)


class HandWritten(PlainMerge):
    """The limit that nothing general can beat: no counts, no ledger, no checks, and not a row copied.

    The window is compared with the target's rows of the same range, which two index scans find; only what differs is then
    looked up by key. The array tells PostgreSQL that this is little. Otherwise it takes it for the whole window, since it cannot
    know how many rows are the same, and reads all of the target to merge a few hundred rows.
    """

    name = "hand_written"
    title = "hand-written, the limit"

    def rows(self) -> str:
        return unlike_stored(self.engine, self.table, TABLE, SINCE)


def merge_of_changes(table: str, rows: str, condition: str) -> str:
    changed = ", ".join(f"{name} = s.{name}" for name in COLUMNS if name != KEY)
    return f"""
            merge into {table} as t
            using {rows} as s
            on s.{KEY} = t.{KEY}
            when matched and s.{WATERMARK} >= t.{WATERMARK} and {condition} then update set {changed}
            when not matched then insert ({NAMES}) values ({SOURCE})"""


def unlike_stored(engine: str, table: str, source: str, since: str) -> str:
    """The source's rows from a moment on that the table does not hold just as they are."""
    stored = (
        f"select 1 from {table} as t where t.{KEY} = s.{KEY} and t.{WATERMARK} = s.{WATERMARK} "
        f"and t.{WATERMARK} >= {since} and ({SOURCE}) is not distinct from ({TARGET})"
    )
    what = "s" if engine == "postgres" else SOURCE
    changed = f"select {what} from {source} as s where s.{WATERMARK} >= {since} and not exists ({stored})"
    return f"unnest(array({changed}))" if engine == "postgres" else f"({changed})"
