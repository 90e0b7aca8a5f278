"""A command as its caller sees it: how long, how much processor, how much memory."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    seconds: float
    cpu_seconds: float  # of the command and what it started, not of a server
    peak_bytes: int


class CommandFailed(Exception):
    """A contender's own last words."""


def timed(command: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None) -> Cost:
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            words = output.read().decode(errors="replace").strip()
            raise CommandFailed(f"{words[-4000:]}\n{_how_it_ended(process.returncode)}".strip())
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def _how_it_ended(returncode: int) -> str:
    return (
        f"its process was ended by {signal.Signals(-returncode).name}"
        if returncode < 0
        else f"exit status {returncode}"
    )
