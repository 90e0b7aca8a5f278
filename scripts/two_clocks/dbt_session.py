"""dbt in this process: parsed once, asked many times."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from two_clocks.concealed import concealed
from two_clocks.errors import CannotRun, DatabaseBusy

if TYPE_CHECKING:
    from dbt.cli.main import dbtRunnerResult
    from dbt.contracts.graph.manifest import Manifest

# Exceptions' names and hints that dbt puts around the sentence that matters.
_NOISE = re.compile(
    r"\x1b\[[0-9;]*m|^(Encountered an error:|Runtime Error|Compilation Error|Database Error|Error)\s*", re.M
)
# A macro's own sentence, before the list of the macros that called it.
_REFUSAL = re.compile(r"two_clocks: .*?(?= > in macro |$)", re.S)
# every escape of a JSON text, and of one character beyond the first 65,536 its two halves
_ESCAPES = re.compile(r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|.)")
_LOCKED_FILE = re.compile(r"lock on file \"?(?P<file>[^\":]+)", re.I)
_QUIET = ("--quiet", "--no-print", "--log-level", "none", "--log-level-file", "debug")


class DbtSession:
    """Runs dbt commands on one project and target.

    Args:
        project_dir: the folder with dbt_project.yml.
        profiles_dir: the folder with profiles.yml; None leaves the search to dbt.
        target: an output of the profile; None takes the profile's own default.
        vars: dbt vars for every command; those of one call win over them.
        target_path: where dbt writes its artifacts and partial parse; None leaves that to dbt.
        artifacts: False spares dbt from writing manifest.json and run_results.json after each command.
        quiet: False lets dbt log to standard error as usual.

    The project is parsed once, by the first command, and that manifest serves all later ones. A var therefore takes
    effect where it is read while a node runs, which is everywhere but in `config()` and the project's yaml: give those
    vars to the session itself. Call `forget()` after changing a file of the project.
    """

    def __init__(
        self,
        project_dir: Path | str = ".",
        profiles_dir: Path | str | None = None,
        target: str | None = None,
        vars: Mapping[str, Any] | None = None,
        target_path: Path | str | None = None,
        artifacts: bool = True,
        quiet: bool = True,
    ) -> None:
        self.project_dir = Path(project_dir).resolve()
        self.profiles_dir = Path(profiles_dir).resolve() if profiles_dir else None
        self.target = target
        self.vars = dict(vars or {})
        self.target_path = Path(target_path).resolve() if target_path else None
        self.artifacts = artifacts
        self.quiet = quiet
        self._manifest: Manifest | None = None

    def invoke(
        self,
        arguments: Sequence[str],
        vars: Mapping[str, Any] | None = None,
        check: bool = False,
    ) -> dbtRunnerResult:
        """Runs one dbt command, such as `["run", "--select", "crm_grades"]`.

        Args:
            arguments: the command and its own options.
            vars: vars of this call, added to the session's.
            check: True turns failed nodes into CannotRun as well. By default they are in the result, for the caller.

        Raises:
            CannotRun: dbt could not start (project, profile, parse, connection); the sentence is dbt's own.
        """
        result = self._run(arguments, vars, self.manifest)
        if result.exception is not None or (result.result is None and not result.success):
            raise _cannot_run(f"dbt {arguments[0]} could not run: {_sentence(result.exception)}")
        if check and not result.success:
            raise _cannot_run(f"dbt {arguments[0]} failed: {'; '.join(_failures(result)) or 'it did not say why'}")
        return result

    def query(self, jinja_sql: str, vars: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a query. The SQL is a template: macros render it, so every dialect stays in macros.

        Raises:
            CannotRun: the query could not be rendered or the database refused it.
        """
        try:
            # without artifacts: writing the manifest costs more than the question, and it is no one's run
            question = ["--no-write-json", "show", "--inline", jinja_sql, "--limit", "-1"]
            result = self._run(question, vars, self.manifest)
        finally:
            _forget_inline_nodes(self.manifest)
        if result.exception is not None or not result.success:
            reason = _sentence(result.exception) if result.exception else "; ".join(_failures(result))
            refused = _REFUSAL.search(reason)
            raise _cannot_run(refused[0] if refused else f"a query could not run: {reason or 'dbt did not say why'}")
        table = result.result.results[0].agate_table
        return [dict(zip(table.column_names, row.values(), strict=True)) for row in table.rows]

    @property
    def manifest(self) -> Manifest:
        """The parsed project. Nothing is connected to."""
        if self._manifest is None:
            result = self._run(["parse"])
            if result.exception is not None or not result.success:
                raise CannotRun(f"dbt could not read the project in {self.project_dir}: {_sentence(result.exception)}")
            self._manifest = result.result
        return self._manifest

    def forget(self) -> None:
        """Parse again before the next command: a file of the project has changed."""
        self._manifest = None

    def _run(
        self, arguments: Sequence[str], vars: Mapping[str, Any] | None = None, manifest: Manifest | None = None
    ) -> dbtRunnerResult:
        # dbt takes seconds to import; a command's --help must not wait for it
        from dbt.cli.main import dbtRunner

        if not (self.project_dir / "dbt_project.yml").is_file():
            raise CannotRun(f"There is no dbt_project.yml in {self.project_dir}: name the project with --project-dir.")

        if manifest:
            _uncompile(manifest)
        with _dbt_output(self.quiet):
            runner = dbtRunner(manifest=manifest)
            result = runner.invoke([*self._global_options(), *arguments, *self._options(vars)])
        if isinstance(result.exception, (KeyboardInterrupt, SystemExit)):
            raise result.exception  # dbt hands back even a Ctrl-C as a result
        return result

    def _global_options(self) -> list[str]:
        options = ["--no-send-anonymous-usage-stats"]
        options += _QUIET if self.quiet else ()
        options += () if self.artifacts else ("--no-write-json",)
        return options

    def _options(self, vars: Mapping[str, Any] | None) -> list[str]:
        options = ["--project-dir", str(self.project_dir)]
        if self.profiles_dir:
            options += ["--profiles-dir", str(self.profiles_dir)]
        if self.target:
            options += ["--target", self.target]
        if self.target_path:
            options += ["--target-path", str(self.target_path), "--log-path", str(self.target_path / "logs")]
        all_vars = {**self.vars, **{name: _literally(value) for name, value in (vars or {}).items()}}
        if all_vars:
            options += ["--vars", _as_yaml(all_vars)]
        return options


