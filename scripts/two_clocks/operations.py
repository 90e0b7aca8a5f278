"""Macros that write, run as dbt operations: what they need comes in a var, as everywhere."""

from __future__ import annotations

from typing import Any

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun
from two_clocks.recovery.dbt import refusal


def run_operation(session: DbtSession, name: str, given: dict[str, Any]) -> None:
    """Runs a macro of the package.

    Raises:
        CannotRun: with the one sentence that matters.
    """
    try:
        session.invoke(["run-operation", f"two_clocks.{name}"], vars=given, check=True)
    except CannotRun as error:
        raise refusal(error) from error
