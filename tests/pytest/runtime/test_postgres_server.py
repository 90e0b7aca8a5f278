"""The private server: real, unreachable from outside, and gone afterwards however its owner ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psycopg2
import pytest

from two_clocks.errors import CannotRun
from two_clocks.postgres_server import MAJOR_VARIABLE, PostgresServer, find_postgres_binaries

MAJORS = [major for major in (15, 16, 17, 18) if find_postgres_binaries(major)]


def ask(server: PostgresServer, sql: str) -> object:
    connection = psycopg2.connect(host=server.socket_directory, user="postgres", dbname="postgres")
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0]
    finally:
        connection.close()


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("major", MAJORS)
def test_each_version_that_is_there_starts_and_goes(major: int) -> None:
    with PostgresServer(find_postgres_binaries(major), durable=False) as server:
        directory = server.directory
        assert ask(server, "show server_version").startswith(f"{major}.")
        assert ask(server, "show timezone") == "UTC"
    assert not directory.exists()


def test_it_listens_on_no_port_and_two_do_not_meet() -> None:
    with PostgresServer(durable=False) as one, PostgresServer(durable=False) as other:
        assert ask(one, "show listen_addresses") == ""
        assert one.directory != other.directory
        assert ask(one, "select pg_postmaster_start_time()") != ask(other, "select pg_postmaster_start_time()")


def test_its_directory_is_closed_to_others() -> None:
    with PostgresServer(durable=False) as server:
        assert server.directory.stat().st_mode & 0o077 == 0


def test_it_is_gone_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), PostgresServer(durable=False) as server:
        directory, pid = server.directory, int(ask(server, "select pg_backend_pid()"))
        raise ZeroDivisionError
    assert not directory.exists()
    assert not is_alive(pid)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda end: end.name)
def test_it_is_gone_after_its_owner(end: signal.Signals, environment: dict[str, str]) -> None:
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
                import signal, time
                from two_clocks.postgres_server import PostgresServer
                signal.signal(signal.SIGINT, signal.default_int_handler)
                with PostgresServer(durable=False) as server:
                    pid = (server.directory / "data" / "postmaster.pid").read_text().split()[0]
                    print(server.directory, pid, flush=True)
                    time.sleep(60)
            """),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    directory, pid = owner.stdout.readline().split()
    assert Path(directory).exists()
    owner.send_signal(end)
    owner.wait(timeout=30)
    assert wait_until(lambda: not Path(directory).exists())
    assert wait_until(lambda: not is_alive(int(pid)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_binaries_that_the_servers_user_cannot_reach_are_copied(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    package = find_postgres_binaries(18).parents[1]
    shutil.copytree(package / "pginstall", closed / "site-packages" / package.name / "pginstall", symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, closed / "site-packages" / libraries.name)
    closed.chmod(0o700)

    with PostgresServer(closed / "site-packages" / package.name / "pginstall" / "bin", durable=False) as server:
        assert ask(server, "select 1") == 1
        assert (server.directory / "installation").exists()
    assert closed.stat().st_mode & 0o777 == 0o700


def test_variables_of_the_users_own_server_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGDATA": "/nowhere", "PGHOST": "example.invalid", "PGUSER": "x"}.items():
        monkeypatch.setenv(name, value)
    with PostgresServer(durable=False) as server:
        connection = psycopg2.connect(host=server.socket_directory, port=5432, user="postgres", dbname="postgres")
        connection.close()


def test_no_binaries_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"no PostgreSQL server binaries in .*pip install"), PostgresServer(tmp_path):
        pass


def test_a_setting_that_postgres_refuses_is_told_in_its_words() -> None:
    server = PostgresServer(durable=False, settings={"shared_buffers": "'much'"})
    with pytest.raises(CannotRun, match=r"did not start: .*shared_buffers.*contains errors"), server:
        pass
    assert server.directory is None


def test_a_version_can_be_chosen_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAJOR_VARIABLE, "9")
    assert find_postgres_binaries() is None
    with pytest.raises(CannotRun, match="of version 9"), PostgresServer():
        pass
