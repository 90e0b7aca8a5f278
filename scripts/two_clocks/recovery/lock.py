"""One backfill or repair of a table at a time: a lock in the database, held by a session of its own.

A lock file would tell nothing to a process on another machine, and would outlive a process that was killed. The session
ends with this process, however that ends, and the lock with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun
from two_clocks.recovery.dbt import ask


class Lock:
    def __init__(self, name: str, handle: Any, sql: str) -> None:
        self.name, self.handle, self.sql = name, handle, sql

    def take(self) -> None:
        if self.sql and not self._first_value(self.sql):
            raise CannotRun(
                f"Another backfill or repair of {self.name} is running: wait until it has ended, then run this one again. Nothing was written."
            )

    def check(self) -> None:
        """The lock is gone if its session is: somebody may have ended it, or the network has."""
        if not self.sql:
            return
        try:
            self._first_value("select 1")
        except Exception as error:
            raise CannotRun(
                f"The session that held the lock on {self.name} has ended, so another backfill may have begun: "
                "run the same command again, it goes on where this one stopped."
            ) from error

    def _first_value(self, sql: str) -> Any:
        cursor = self.handle.cursor()
        cursor.execute(sql)
        value = cursor.fetchone()[0]
        self.handle.commit()  # the lock is the session's; an idle session should hold no transaction open
        return value


@contextlib.contextmanager
def only_one(session: DbtSession, name: str, relation: str) -> Iterator[Lock]:
    """Holds the lock on a table for the length of the block; `name` is what a person calls it.

    Raises:
        CannotRun: somebody else holds it.
    """
    rows = ask(
        session,
        "{% if execute %}select {{ two_clocks.text_literal(two_clocks.backfill_lock_sql(var('two_clocks_place'))) }} as lock_sql"
        "{% else %}select 1 as lock_sql{% endif %}",
        {"two_clocks_place": relation},
    )
    handle = _open_session()
    try:
        lock = Lock(name, handle, rows[0]["lock_sql"])
        lock.take()
        yield lock
    finally:
        with contextlib.suppress(Exception):
            handle.close()


def _open_session() -> Any:
    """A connection of the adapter's own kind that dbt does not know of, so that it stays open between dbt's commands."""
    from dbt.adapters.contracts.connection import Connection, ConnectionState
    from dbt.adapters.factory import FACTORY

    adapter = next(iter(FACTORY.adapters.values()))
    connection = Connection(
        type=adapter.type(),
        name="two_clocks_lock",
        state=ConnectionState.INIT,
        transaction_open=False,
        handle=None,
        credentials=adapter.config.credentials,
    )
    adapter.connections.open(connection)
    return connection.handle
