"""One database with a feed, and the contenders that are ready on it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from side_by_side import postgres
from side_by_side.commands import CommandFailed, Cost, timed
from side_by_side.contenders import Contender, Moment, Skipped
from side_by_side.duckdb_file import DuckdbFile
from side_by_side.feed import ARRIVALS, COLUMNS, END_OF_HISTORY, KEY, LOOKBACK_HOURS, TABLE, Feed
from side_by_side.postgres import Database, Size, Work

Say = Callable[[str], None]


@dataclass(frozen=True)
class Verdict:
    """How a target differs from its source in the end."""

    lost: int  # rows of the source that are missing, or there in an older version
    out_of_reach: int  # those of them that arrived later than the look-back can reach
    doubled: int  # rows whose key is there more than once


@dataclass
class Lab:
    engine: str
    feed: Feed
    directory: Path
    say: Say
    contenders: list[Contender] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    server: Database | None = None
    clock: int = 0  # minutes of the feed's clock since the end of its history
    loads: int = 0
    turns: int = 0

    # ---- the source ----

    def load(self, minutes: int) -> None:
        """One load, into the one server or into every contender's file."""
        self.loads += 1
        statements = self.feed.load(self.loads, self.clock, minutes)
        self.clock += minutes
        for database in self.databases():
            for statement in statements:
                database.execute(statement)

    def databases(self) -> list[Database | DuckdbFile]:
        return [self.server] if self.server else [one.database for one in self.contenders]

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(END_OF_HISTORY) + timedelta(minutes=self.clock)

    # ---- the contenders ----

    def add(self, kind: type[Contender], template: Path | None) -> None:
        """Prepares one, or notes why it cannot take part."""
        try:
            kind.version()
            database = self.server or DuckdbFile(template).copy(self.directory / f"bench_{kind.name}.duckdb")
            contender = kind(self.engine, database, self.directory / kind.name)
            self.say(f"preparing {kind.title}")
            contender.prepare()
        except (Skipped, CommandFailed) as error:
            self.skipped[kind.name] = str(error)
            self.say(f"skipped: {kind.title}: {str(error).splitlines()[-1]}")
        else:
            self.contenders.append(contender)

    def in_turn(self) -> list[Contender]:
        """All of them, each time beginning with another one, so that none always finds the caches warm."""
        self.turns += 1
        first = self.turns % max(len(self.contenders), 1)
        return self.contenders[first:] + self.contenders[:first]

    def run(self, contender: Contender, moment: Moment) -> tuple[Cost, Work | None] | None:
        """One run, measured; None and out of the game where it fails."""
        if self.server:
            self.server.begin()
        try:
            cost = timed(contender.command(moment), contender.directory, contender.environment)
        except CommandFailed as error:
            self.skipped[contender.name] = f"a run failed: {error}"
            self.contenders.remove(contender)
            self.say(f"{contender.title} failed: {str(error).splitlines()[-1]}")
            return None
        return cost, self.server.end(contender.schemas) if self.server else None

    def size(self, contender: Contender) -> Size:
        return contender.database.size(contender.stored_table())

    def judge(self, contender: Contender) -> Verdict:
        same = " and ".join(f"t.{name} is not distinct from s.{name}" for name in COLUMNS if name != KEY)
        lost = f"select s.{KEY} from {TABLE} as s left join {contender.table} as t on t.{KEY} = s.{KEY} and {same} where t.{KEY} is null"
        late = f"select {KEY} from {ARRIVALS} where late_hours > {LOOKBACK_HOURS}"
        query = contender.database.query
        (count, unreachable), *_ = query(
            f"select count(*), coalesce(sum(case when {KEY} in ({late}) then 1 else 0 end), 0) from ({lost}) as lost"
        )
        (doubled,), *_ = query(f"select count(*) - count(distinct {KEY}) from {contender.table}")
        return Verdict(int(count), int(unreachable), int(doubled))


@contextmanager
def lab(engine: str, rows: int, kinds: list[type[Contender]], say: Say) -> Iterator[Lab]:
    """A history of so many rows, and every contender's target equal to it."""
    feed = Feed(engine, rows)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="two_clocks_bench_")))
        server = stack.enter_context(postgres.database()) if engine == "postgres" else None
        made = Lab(engine, feed, directory, say, server=server)
        template = None if server else directory / "feed.duckdb"
        source = server or DuckdbFile(template)
        say(f"making {rows:,} rows on {source.version()}")
        for statement in feed.create():
            source.execute(statement)
        source.execute("analyze")
        for kind in kinds:
            made.add(kind, template)
        yield made
