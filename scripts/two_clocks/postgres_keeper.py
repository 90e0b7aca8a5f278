"""The parent process of a private PostgreSQL server: a program of its own, with the standard library alone.

Its standard input is a pipe whose other end only the owner holds. When that end closes, the owner is done or dead,
however it died, and the keeper stops the server and removes its directory. So an exception, Ctrl-C, SIGTERM and even
SIGKILL all end the same way, and the owner needs no signal handler.

    python -I postgres_keeper.py DIRECTORY UID GID POSTGRES [ARGUMENTS...]     (UID and GID: '-' for the current user)
"""

import contextlib
import shutil
import signal
import subprocess
import sys
from pathlib import Path

STOP_SECONDS = 20


def main(directory, uid, gid, *command):
    # Ctrl-C and a closing terminal are meant for the owner: its end is what this process waits for.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)

    identity = {} if uid == "-" else {"user": int(uid), "group": int(gid), "extra_groups": []}
    with Path(directory, "server.log").open("ab") as log:
        server = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            restore_signals=True,
            # an ignored signal would stay ignored in the server, and these are the ones that stop it
            preexec_fn=default_signals,
            **identity,
        )
    while sys.stdin.buffer.read(1024):
        pass
    stop(server)
    shutil.rmtree(directory, ignore_errors=True)


def default_signals():
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def stop(server):
    """Fast shutdown (SIGINT), and what is left of it by force."""
    with contextlib.suppress(ProcessLookupError):
        server.send_signal(signal.SIGINT)
    try:
        server.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
