"""A server that goes away and a disk that is full: nothing is lost, nothing is there twice, data and ledger agree."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.engines import PostgresWarehouse
from support.fragile_server import IMMEDIATE, KILLED, FragileServer, SmallDisk, fragile_server
from support.project import Project

NOON = "2024-06-03T12:00:00Z"

# where a run stands when the server goes away: at the first statement like the last of these after one like the others
MOMENTS = {
    "before the first question about the model": [r"as wanted \(name\)"],
    "before the rows are read": [r"as wanted \(name\)", "create temporary table"],
    "in the middle of the merge": ["merge into"],
    "before the ledger row": ["merge into", "insert into .*two_clocks_window_ledger"],
    "before the commit": ["insert into .*two_clocks_window_ledger", "^commit"],
}
IN_THE_MIDDLE_SECONDS = 0.1


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[FragileServer]:
    chosen = request.config.getoption("--engine")
    if chosen and "postgres" not in chosen:
        pytest.skip("only other engines were asked for")
    with fragile_server() as server:
        yield server


@pytest.fixture
def project(
    server: FragileServer, template_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    warehouse = PostgresWarehouse(server.database)
    monkeypatch.chdir(tmp_path)
    yield Project.from_template(template_directory / "fragile-postgres", warehouse, tmp_path).with_feed()
    warehouse.clear()


class Strike:
    """Strikes the server down when a run has come to a moment."""

    def __init__(self, server: FragileServer, how: signal.Signals, moment: str) -> None:
        self._server, self._how, self._moment = server, how, moment
        self._ahead = [re.compile(pattern, re.I | re.S) for pattern in MOMENTS[moment]]
        self._later: threading.Timer | None = None

    def __call__(self, number: int, sql: str) -> None:
        if not self._ahead or not self._ahead[0].search(sql):
            return
        self._ahead.pop(0)
        if self._ahead:
            return
        if self._moment.startswith("in the middle"):
            self._later = threading.Timer(IN_THE_MIDDLE_SECONDS, self._server.strike, [self._how])
            self._later.start()
        else:
            self._server.strike(self._how)

    def has_happened(self) -> bool:
        if self._later:
            self._later.join()
        return not self._ahead


@pytest.mark.parametrize("how", [IMMEDIATE, KILLED], ids=["stopped at once", "killed"])
def test_a_server_that_goes_away_in_the_middle_of_a_run_loses_and_doubles_nothing(
    project: Project, server: FragileServer, how: signal.Signals
) -> None:
    project.feed((0, "first", "2024-06-03 08:00"))
    project.run(now=NOON)
    project.warehouse.execute(
        "create function sync.slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(0.2); return new; end $$"
    )
    project.warehouse.execute(
        "create trigger slowly before insert or update on sync.sink for each row execute function sync.slowly()"
    )
    for number, moment in enumerate(MOMENTS, start=1):
        stored, recorded = project.rows(), project.ledger()
        project.feed((number, "new", "2024-06-03 09:00"))
        project.warehouse.execute(
            "update ods.feed set note = %s, changed_at = '2024-06-03 09:00' where id = 0", (moment,)
        )
        strike = Strike(server, how, moment)
        run = project.attempt(now=NOON, before_statement=strike)
        assert strike.has_happened(), f"no run ever stands {moment}"
        assert not run.result.success, moment
        server.start_again()

        # neither the rows nor a word of them in the ledger
        assert project.rows() == stored, moment
        assert project.ledger() == recorded, moment
        project.run(now=NOON)
        assert project.rows() == [(0, moment), *[(n, "new") for n in range(1, number + 1)]]
        assert project.counts() == {"extracted": number + 1, "inserted": 1, "updated": 1, **unchanged(number - 1)}
    assert sum(window["rows_inserted"] for window in project.ledger()) == len(MOMENTS) + 1


def unchanged(rows: int) -> dict[str, int]:
    return {"unchanged": rows} if rows else {}


@pytest.fixture
def small_disk(project: Project, server: FragileServer) -> Iterator[SmallDisk]:
    """The tables of the project's database lie on a disk of 8 MB."""
    try:
        with SmallDisk.mounted(server.directory / "small_disk", megabytes=8) as disk:
            project.warehouse.execute(f"create tablespace small location '{disk.place}'")
            project.warehouse.execute(
                f"alter database {project.warehouse.server.database} set default_tablespace = small"
            )
            yield disk
            project.warehouse.clear()
            project.warehouse.execute("drop tablespace small")
    except PermissionError as error:
        pytest.skip(f"no disk of a test's own can be mounted here: {error}")


def test_a_disk_that_is_full_writes_nothing_and_says_so(project: Project, small_disk: SmallDisk) -> None:
    project.feed((0, "first", "2024-06-03 08:00"))
    project.run(now=NOON)
    # more than the disk holds
    project.warehouse.execute(
        "insert into ods.feed select n, repeat('x', 50), timestamp '2024-06-03 09:00' from generate_series(1, 100000) as g(n)"
    )
    message = project.refused(now=NOON)

    assert "No space left on device" in message
    assert project.ids() == [0]
    window = project.last_window()
    assert window["status"] == "failed" and "No space left on device" in window["message"]
    assert not window["rows_inserted"]

    small_disk.enlarge(megabytes=64)
    project.run(now=NOON)
    assert project.counts() == {"extracted": 100001, "inserted": 100000, "unchanged": 1}
    assert project.warehouse.query("select count(*), count(distinct id) as ids from sync.sink") == [
        {"count": 100001, "ids": 100001}
    ]


@pytest.mark.parametrize("moment", ["merge into", "insert into .*two_clocks_window_ledger", "^commit"])
def test_a_disk_that_fills_up_in_the_middle_of_a_run_leaves_rows_and_ledger_row_or_neither(
    project: Project, small_disk: SmallDisk, moment: str
) -> None:
    project.feed((0, "first", "2024-06-03 08:00"))
    project.run(now=NOON)
    project.warehouse.execute(
        "insert into ods.feed select n, repeat('x', 50), timestamp '2024-06-03 09:00' from generate_series(1, 500) as g(n)"
    )
    wrote: list[str] = []

    def fill(number: int, sql: str) -> None:
        if re.search("insert into .*two_clocks_window_ledger", sql, re.S):
            wrote.append(sql)
        if re.search(moment, sql, re.I | re.S) and (wrote or moment != "^commit"):
            small_disk.fill()

    run = project.attempt(now=NOON, before_statement=fill)
    small_disk.empty()

    delivered = project.ids() != [0]
    assert delivered == run.result.success
    assert delivered == (project.last_window()["rows_inserted"] == 500)
    project.run(now=NOON)
    assert project.ids() == list(range(501))
    assert sum(window["rows_inserted"] or 0 for window in project.ledger()) == 501
