"""Parsing costs more than all else that a command does, so commands on projects with the same files share one parse.

Vars of this package are read while a model runs, never while it is parsed, so they make no difference; any other var does.
"""

from __future__ import annotations

import gc
import hashlib
import json
from pathlib import Path
from typing import Any

from two_clocks.dbt_session import DbtSession

_manifests: dict[str, Any] = {}
_parse = DbtSession.manifest.fget
_parsed_suffixes = (".sql", ".yml", ".csv", ".md", ".py")


def digest_of(directory: Path) -> str:
    """Equal for projects in which dbt would find the same, wherever they are."""
    digest = hashlib.sha256()
    for file in sorted(directory.rglob("*")):
        place = file.relative_to(directory)
        if file.suffix in _parsed_suffixes and file.name != "profiles.yml" and place.parts[0] not in ("target", "logs"):
            digest.update(str(place).encode() + file.read_bytes())
    return digest.hexdigest()


def left_alone(manifest: Any) -> Any:
    """A manifest that stays until the end: the garbage collector need not look through all of them again and again."""
    gc.collect()
    gc.freeze()
    return manifest


def _shared_manifest(session: DbtSession) -> Any:
    project_file = session.project_dir / "dbt_project.yml"
    if session._manifest is None and project_file.is_file() and project_file.read_text().startswith("name: consumer\n"):
        own_vars = {name: value for name, value in session.vars.items() if not name.startswith("two_clocks_")}
        profile = (session.profiles_dir or session.project_dir) / "profiles.yml"
        key = json.dumps([digest_of(session.project_dir), profile.read_text(), session.target, own_vars], default=str)
        if key not in _manifests:
            # without them dbt finds that it has parsed the template of this project before, and parses what is new
            session.vars, given = own_vars, session.vars
            try:
                _manifests[key] = left_alone(_parse(session))
            finally:
                session.vars = given
        session._manifest = _manifests[key]
    return _parse(session)


def share_parses() -> None:
    DbtSession.manifest = property(_shared_manifest)  # type: ignore[assignment]
