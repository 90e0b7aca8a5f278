"""A dbt project as its files tell it: settings, models, snapshots, macros. Nothing is run and nothing is connected to."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from two_clocks.audit.render import MacroLibrary, Session, Surroundings, clean
from two_clocks.audit.symbols import TOKEN, without_marks
from two_clocks.errors import CannotRun

MAX_FILE = 1_000_000
_SKIPPED_FOLDERS = {
    "target",
    "dbt_packages",
    "dbt_modules",
    "node_modules",
    "venv",
    "env",
    "site-packages",
    "__pycache__",
}
_ADAPTER = re.compile(
    r"\bdbt[-_](snowflake|bigquery|postgres|redshift|databricks|spark|athena|trino|clickhouse|duckdb|sqlserver|synapse|fabric|"
    r"mysql|oracle|starrocks|doris|exasol|teradata|vertica|materialize|dremio|greenplum)\b",
    re.I,
)
_HABITS = {
    "snowflake": r"\biff\(|convert_timezone\(|lateral flatten|sysdate\(\)|timestamp_ntz|parse_json\(|::variant|snowflake_warehouse|\$\d+\b|"
    r"copy_grants|:\w+::\w+|qualify\s+row_number",
    "bigquery": r"_table_suffix|timestamp_sub\(|date_sub\(\s*current_date|safe_cast\(|\bint64\b|format_date\(|_dbt_max_partition|timestamp_trunc\(|"
    r"from\s+`|\bunnest\(\w+\.|partition_by\s*=\s*\{|parse_date\(|extract\(date from|farm_fingerprint",
    "redshift": r"\bgetdate\(\)|\bdist\s*=|\bsort\s*=|sort_type|diststyle|sortkey",
    "postgres": r"timestamptz|jsonb|->>|indexes\s*=|::interval|unlogged\s*=|generate_series\(|now\(\) at time zone",
    "databricks": r"file_format\s*=|liquid_clustered_by|tblproperties|location_root|using delta|date_sub\(current_date\(\)|timestampadd\(",
    "trino": r"\btimestamp '[\d{]|interval '\d+' (?:day|hour|month)|varbinary|from_unixtime\(|try_cast\(|from_iso8601|bytearray_",
    "clickhouse": r"\btodate\(|tostartof|engine\s*=|argmax\(|arrayjoin|now64\(|subtractdays|todatetime|touint|order_by\s*=",
    "tsql": r"getutcdate\(|datetime2|nvarchar|\[dbo\]|sysdatetime\(|select top \d|sysutcdatetime",
    "duckdb": r"read_parquet\(|read_csv|strptime\(|epoch_ms\(",
}

_SETTING_HABITS = {
    "databricks": r"file_format|location_root|tblproperties|liquid_clustered_by",
    "clickhouse": r"mergetree",
    "snowflake": r"snowflake|copy_grants|transient|query_tag",
    "bigquery": r"bigquery|maximum_bytes_billed|kms_key_name|hours_to_expiration",
    "redshift": r"redshift|'\\+?(?:sort|dist|sort_type)':",
    "postgres": r"'\\+?unlogged'|postgres",
}


@dataclass
class Node:
    """A model or snapshot as found in the files."""

    name: str
    path: str
    kind: str  # model, snapshot, python
    text: str
    config: dict[str, Any]
    trouble: str = ""
    as_is: bool = True  # whether `text` is the file to the byte, so that a diff of it applies


@dataclass
class Project:
    """One dbt project."""

    root: Path
    settings: dict[str, Any]
    given_dialect: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The project's name."""
        return str(self.settings.get("name") or self.root.name)

    def folders(self, key: str, old_key: str, default: str) -> list[Path]:
        """The folders that a setting names."""
        given = self.settings.get(key) or self.settings.get(old_key) or [default]
        given = [given] if isinstance(given, str) else given
        out: list[Path] = []
        for folder in given:
            if isinstance(folder, str) and "{{" in folder:
                session = Session(
                    Surroundings(
                        variables=_mapping(self.settings.get("vars")) | self.variables,
                        project_name=self.name,
                        profile=str(self.settings.get("profile") or ""),
                    )
                )
                named = session.evaluate(folder).strip()
                told = not TOKEN.search(named) and not session.notebook.unknown_names
                if told and ((self.root / named).is_dir() or "env_var" not in folder):
                    out.append(self.root / named)
                    continue
                # named by the environment of a run: any folder may be meant
                pattern = re.sub(r"\{\{.*?\}\}", "*", folder).strip("/")
                out += sorted(path for path in self.root.glob(pattern) if path.is_dir()) if ".." not in pattern else []
            elif isinstance(folder, str):
                out.append(self.root / folder)
        return out

    @cached_property
    def model_folders(self) -> list[Path]:
        """Where models are."""
        return self.folders("model-paths", "source-paths", "models")

    @cached_property
    def snapshot_folders(self) -> list[Path]:
        """Where snapshots are."""
        return self.folders("snapshot-paths", "snapshot-paths", "snapshots")

    @cached_property
    def surroundings(self) -> Surroundings:
        """What every template of the project can see."""
        library = MacroLibrary()
        library.read(self.name, self._files(self.folders("macro-paths", "macro-paths", "macros"), {".sql"}))
        installed = self.settings.get("packages-install-path") or "dbt_packages"
        for packages in {str(installed), "dbt_packages", "dbt_modules"}:
            folder = self.root / packages
            if folder.is_dir():
                for package in sorted(folder.iterdir()):
                    library.read(package.name, self._files([package / "macros"], {".sql"}))
        declared = self.settings.get("vars")
        known: dict[str, Any] = {}
        if isinstance(declared, dict):
            known |= {str(k): v for k, v in declared.items() if not (isinstance(v, dict) and str(k) == self.name)}
            own = declared.get(self.name)
            known |= {str(k): v for k, v in own.items()} if isinstance(own, dict) else {}
        known |= self.variables
        return Surroundings(library, known, self.adapter, self.name, str(self.settings.get("profile") or ""))

    @cached_property
    def adapter(self) -> str:
        """dbt's name of the engine."""
        return {"tsql": "sqlserver"}.get(self.dialect, self.dialect)

    @cached_property
    def dialect(self) -> str:
        """The SQL dialect: as asked, as the profile or the requirements say, or as the models are written."""
        from two_clocks.audit.sql_reader import ADAPTER_DIALECTS

        adapter = self.given_dialect or self._adapter_of_profile() or self._adapter_of_requirements()
        if adapter in ADAPTER_DIALECTS:
            return ADAPTER_DIALECTS[adapter]
        return self._dialect_by_habit()

    def _adapter_of_profile(self) -> str:
        wanted = self.settings.get("profile")
        for folder in (self.root, self.root / "profiles", self.root / ".dbt", self.root.parent):
            profiles = read_yaml(folder / "profiles.yml")
            if not isinstance(profiles, dict):
                continue
            profile = (
                profiles.get(wanted)
                if wanted in profiles
                else next((v for k, v in profiles.items() if k != "config"), None)
            )
            outputs = profile.get("outputs") if isinstance(profile, dict) else None
            if not isinstance(outputs, dict):
                continue
            target = outputs.get(profile.get("target")) or next(iter(outputs.values()), None)
            if isinstance(target, dict) and isinstance(target.get("type"), str):
                return Session(Surroundings()).evaluate(target["type"]).strip()
        return ""

    def _adapter_of_requirements(self) -> str:
        place = self.root
        for _ in range(4):
            found: Counter[str] = Counter()
            for name in ("requirements.txt", "requirements.in", "pyproject.toml", "Pipfile", "setup.py", "Dockerfile"):
                text = read_text(place / name)[0]
                found.update(adapter.lower() for adapter in _ADAPTER.findall(text or ""))
            if len(found) == 1:
                return next(iter(found))
            if found or (place / ".git").exists() or place.parent == place:
                return ""
            place = place.parent
        return ""

    def _dialect_by_habit(self) -> str:
        settings = str(self.settings).lower()
        votes: Counter[str] = Counter(
            {dialect: 3 * len(re.findall(habit, settings)) for dialect, habit in _SETTING_HABITS.items()}
        )
        for number, path in enumerate(self._files(self.model_folders, {".sql"})):
            if number >= 200:
                break
            text = (read_text(path)[0] or "").lower()
            votes.update({dialect: min(len(re.findall(habit, text)), 3) for dialect, habit in _HABITS.items()})
        best = votes.most_common(1)
        return best[0][0] if best and best[0][1] else "postgres"

    def _files(self, folders: Iterable[Path], suffixes: set[str]) -> Iterator[Path]:
        seen: set[Path] = set()
        for folder in folders:
            for base, names, files in os.walk(folder, followlinks=False):
                names[:] = sorted(name for name in names if name not in _SKIPPED_FOLDERS and not name.startswith("."))
                for file in sorted(files):
                    path = Path(base) / file
                    if path.suffix.lower() in suffixes and path not in seen:
                        seen.add(path)
                        yield path

    # configuration ---------------------------------------------------------------------------------------------------

    @cached_property
    def properties(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What the yml files say of each model and snapshot: (kind, name) -> its entry."""
        out: dict[tuple[str, str], dict[str, Any]] = {}
        for path in self._files([*self.model_folders, *self.snapshot_folders], {".yml", ".yaml"}):
            document = read_yaml(path, self.problems, self.shown(path))
            if not isinstance(document, dict):
                continue
            for key in ("models", "snapshots"):
                entries = document.get(key)
                for entry in entries if isinstance(entries, list) else []:
                    if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                        entry = {**entry, "_path": self.shown(path)}
                        out.setdefault((key, entry["name"]), entry)
                        for version in entry.get("versions") or []:
                            if isinstance(version, dict) and "v" in version:
                                config = {**_mapping(entry.get("config")), **_mapping(version.get("config"))}
                                own = {**entry, "config": config}
                                out.setdefault((key, f"{entry['name']}_v{version['v']}"), own)
                                if isinstance(version.get("defined_in"), str):
                                    out.setdefault((key, version["defined_in"]), own)
        return out

    def config_of(self, kind: str, name: str, folders: tuple[str, ...]) -> dict[str, Any]:
        """What the project and the yml files set for a node, before the file itself has its say."""
        config: dict[str, Any] = {}
        tree = self.settings.get(kind)
        places = [tree]
        if isinstance(tree, dict):
            place = tree.get(self.name)
            for part in (*folders, name):
                places.append(place)
                place = place.get(part) if isinstance(place, dict) else None
            places.append(place)
        for place in places:
            if isinstance(place, dict):
                for key, value in place.items():
                    key = str(key)
                    if key.startswith("+") or (not isinstance(value, dict) and key in _SETTINGS):
                        config[key.lstrip("+")] = self._filled(value)
        entry = self.properties.get((kind, name)) or {}
        own = _mapping(entry.get("config"))
        for key, value in own.items():
            config[str(key)] = self._filled(value)
        return config

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str) and "{" in value and ("{{" in value or "{%" in value):
            session = Session(self.surroundings)
            text = without_marks(session.evaluate(value)).strip()
            if TOKEN.search(text) or session.notebook.unknown_names:
                return value
            return {"true": True, "false": False, "none": None}.get(text.lower(), text)
        if isinstance(value, list):
            return [self._filled(part) for part in value[:1000]]
        return value

    # nodes -----------------------------------------------------------------------------------------------------------

    def shown(self, path: Path) -> str:
        """A path as people see it, from the project's folder."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return Path(os.path.relpath(path, self.root)).as_posix()

    def nodes(self, only: list[Path] | None = None) -> Iterator[Node]:
        """Every model and snapshot file, or those at and below some paths."""
        seen: set[Path] = set()
        for folder in self.model_folders:
            for path in self._files([folder], {".sql", ".py"}):
                if _wanted(path, only) and path not in seen:
                    seen.add(path)
                    yield self._model(path, folder)
        for folder in self.snapshot_folders:
            for path in self._files([folder], {".sql"}):
                if _wanted(path, only):
                    yield from self._snapshots(path, folder)
        for (kind, name), entry in self.properties.items():
            if kind == "snapshots" and "relation" in entry and _wanted(self.root / entry["_path"], only):
                config = {**self.config_of("snapshots", name, ()), "_relation": entry["relation"]}
                yield Node(name, entry["_path"], "snapshot", "", config)

    def nodes_of(self, path: Path, text: str) -> list[Node] | None:
        """The nodes of one file whose text is at hand; None where the file is neither a model nor a snapshot of the project."""
        path = path.resolve()
        for folder in self.snapshot_folders:
            if folder.resolve() in path.parents:
                return list(self._snapshots(path, folder.resolve(), text))
        for folder in self.model_folders:
            if folder.resolve() in path.parents:
                return [self._model(path, folder.resolve(), text)]
        return None

    def _model(self, path: Path, folder: Path, given: str | None = None) -> Node:
        text, trouble = (given, "") if given is not None else read_text(path)
        folders = path.relative_to(folder).parts[:-1]
        kind = "python" if path.suffix.lower() == ".py" else "model"
        name = path.stem
        cleaned = clean(text or "")
        as_is = given is None and not trouble and path.read_bytes() == cleaned.encode(errors="replace")
        return Node(name, self.shown(path), kind, cleaned, self.config_of("models", name, folders), trouble, as_is)

    def _snapshots(self, path: Path, folder: Path, given: str | None = None) -> Iterator[Node]:
        text, trouble = (given, "") if given is not None else read_text(path)
        text = clean(text or "")
        folders = path.relative_to(folder).parts[:-1]
        blocks = list(
            re.finditer(r"\{%[-+]?\s*snapshot\s+(\w+)\s*[-+]?%\}.*?\{%[-+]?\s*endsnapshot\s*[-+]?%\}", text, re.S)
        )
        if not blocks:
            yield Node(
                path.stem, self.shown(path), "snapshot", text, self.config_of("snapshots", path.stem, folders), trouble
            )
        for block in blocks:
            # the rest of the file becomes spaces, so that lines and offsets stay what they are
            before = re.sub(r"[^\n]", " ", text[: block.start()])
            name = block.group(1)
            yield Node(
                name,
                self.shown(path),
                "snapshot",
                before + block.group(0),
                self.config_of("snapshots", name, folders),
                trouble,
            )


_SETTINGS = {
    "materialized",
    "incremental_strategy",
    "unique_key",
    "enabled",
    "strategy",
    "updated_at",
    "check_cols",
    "event_time",
    "begin",
    "batch_size",
    "lookback",
    "on_schema_change",
    "incremental_predicates",
    "invalidate_hard_deletes",
    "hard_deletes",
}


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): part for key, part in value.items()} if isinstance(value, dict) else {}


