"""Runs that are killed at any moment: SIGKILL to a process in the middle of `dbt run`, on PostgreSQL.

After each kill data and ledger agree, and the next normal run makes up for it: no row is lost and none is there twice.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from support.crash import start
from support.project import LEDGER, Project

BEGIN = datetime(2024, 6, 1)
ROWS, OLD_ROWS, CHANGES = 4000, 1000, 200
# rows that only a backfill reads: far below the look-back
OLD = {"two_clocks_backfill_from": "2024-05-01", "two_clocks_backfill_to": "2024-05-10"}

KINDS = ("normal run", "backfill", "first build", "full refresh", "ledger creation")


@dataclass
class Kills:
    """What came of a number of kills."""

    survived: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.survived.values())


class Victim:
    """A sink whose source changes before every run."""

    def __init__(self, project: Project, dice: random.Random) -> None:
        self.project, self.warehouse, self.dice = project, project.warehouse, dice
        self.now = BEGIN
        self.turns = 0
        self.spans: dict[str, float] = {}
        self.warehouse.execute(
            f"insert into ods.feed select i, 'old', timestamp '2024-05-01' + i * interval '1 minute' "
            f"from generate_series(1, {OLD_ROWS}) as t(i)"
        )
        self.warehouse.execute(
            f"insert into ods.feed select i, 'first', timestamp '2024-05-30' + (i % 2880) * interval '1 minute' "
            f"from generate_series({OLD_ROWS + 1}, {ROWS}) as t(i)"
        )
        project.run(now=self.spoken())

    def spoken(self) -> str:
        return self.now.isoformat() + "Z"

    def change(self, kind: str) -> None:
        """The source moves on by an hour: rows are added, edited, some late; for a full refresh a few are deleted."""
        self.now += timedelta(hours=1)
        self.turns += 1
        note, shift = f"turn {self.turns}", self.dice.randrange(OLD_ROWS)
        if kind == "backfill":
            self.warehouse.execute(
                f"update ods.feed set note = '{note}', changed_at = changed_at + interval '1 second' "
                f"where id <= {OLD_ROWS} and id % 5 = {self.turns % 5}"
            )
            return
        at = f"timestamp '{self.now}' - (i % 50) * interval '1 minute'"
        self.warehouse.execute(
            f"update ods.feed set note = '{note}', changed_at = {at} from generate_series(1, {CHANGES}) as t(i) "
            f"where id = {OLD_ROWS} + 1 + ({shift} + i * 7) % {ROWS - OLD_ROWS}"
        )
        self.warehouse.execute(
            f"insert into ods.feed select {ROWS + self.turns * CHANGES} + i, '{note}', {at} "
            f"from generate_series(1, {CHANGES}) as t(i)"
        )
        if kind == "full refresh":
            self.warehouse.execute(f"delete from ods.feed where id > {ROWS} and id % 97 = {self.turns % 97}")
        elif kind == "first build":
            self.warehouse.execute("drop table sync.sink")
        elif kind == "ledger creation":
            self.warehouse.execute(f"drop table if exists sync.{LEDGER}")

    def options(self, kind: str) -> dict[str, object]:
        return {"now": self.spoken(), **({"variables": OLD} if kind == "backfill" else {})}

    def arguments(self, kind: str) -> list[str]:
        return ["--full-refresh"] if kind == "full refresh" else []

    # ---- what is there ----

    def sink(self) -> tuple[int, int, int] | None:
        """How many rows, how many keys, and a sum over all of it; none where there is no table."""
        if not self.warehouse.has_table("sync.sink"):
            return None
        (row,) = self.warehouse.query(
            "select count(*) as n, count(distinct id) as keys, "
            "coalesce(sum(hashtextextended(cast(sink as text), 0)), 0) as total from sync.sink as sink"
        )
        return row["n"], row["keys"], row["total"]

    def undelivered(self) -> int:
        """Rows of the source that are not in the sink as they are."""
        (row,) = self.warehouse.query(
            "select count(*) as n from (select id, note, changed_at from ods.feed "
            "except select id, note, changed_at from sync.sink) as lost"
        )
        return row["n"]

    def succeeded(self) -> int:
        return sum(window["status"] == "succeeded" for window in self.project.ledger())

    # ---- a kill ----

    def kill(self, kind: str, after: float) -> tuple[bool, str | None]:
        """Kill one run so many seconds after its first statement; whether it was still alive, and what is wrong."""
        self.change(kind)
        before, windows = self.sink(), self.succeeded()
        killed = not self._run_and_kill(kind, after)
        there = self.sink()
        recorded = self.succeeded() > windows
        untouched = there == before
        delivered = there is not None and not untouched and self.undelivered() == 0
        moment = f"{kind} killed {after:.3f} s after its first statement: "
        if not untouched and not delivered:
            return killed, f"{moment}neither all nor nothing was written: {before} became {there}"
        if delivered != recorded:
            return killed, f"{moment}delivered: {delivered}, in the ledger: {recorded}"
        self.now += timedelta(minutes=1)
        self.project.run(now=self.spoken())
        if kind == "backfill":
            self.project.run(now=self.spoken(), variables=OLD)
        count, keys, _ = self.sink() or (0, 0, 0)
        if self.undelivered() or count != keys:
            return killed, f"{moment}the next run left {self.undelivered()} undelivered, {count - keys} twice"
        return killed, None

    def _run_and_kill(self, kind: str, after: float) -> bool:
        """Returns whether the run came to its end."""
        here, there = os.pipe()

        def tell(number: int, sql: str) -> None:
            if number == 1:
                os.write(there, b"!")

        child = start(self.project, *self.arguments(kind), before_statement=tell, **self.options(kind))
        os.close(there)
        os.read(here, 1)
        os.close(here)
        began = time.monotonic()
        while time.monotonic() - began < after:
            ended, _ = os.waitpid(child, os.WNOHANG)
            if ended:
                self.warehouse.wait_for_dbt_to_disconnect()
                return True
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        self.warehouse.wait_for_dbt_to_disconnect()
        return not os.WIFSIGNALED(status)

    def span(self, kind: str) -> float:
        """How long a run of this kind takes from its first statement to its end, undisturbed."""
        if kind not in self.spans:
            began = time.monotonic()
            ended, wrong = self.kill(kind, after=600)
            assert not ended and wrong is None, wrong
            # the next normal run is in it, which is as long again
            self.spans[kind] = (time.monotonic() - began) / 2
        return self.spans[kind]


def play(
    project: Project,
    number: int,
    seed: int,
    span: float | None = None,
    said: Callable[[str], None] = lambda line: None,
) -> Kills:
    """Kill `number` runs, of each kind in turn, up to `span` seconds after their first statement; none: as long as one takes."""
    dice = random.Random(seed)
    victim, kills = Victim(project, dice), Kills()
    if span is not None:
        victim.spans = dict.fromkeys(KINDS, span)
    while kills.total < number:
        kind = KINDS[kills.total % len(KINDS)]
        after = dice.uniform(0, victim.span(kind))
        killed, wrong = victim.kill(kind, after)
        if wrong:
            kills.broken.append(wrong)
            break
        if killed:
            kills.survived[kind] += 1
            if kills.total % 20 == 0:
                said(f"{kills.total} kills")
        else:
            victim.spans[kind] *= 0.95  # it was quicker than that
    return kills
