"""The options that every command takes, so that they are spelled and explained once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --project-dir, --profiles-dir, --target and --json.

    The command receives `project_dir: Path`, `profiles_dir: Path | None`, `target: str | None`, `as_json: bool`.
    """
    for option in (
        json_option,
        click.option("--target", help="The output of the profile to use. Default: the profile's own."),
        click.option(
            "--profiles-dir",
            type=_DIRECTORY,
            envvar="DBT_PROFILES_DIR",
            help="The folder that holds profiles.yml. Default: where dbt would look.",
        ),
        click.option(
            "--project-dir",
            type=_DIRECTORY,
            envvar="DBT_PROJECT_DIR",
            default=".",
            show_default="the current folder",
            help="The folder that holds dbt_project.yml.",
        ),
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output instead of a table.")
