"""`two-clocks`: the group of commands. A command's module is imported only when the command is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import signal
import traceback

import click

from two_clocks import __version__, console
from two_clocks.concealed import concealed
from two_clocks.errors import EXIT_CANNOT_RUN

# name -> "module:attribute". A command whose module is not installed is not offered.
COMMANDS = {
    "audit": "two_clocks.commands.audit:command",
    "backfill": "two_clocks.commands.backfill:command",
    "check": "two_clocks.commands.check:command",
    "lookback": "two_clocks.commands.lookback:command",
    "idempotency": "two_clocks.commands.idempotency:command",
    "quarantine": "two_clocks.commands.quarantine:command",
    "reconcile": "two_clocks.commands.reconcile:command",
    "repair": "two_clocks.commands.repair:command",
    "replay": "two_clocks.commands.replay:command",
    "status": "two_clocks.commands.status:command",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name, and loads dbt only when one of them needs it."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(name for name, place in COMMANDS.items() if importlib.util.find_spec(place.split(":")[0]))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        module, attribute = COMMANDS[name].split(":")
        return getattr(importlib.import_module(module), attribute)

    def invoke(self, context: click.Context) -> object:
        """Keeps exit status 1 for findings: neither Ctrl-C nor a fault of this program may look like one."""
        try:
            return super().invoke(context)
        except (KeyboardInterrupt, click.Abort):
            console.note("Interrupted.")
            raise SystemExit(128 + signal.SIGINT) from None
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception:
            for line in concealed(traceback.format_exc()).splitlines():
                console.note(console.safe(line))
            console.note("Error: this is a fault of two-clocks itself; the lines above say where.")
            raise SystemExit(EXIT_CANNOT_RUN) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="two-clocks")
def main() -> None:
    """Incremental windows on the data's clock.

    Exit status: 0 fine; 1 it found what it looks for (lost rows, findings, a failed check); 2 it could not run.
    """
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, frame: object) -> None:
    """A polite end, as with Ctrl-C: what a `with` block started is stopped."""
    raise SystemExit(128 + number)