def _wanted(path: Path, only: list[Path] | None) -> bool:
    if only is None:
        return True
    path = path.resolve()
    return any(path == wanted or wanted in path.parents for wanted in only)


def read_text(path: Path) -> tuple[str | None, str]:
    """A file's text, or why it cannot be had."""
    try:
        if not path.is_file():
            return None, "the file is not there"
        if path.stat().st_size > MAX_FILE:
            return None, "the file is larger than a megabyte"
        return path.read_bytes().decode("utf-8-sig", errors="replace"), ""
    except OSError as error:
        return None, f"the file cannot be read ({error.strerror})"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe, and unmoved by tags of other programs."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def read_yaml(path: Path, problems: list[tuple[str, str]] | None = None, shown: str = "") -> Any:
    """A yml file's content; None where it is absent or no yml, which is noted."""
    text, trouble = read_text(path)
    if text is None:
        if problems is not None:
            problems.append((shown, trouble))
        return None
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if problems is not None:
            mark = getattr(error, "problem_mark", None)
            problems.append((shown, "it is no valid yml" + (f", line {mark.line + 1}" if mark else "")))
        return None


def load_project(root: Path, dialect: str = "", variables: dict[str, Any] | None = None) -> Project:
    """The project in a folder."""
    file = root / "dbt_project.yml"
    settings = read_yaml(file)
    if settings is None and not file.is_file():
        raise CannotRun(f"There is no dbt_project.yml in {root}.")
    if not isinstance(settings, dict):
        raise CannotRun(f"{file} is no valid dbt_project.yml.")
    return Project(root, settings, dialect, variables or {})


def project_above(path: Path) -> Path | None:
    """The nearest folder at or above a path that holds a dbt_project.yml."""
    place = path if path.is_dir() else path.parent
    for folder in (place, *place.parents):
        if (folder / "dbt_project.yml").is_file():
            return folder
    return None


def projects_below(path: Path) -> list[Path]:
    """The folders below a path that hold a dbt_project.yml; installed packages are left out."""
    out: list[Path] = []
    for base, names, files in os.walk(path, followlinks=False):
        names[:] = sorted(name for name in names if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        if "dbt_project.yml" in files:
            out.append(Path(base))
    return out
