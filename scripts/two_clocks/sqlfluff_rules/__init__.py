"""The audit's rules for sqlfluff. The rules themselves are imported only when sqlfluff asks for them."""

from __future__ import annotations

from typing import Any

from sqlfluff.core.config import load_config_resource
from sqlfluff.core.plugin import hookimpl
from sqlfluff.core.rules import BaseRule


@hookimpl
def get_rules() -> list[type[BaseRule]]:
    """The rules."""
    from two_clocks.sqlfluff_rules.rules import ALL

    return list(ALL)


@hookimpl
def load_default_config() -> dict[str, Any]:
    """What each rule's settings are unless a project says otherwise."""
    return load_config_resource(package="two_clocks.sqlfluff_rules", file_name="default.cfg")


@hookimpl
def get_configs_info() -> dict[str, Any]:
    """The settings that these rules add to sqlfluff's own: none."""
    return {}
