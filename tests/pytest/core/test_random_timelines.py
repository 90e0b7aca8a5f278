"""Whatever comes within the look-back, in whatever order, ends up in the target once and in its newest version.

One timeline on each engine, dense in ties; many histories, and harder ones, are in soak.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from support.project import Project

START = datetime(2024, 6, 1)
LOOKBACK = timedelta(hours=6)


def test_rows_that_come_within_the_lookback_are_delivered_once_in_their_newest_version(project: Project) -> None:
    dice = random.Random(1 if project.warehouse.engine == "postgres" else 2)
    newest: dict[int, tuple[datetime, str]] = {}
    waiting: list[tuple[datetime, int, str, datetime]] = []
    clock = START
    for step in range(8):
        clock += timedelta(minutes=dice.randint(10, 400))
        for number in range(dice.randint(0, 12)):
            # whole seconds, few keys: ties, edits and out-of-order versions come up often
            stamp = clock - timedelta(minutes=dice.randint(0, 90))
            visible = stamp + timedelta(minutes=dice.choice([0, 0, 5, 60, 300]))
            waiting.append((visible, dice.randint(1, 15), f"{step}.{number:02}", stamp))
        seen = [row for row in waiting if row[0] <= clock]
        waiting = [row for row in waiting if row[0] > clock]
        project.feed(*[(key, note, stamp) for _, key, note, stamp in seen])
        for _, key, note, stamp in seen:
            newest[key] = max(newest.get(key, (datetime.min, "")), (stamp, note))
        # some runs fail to happen, some happen twice
        for _ in range(dice.choice([0, 1, 1, 2])):
            project.run(now=clock.isoformat() + "Z", lookback=f"{LOOKBACK.seconds} seconds")
            project.counts()
    clock += timedelta(hours=5)
    project.feed(*[(key, note, stamp) for _, key, note, stamp in waiting])
    for _, key, note, stamp in waiting:
        newest[key] = max(newest.get(key, (datetime.min, "")), (stamp, note))
    project.run(now=clock.isoformat() + "Z", lookback=f"{LOOKBACK.seconds} seconds")

    assert {key: stamp for key, stamp in project.rows("id, changed_at")} == {
        key: stamp for key, (stamp, _) in newest.items()
    }
    assert project.ids() == sorted(newest)
