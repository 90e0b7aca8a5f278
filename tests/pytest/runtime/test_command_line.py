"""Exit statuses, one plain sentence for what cannot run, and nothing on standard output but JSON."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from two_clocks import cli, console
from two_clocks.errors import CannotRun

from .conftest import REPOSITORY, CommandLine


def test_every_command_that_is_there_explains_itself(two_clocks: CommandLine) -> None:
    group = cli.LazyGroup()
    names = group.list_commands(None)
    assert "replay" in names
    for name in names:
        result = CliRunner().invoke(cli.main, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert "Usage:" in result.output


def test_help_does_not_wait_for_dbt(environment: dict[str, str]) -> None:
    program = """
        import sys
        from click.testing import CliRunner
        from two_clocks.cli import main
        assert CliRunner().invoke(main, ["replay", "--help"]).exit_code == 0
        sys.exit("dbt" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--target", "mysql"], "There is no private database of the kind 'mysql': take postgres or duckdb."),
        (["--json", "/no/such/folder/x.json"], "The folder of /no/such/folder/x.json does not exist"),
        (["--repeat", "-1"], "-1 is not in the range"),
        (["--repeat", "often"], "'often' is not a valid integer"),
        (["--project-dir", "/no/such/folder"], "Directory '/no/such/folder' does not exist"),
        (["--project-dir", "{empty}"], "There is no scenario in"),
        (["--profiles-dir", "{empty}"], "Could not find profile named 'two_clocks'"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_a_replay_that_cannot_run_says_why(
    two_clocks: CommandLine, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = two_clocks("replay", *(argument.format(empty=tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_what_comes_from_outside_cannot_steer_the_terminal(two_clocks: CommandLine) -> None:
    done = two_clocks("replay", "--target", "\x1b[31mred\u202e")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\\x1b[31mred\\u202e" in done.stderr


def test_a_fault_of_the_program_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from two_clocks.commands import replay

    def fail(*arguments: object, **more: object) -> None:
        raise RuntimeError("not foreseen")

    monkeypatch.setattr(replay, "open_session", fail)
    result = CliRunner().invoke(cli.main, ["replay", "--project-dir", str(REPOSITORY)])
    assert result.exit_code == 2
    assert "not foreseen" in result.output


def test_ctrl_c_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from two_clocks.commands import replay

    def interrupt(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replay, "open_session", interrupt)
    result = CliRunner().invoke(cli.main, ["replay", "--project-dir", str(REPOSITORY)])
    assert result.exit_code == 130


def test_a_sentence_stays_one_line() -> None:
    assert CannotRun("first\n  second\t third").message == "first second third"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("grün ✓ 数", "grün ✓ 数"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        (None, "None"),
    ],
)
def test_text_from_data_is_made_visible(text: object, shown: str) -> None:
    assert console.safe(text) == shown
