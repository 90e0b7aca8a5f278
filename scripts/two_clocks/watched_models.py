"""The models that read through a window, as the project itself declares them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from two_clocks.errors import CannotRun

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

    from two_clocks.dbt_session import DbtSession

WINDOW_MACROS = frozenset({"macro.two_clocks.windowed", "macro.two_clocks.window"})

# A generic test that a model carries sees to these signals itself, with the limits that the project gave it.
SIGNALS_OF_TEST = {
    "no_empty_window_streak": "silence",
    "lookback_headroom": "headroom",
    "windows_contiguous": "gaps",
}

# meta keys of a model, and the setting of signals_sql() that each one is
SETTINGS = {
    "two_clocks_max_windows": "max_windows",
    "two_clocks_max_blind_windows": "max_blind_windows",
    "two_clocks_min_headroom": "min_headroom",
    "two_clocks_max_lag": "max_lag",
    "two_clocks_quiet": "quiet",
    "two_clocks_streams": "streams",
}


@dataclass(frozen=True)
class Watched:
    """One model that reads through a window."""

    unique_id: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    tests: tuple[Any, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def skip(self) -> list[str]:
        """The signals that the model's own tests see to. One that picks streams or rows leaves the rest to the ledger."""
        return sorted({SIGNALS_OF_TEST[name] for name in map(_test_name, self.tests) if name in SIGNALS_OF_TEST})


def watched_models(session: DbtSession, select: Sequence[str] = ()) -> list[Watched]:
    """The project's models that call windowed() or window(), directly or through a macro of their own.

    Args:
        session: the project.
        select: dbt selectors; empty means all.

    Raises:
        CannotRun: the selection holds no such model.
    """
    manifest = session.manifest
    window_macros = _macros_that_lead_to(manifest, WINDOW_MACROS)
    chosen = _selected(session, select) if select else None
    models = [
        Watched(
            unique_id=node.unique_id,
            name=node.name,
            settings=_settings(node),
            tests=tuple(_tests_of(manifest, node)),
            sources=tuple(_sources_of(manifest, node)),
        )
        for node in sorted(manifest.nodes.values(), key=lambda node: node.unique_id)
        if str(node.resource_type) == "model"
        and window_macros & set(node.depends_on.macros)
        and (chosen is None or node.unique_id in chosen)
    ]
    if not models:
        where = f"in the selection '{' '.join(select)}'" if select else "in this project"
        raise CannotRun(f"No model {where} reads through two_clocks.windowed(): there is nothing to look at.")
    return models


def signal_settings(models: Iterable[Watched], **defaults: Any) -> list[dict[str, Any]]:
    """What signals_sql() asks of each model: its own meta wins over the command's options."""
    given = {name: value for name, value in defaults.items() if value is not None}
    return [{"id": model.unique_id, **given, **model.settings} for model in models]


def _macros_that_lead_to(manifest: Manifest, wanted: frozenset[str]) -> set[str]:
    """The macros named, and every macro that calls one of them."""
    found = set(wanted)
    grown = True
    while grown:
        callers = {macro.unique_id for macro in manifest.macros.values() if found & set(macro.depends_on.macros)}
        # the package's own macros lead to each other; only those of the project that installs it matter
        grown = bool(callers - found)
        found |= callers
    return found


def _selected(session: DbtSession, select: Sequence[str]) -> set[str]:
    arguments = ["ls", "--resource-type", "model", "--output", "json", "--output-keys", "unique_id"]
    result = session.invoke([*arguments, "--select", *select])
    import json

    return {json.loads(line)["unique_id"] for line in result.result or [] if line.startswith("{")}


def _settings(node: Any) -> dict[str, Any]:
    meta = getattr(node.config, "meta", None) or {}
    return {setting: meta[key] for key, setting in SETTINGS.items() if key in meta}


def _tests_of(manifest: Manifest, node: Any) -> list[Any]:
    """The generic tests of two_clocks on a model and on the sources it reads."""
    watched = {node.unique_id, *_sources_of(manifest, node)}
    return [
        test
        for test in sorted(manifest.nodes.values(), key=lambda test: test.unique_id)
        if str(test.resource_type) == "test"
        and getattr(test, "test_metadata", None)
        and test.test_metadata.namespace == "two_clocks"
        and _stands_on(test) in watched
    ]


def _stands_on(test: Any) -> str | None:
    """The node that a generic test is declared on; dbt names no attached node for a source."""
    if getattr(test, "attached_node", None):
        return test.attached_node
    return next(iter(test.depends_on.nodes), None)


def _test_name(test: Any) -> str:
    return test.test_metadata.name


def _sources_of(manifest: Manifest, node: Any) -> list[str]:
    return [name for name in node.depends_on.nodes if name in manifest.sources]
