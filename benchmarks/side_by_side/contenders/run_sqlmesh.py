"""`sqlmesh plan` and `sqlmesh run` with the time of day given: the command line of `run` cannot take it."""

from __future__ import annotations

import sys

from sqlmesh import Context
from sqlmesh.core.console import NoopConsole, set_console


def main(what: str, now: str) -> int:
    set_console(NoopConsole())
    context = Context(paths=["."])
    if what == "plan":
        context.plan(execution_time=now, auto_apply=True, no_prompts=True)
        return 0
    status = context.run(execution_time=now)
    return 0 if status.is_success or status.is_nothing_to_do else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
