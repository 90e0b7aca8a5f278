"""The feed that every contender reads: grades that change over the years, and loads that bring new, changed and late ones.

Everything is arithmetic on row numbers, made by the database itself: the same size gives the same rows on every machine.

A table that keeps its history grows in days, not in rows per day. So each size has the same window, and only the table
behind it differs. The clock of the feed starts at `END_OF_HISTORY`; a load moves it on and brings

- 50 % new rows, 40 % new versions of rows from the last two days, 10 % of rows from any time;
- one row in twenty late: up to 40 hours, so that a look-back of 48 hours reaches it;
- one row in two hundred later than that, by 3 to 20 days: nothing with such a look-back ever reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "ods"
TABLE = "ods.grade_grades"
ARRIVALS = "ods.arrivals"  # what came with which load, for the judge alone: no contender reads it
KEY, WATERMARK = "id", "timemodified"
COLUMNS = {
    "id": "bigint",
    "userid": "bigint",
    "itemid": "bigint",
    "rawgrade": "numeric(10,5)",
    "finalgrade": "numeric(10,5)",
    "feedback": "text",
    "usermodified": "bigint",
    "timecreated": "timestamp",
    "timemodified": "timestamp",
}

END_OF_HISTORY = "2024-12-31 00:00:00"
LOOKBACK_HOURS = 48
MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000  # microseconds
USUAL_ROWS_PER_DAY = 10_000_000 // 365  # ten million rows are a year


@dataclass(frozen=True)
class Feed:
    """The SQL of one feed. `engine` is postgres or duckdb, `rows` is how many the history holds."""

    engine: str
    rows: int

    @property
    def rows_per_day(self) -> int:
        """The usual number, or less where the history would be shorter than its longest lateness."""
        return min(USUAL_ROWS_PER_DAY, int(self.rows / 36.5))

    def rows_of(self, minutes: int) -> int:
        return self.rows_per_day * minutes // 1440

    def at(self, microseconds: str) -> str:
        """A moment, counted from the end of the history."""
        if self.engine == "duckdb":
            return f"(timestamp '{END_OF_HISTORY}' + to_microseconds(cast({microseconds} as bigint)))"
        return f"(timestamp '{END_OF_HISTORY}' + ({microseconds}) * interval '1 microsecond')"

    def create(self) -> list[str]:
        """Statements that make the history, indexed as such a table would be."""
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        return [
            f"create schema {SCHEMA}",
            f"create table {TABLE} ({columns})",
            f"create table {ARRIVALS} (load integer, id bigint, timemodified timestamp, late_hours double precision)",
            f"insert into {TABLE} {self._history()}",
            f"alter table {TABLE} add primary key (id)",
            f"create index grade_grades_timemodified on {TABLE} (timemodified)",
            f"create index arrivals_id on {ARRIVALS} (id)",
        ]

    def _history(self) -> str:
        step = DAY // self.rows_per_day
        created = f"((i - {self.rows}) * cast({step} as bigint) - 1)"
        # three rows in ten changed later, most of them soon, some after two months
        delay = f"cast(power(((i * 104729) % 1000) / 1000.0, 3) * {60 * DAY} as bigint)"
        modified = (
            f"case when (i * 7919) % 10 < 3 and {created} + {delay} < 0 then {created} + {delay} else {created} end"
        )
        return self._row("i", "i % 7", created, modified, f"from {self._numbers(self.rows)}")

    def _row(self, key: str, version: str, created: str, modified: str, source: str) -> str:
        grade = f"cast((({key}) * 31 + ({version}) * 7) % 10000 as numeric(10,5)) / 100"
        return f"""
            select {key} as id, ({key}) * 7919 % 50000 as userid, ({key}) % 3000 as itemid,
              cast({grade} as numeric(10,5)) as rawgrade, cast({grade} as numeric(10,5)) as finalgrade,
              case when ({key}) % 2 = 0 then md5(cast(({key}) * 10 + ({version}) as varchar)) end as feedback,
              ({key} + {version}) % 500 as usermodified, {self.at(created)} as timecreated, {self.at(modified)} as timemodified
            {source}"""

    def _numbers(self, count: int) -> str:
        return f"(select cast(n as bigint) as i from generate_series(1, {count}) as g(n)) as numbers"

    def load(self, number: int, after: int, minutes: int) -> list[str]:
        """Statements of one load.

        Args:
            number: its own number, from 1.
            after: minutes of the feed's clock that all earlier loads have covered.
            minutes: how far this one moves the clock.
        """
        count = self.rows_of(minutes)
        begin, step = after * MINUTE, minutes * MINUTE // count
        usual = f"({begin} + i * cast({step} as bigint))"
        late_hours = (
            f"case when i % 200 = 3 then 72 + (i * 31 + {number} * 17) % 400 "
            f"when i % 20 = 3 then power(((i * 31 + {number} * 17) % 100) / 100.0, 2) * 40 else 0 end"
        )
        modified = f"({usual} - cast(({late_hours}) * {HOUR} as bigint))"
        first = self.rows + self.rows_of(after)
        recent = f"{self.rows} - (i * 7919 + {number} * 104729) % {2 * self.rows_per_day}"
        any_time = f"1 + (i * 15485863 + {number} * 32452843) % {self.rows}"
        names = ", ".join(COLUMNS)
        changed = ", ".join(f"{name} = new.{name}" for name in COLUMNS if name not in (KEY, "timecreated"))
        return [
            f"insert into {TABLE} ({names}) "
            + self._row(
                f"{first} + i", str(number), modified, modified, f"from {self._numbers(count)} where i % 10 < 5"
            ),
            f"insert into {ARRIVALS} select {number}, {first} + i, {self.at(modified)}, {late_hours} "
            f"from {self._numbers(count)} where i % 10 < 5",
            f"update {TABLE} as old set {changed} from ("
            + self._row(
                "key",
                str(number),
                "0",
                usual,
                f"from (select case when i % 10 < 9 then {recent} else {any_time} end as key, max(i) as i "
                f"from {self._numbers(count)} where i % 10 >= 5 group by 1) as picked",
            )
            + f") as new where old.id = new.id and old.timemodified < {self.at(str(begin))}",
            f"insert into {ARRIVALS} select {number}, id, timemodified, 0 from {TABLE} "
            f"where timemodified > {self.at(str(begin))} and id <= {self.rows}",
        ]
