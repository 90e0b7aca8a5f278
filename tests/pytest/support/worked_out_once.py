"""What dbt works out anew for every command although it comes out the same: in a session of thousands, minutes of it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from dbt.config import runtime
from dbt.parser import base

_packages: dict[Any, Any] = {}
_called: list[Any] = []
_contexts: dict[str, Any] = {}
_project_from = runtime.Project.from_project_root.__func__
_context_of_name_macro = base.generate_generate_name_macro_context


def _package_from(cls: type, project_root: str, renderer: Any, **options: Any) -> Any:
    """The settings of an installed package: read again only if its file, the profile or an option has changed.

    A package is told from the project of a test by its place: dbt's own ones and this repository, which deps links to.
    """
    place = Path(project_root)
    file = place / "dbt_project.yml"
    if renderer.profile is None or not (place.is_symlink() or "site-packages" in place.parts):
        return _project_from(cls, project_root, renderer, **options)
    key = (str(place.resolve()), file.read_text(), repr(renderer.profile.to_target_dict()), repr(options))
    if key not in _packages:
        _packages[key] = _project_from(cls, project_root, renderer, **options)
    package = copy.copy(_packages[key])
    package.project_root = str(place)
    return package


def _shared_context(macro: Any, config: Any, manifest: Any) -> Any:
    """generate_database_name, generate_schema_name and generate_alias_name are called with one context, not with three."""
    if not (_called and _called[0] is config and _called[1] is manifest and _called[2] == len(manifest.macros)):
        _called[:] = config, manifest, len(manifest.macros)
        _contexts.clear()
    if macro.package_name not in _contexts:
        _contexts[macro.package_name] = _context_of_name_macro(macro, config, manifest)
    return _contexts[macro.package_name]


def share_what_stays() -> None:
    runtime.Project.from_project_root = classmethod(_package_from)  # type: ignore[method-assign]
    base.generate_generate_name_macro_context = _shared_context
