"""The errors a person is meant to read, and the exit status each one stands for."""

from __future__ import annotations

import click

from two_clocks import console

EXIT_FINE = 0
EXIT_FOUND = 1  # the command found what it looks for: lost rows, findings, a failed check
EXIT_CANNOT_RUN = 2


class CannotRun(click.ClickException):
    """The command could not do its work. The message is one plain sentence that says why, and what would be right."""

    exit_code = EXIT_CANNOT_RUN

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))

    def show(self, file: object = None) -> None:
        console.note(f"Error: {self.message}")


class DatabaseBusy(CannotRun):
    """Another process has the DuckDB file open. Nothing is wrong, and nothing was done."""

    def __init__(self, file: str) -> None:
        super().__init__(
            f"Another process has the database file {file} open, and DuckDB lets one at a time: wait for it to end."
        )


def one_line(text: str) -> str:
    """The text without line breaks, runs of blanks and control characters."""
    return console.safe(" ".join(text.split()))
