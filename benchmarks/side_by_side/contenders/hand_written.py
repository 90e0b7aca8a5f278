"""What an expert writes with no framework: the limit that nothing general can beat by much."""

from __future__ import annotations

from pathlib import Path

from side_by_side.contenders.base import Contender, Moment
from side_by_side.feed import COLUMNS, KEY, LOOKBACK_HOURS, TABLE, WATERMARK

RUNNER = Path(__file__).with_name("run_sql.py")


class HandWritten(Contender):
    name = "hand_written"
    title = "hand-written SQL"
    package = "psycopg2-binary"

    def prepare(self) -> None:
        self.copy_source()
        self.write("clock.sql", f"select max({WATERMARK}) from {self.table}")
        self.write("merge.sql", self._merge())

    def command(self, moment: Moment) -> list[str]:
        where = "" if self.engine == "postgres" else str(self.database.path)
        return [str(self.python), str(RUNNER), self.engine, where]

    def _merge(self) -> str:
        """Rows of the window that are not stored as they are, found by the watermark's index; then a merge by key of those few.

        `{target_watermark}` is filled in as a literal, so that the planner knows how large the window is.
        """
        since = f"timestamp '{{target_watermark}}' - interval '{LOOKBACK_HOURS} hours'"
        names = ", ".join(COLUMNS)
        source, target = (", ".join(f"{alias}.{name}" for name in COLUMNS) for alias in ("s", "t"))
        changed = ", ".join(f"{name} = s.{name}" for name in COLUMNS if name != KEY)
        return f"""
            merge into {self.table} as t
            using (
              select {source}
              from {TABLE} as s
              left join {self.table} as t
                on s.{KEY} = t.{KEY} and s.{WATERMARK} = t.{WATERMARK} and t.{WATERMARK} >= {since}
                and ({source}) is not distinct from ({target})
              where s.{WATERMARK} >= {since} and t.{KEY} is null
            ) as s
            on s.{KEY} = t.{KEY}
            when matched and s.{WATERMARK} >= t.{WATERMARK} then update set {changed}
            when not matched then insert ({names}) values ({source})"""