def _literally(value: Any) -> Any:
    """A var whose text stays as it is. dbt renders a var that is a text (and none inside of a list or a mapping), so a row that
    holds a template, once it has come into a var, would read the variables of this machine."""
    if not isinstance(value, str) or "{" not in value:
        return value
    inside = json.dumps(value, ensure_ascii=False).replace("{", "\\u007b").replace("}", "\\u007d")
    return f"{{{{ {inside} }}}}"


def _as_yaml(value: Mapping[str, Any]) -> str:
    """JSON that is YAML too: an emoji is two escapes in JSON and has to be one in YAML."""
    return _ESCAPES.sub(_as_one, json.dumps(value, default=str))


def _as_one(escape: re.Match[str]) -> str:
    if not escape[1]:
        return escape[0]
    return f"\\U{0x10000 + (int(escape[1], 16) - 0xD800) * 0x400 + int(escape[2], 16) - 0xDC00:08x}"


def _uncompile(manifest: Manifest) -> None:
    """Forgets what an earlier command compiled: dbt would think that a node has its ephemeral parents inside already."""
    for node in manifest.nodes.values():
        if getattr(node, "extra_ctes_injected", False):
            node.compiled, node.compiled_code = False, None
            node.extra_ctes, node.extra_ctes_injected = [], False


def _forget_inline_nodes(manifest: Manifest) -> None:
    """Removes the node of a query that failed: dbt forgets it only after success, and could not parse the next one."""
    for unique_id in [unique_id for unique_id in manifest.nodes if unique_id.startswith("sql_operation.")]:
        del manifest.nodes[unique_id]


@contextmanager
def _dbt_output(quiet: bool):
    """Standard output belongs to JSON, so whatever dbt or an adapter prints there is kept off it."""
    if quiet:
        with redirect_stdout(io.StringIO()):
            yield
    else:
        with redirect_stdout(sys.stderr):
            yield


def _failures(result: dbtRunnerResult) -> list[str]:
    """One sentence for each node that failed."""
    return [
        f"{getattr(node, 'node', node).unique_id}: {_sentence(node.message)}"  # an operation has no node
        for node in getattr(result.result, "results", None) or []
        if str(node.status) in ("error", "fail", "runtime error")
    ]


def _cannot_run(sentence: str) -> CannotRun:
    locked = _LOCKED_FILE.search(sentence)
    return DatabaseBusy(locked["file"]) if locked else CannotRun(sentence)


def _sentence(error: object) -> str:
    """dbt's own words in one line, without passwords."""
    text = _NOISE.sub("", str(error or "dbt did not say why"))
    return concealed(" ".join(text.split()))
