"""A PostgreSQL server of a test's own, to be struck down and started again, or to run out of disk."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg2

from support.engines import PostgresDatabase
from two_clocks.postgres_server import PORT, USER, Identity, PostgresServer

# how a server goes away: the administrator's `pg_ctl stop -m immediate`, and the kernel's out-of-memory killer
IMMEDIATE, KILLED = signal.SIGQUIT, signal.SIGKILL


class FragileServer:
    """Loses nothing that it has committed: unlike the tests' usual server it writes as one in earnest does."""

    def __init__(self, server: PostgresServer) -> None:
        self.directory = server.directory
        self._data = server.directory / "data"
        self._log = server.directory / "server.log"
        self._again: subprocess.Popen[bytes] | None = None
        self._command = Path(f"/proc/{self._pid()}/cmdline").read_bytes().decode().split("\0")[:-1]
        self.database = PostgresDatabase(server.socket_directory, PORT, USER)

    def strike(self, how: signal.Signals) -> None:
        pid = self._pid()
        os.kill(pid, how)
        if self._again:
            self._again.wait()
        self._wait_until(lambda: not Path(f"/proc/{pid}/exe").exists() or self._is_zombie(pid))

    def start_again(self) -> None:
        # its sessions end by themselves once they miss it, and hold the shared memory until then
        deadline = time.monotonic() + 30
        while True:
            (self._data / "postmaster.pid").unlink(missing_ok=True)
            with self._log.open("ab") as log:
                self._again = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_identity()
                )
            if self._wait_until(self._is_ready):
                break
            assert time.monotonic() < deadline, self._log.read_text()[-2000:]
        self.database.connection.close()
        self.database.connection = self.database.connect(self.database.database)
        with self.database.connection.cursor() as cursor:
            cursor.execute("set timezone to 'UTC'")

    def stop(self) -> None:
        self.database.close()
        if self._again:
            self._again.send_signal(signal.SIGQUIT)
            self._again.wait()

    def _is_ready(self) -> bool | None:
        """None: it gave up."""
        if self._again.poll() is not None:
            return None
        with suppress(psycopg2.OperationalError), closing(self.database.connect("postgres")):
            return True
        return False

    def _pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    @staticmethod
    def _is_zombie(pid: int) -> bool:
        with suppress(FileNotFoundError):
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return True

    @staticmethod
    def _wait_until(condition: object) -> bool:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            answer = condition()
            if answer is not False:
                return bool(answer)
            time.sleep(0.02)
        return False


def _identity() -> dict[str, object]:
    identity = Identity.for_server()
    return identity.as_popen_arguments() if identity else {}


@contextmanager
def fragile_server() -> Iterator[FragileServer]:
    with PostgresServer(durable=True, settings={"autovacuum": "off"}) as server:
        fragile = FragileServer(server)
        try:
            yield fragile
        finally:
            fragile.stop()


class SmallDisk:
    """A file system of a few megabytes that the server keeps the tables of its database on."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @classmethod
    @contextmanager
    def mounted(cls, place: Path, megabytes: int) -> Iterator[SmallDisk]:
        """Raises PermissionError where this user may not mount one."""
        if os.geteuid() != 0:
            raise PermissionError("only root mounts a file system")
        place.mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", place],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise PermissionError(made.stderr.strip())
        try:
            identity = Identity.for_server()
            os.chown(place, identity.uid, identity.gid)
            yield cls(place)
        finally:
            subprocess.run(["umount", place], check=True)
            place.rmdir()

    def enlarge(self, megabytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", self.place], check=True)

    def fill(self) -> None:
        """Not one more page fits."""
        with suppress(OSError), (self.place / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass

    def empty(self) -> None:
        (self.place / "filler").unlink()
