"""Everything that is printed for people. JSON, and only JSON, goes to standard output."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

# A pipe has no width of its own; a log reader should get whole rows rather than rows folded at 80 columns.
PIPE_WIDTH = 200


def to_stderr() -> Console:
    """A console on the standard error of this moment (tests and click replace it)."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    return Console(
        file=stream,
        width=None if stream.isatty() else PIPE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not stream.isatty(),
    )


def safe(text: object) -> str:
    """Text from data, fit to be shown: what could steer a terminal or reorder a line is made visible instead.

    Control characters (ANSI escapes among them), bidi overrides, zero-width characters and lone surrogates become
    `\\x1b`-like escapes; a line break and a tab do too, so that one value stays one value.
    """
    return "".join(_visible(character) for character in str(text))


def _visible(character: str) -> str:
    # Cc control, Cf format (bidi, zero width), Cs surrogate, Co private use, Zl and Zp line and paragraph separators
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
        return character.encode("unicode_escape").decode("ascii")
    return character


def note(text: str = "") -> None:
    """One line for a person."""
    click.echo(text, err=True)


def heading(text: str) -> None:
    """A line that opens a part of the output."""
    to_stderr().print(Text(f"\n{text}", style="bold"))


def write_json(value: Any) -> None:
    """The machine's product, on standard output."""
    click.echo(json.dumps(value, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> None:
    """A table on standard error.

    Args:
        columns: the headings.
        rows: the values of each row, in the order of the columns; a rich `Text` keeps its style, all else is made safe.
        right: the headings whose columns are numbers and stand to the right.
    """
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(safe(cell)) for cell in row))
    to_stderr().print(table)


@contextmanager
def progress(description: str, total: int) -> Iterator[Any]:
    """A bar on a terminal and nothing in a pipe. Yields a function to call after each step, with an optional text."""
    if not sys.stderr.isatty():
        yield lambda text="": None
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=to_stderr(),
        transient=True,
    ) as bar:
        task = bar.add_task(description, total=total)

        def advance(text: str = "") -> None:
            bar.update(task, advance=1, description=safe(text) or description)

        yield advance
