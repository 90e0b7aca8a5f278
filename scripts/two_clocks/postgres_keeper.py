"""The process that owns a private PostgreSQL server: it runs as its own program, with the standard library alone.

Its standard input is a pipe whose other end only the owner holds. When that end closes, the owner is done or dead, however
it died, and the keeper stops the server and removes its directory. So an exception, Ctrl-C, SIGTERM and even SIGKILL all
end the same way, and no signal handler is needed in the owner.

    python -I postgres_keeper.py DIRECTORY UID GID POSTGRES [ARGUMENTS...]     (UID and GID: '-' for the current user)
"""

import contextlib
import shutil
import signal
import subprocess
import sys
import threading

STOP_SECONDS = 20


def main(directory, uid, gid, *command):
    # Ctrl-C and a closing terminal are meant for the owner: its end is what this process waits for.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)

    identity = {} if uid == "-" else {"user": int(uid), "group": int(gid), "extra_groups": []}
    with open(f"{directory}/server.log", "ab") as log:
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
    threading.Thread(target=leave_with, args=(server,), daemon=True).start()
    print(server.pid, flush=True)

    while sys.stdin.buffer.read(1024):
        pass
    stop(server)
    shutil.rmtree(directory, ignore_errors=True)


def default_signals():
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def leave_with(server):
    """Tell the owner, by closing standard output, that the server is gone."""
    server.wait()
    sys.stdout.close()


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
