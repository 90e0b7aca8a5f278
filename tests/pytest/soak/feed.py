"""A source with its loads: what people changed, what a load has shown of it, and what it looked like before."""

from __future__ import annotations

from datetime import datetime

from soak.judge import Row

# what a load brings of the changes that wait: (of all of them, which)
LOADS = {
    "everything": lambda waiting: waiting,
    "nothing": lambda waiting: [],
    "every other change": lambda waiting: waiting[::2],
    "the newest half, before the older": lambda waiting: waiting[len(waiting) // 2 :],
    "the oldest half": lambda waiting: waiting[: (len(waiting) + 1) // 2],
}


class Feed:
    """The changes of a source, and the table in which loads show them."""

    def __init__(self) -> None:
        self.waiting: list[Row] = []
        self.visible: list[Row] = []
        self.states: list[list[Row]] = []
        self._changes = 0

    def change(self, key: int, at: datetime | None) -> Row:
        """Somebody inserts or edits a row; nobody sees it before a load."""
        self._changes += 1
        # digits in no order of time: a tie is not always won by the later edit
        row = Row(key, f"{self._changes * 37 % 100:02}{self._changes:03}", at)
        self.waiting.append(row)
        return row

    def load(self, which: str, again: bool, one_row_per_key: bool) -> list[Row]:
        """Show some of what waits; `again` repeats rows that are there, `one_row_per_key` overwrites as an upsert does."""
        self.states.append(list(self.visible))
        brought = list(LOADS[which](self.waiting))
        self.waiting = [row for row in self.waiting if row not in brought]
        if again:
            brought += self.visible[-2:]
        self.visible += brought
        if one_row_per_key:
            self.visible = list({row.id: row for row in self.visible}.values())
        return brought

    def delete(self, key: int) -> None:
        self.visible = [row for row in self.visible if row.id != key]

    def restore(self, loads_ago: int, refilled: bool) -> None:
        """The source is replaced by an older copy; `refilled`: what it had shown since waits to be loaded once more."""
        if self.states:
            older = self.states[-min(loads_ago, len(self.states))]
            if refilled:
                self.waiting = [row for row in dict.fromkeys(self.visible) if row not in older] + self.waiting
            self.visible = list(older)
