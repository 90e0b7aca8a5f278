"""Renders a model's template without dbt, without a warehouse, and without knowing every macro.

The templates come from a stranger: they run in Jinja's sandbox, with a budget of steps, and see no file, no network and no
environment. What comes out is one text of SQL, as the second run of the model would send it, and for each of its characters
the place in the file that it came from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.lexer import newline_re
from jinja2.runtime import Context, missing
from jinja2.sandbox import SandboxedEnvironment

from two_clocks.audit import known_macros
from two_clocks.audit.symbols import (
    INCREMENTAL_CLOSE,
    INCREMENTAL_OPEN,
    MARK_CLOSE,
    MARK_OPEN,
    Answer,
    Callables,
    Meaning,
    Notebook,
    Relation,
    Symbol,
    Unknown,
    without_marks,
)

MAX_STEPS = 20_000
MAX_RENDERED = 2_000_000
MAX_DEPTH = 40

_ASKS_INCREMENTAL = re.compile(r"\w*is_incremental\w*|\w*incremental\w*\(")
_SET_INCREMENTAL = re.compile(r"\{%-?\s*set\s+(\w+)\s*=[^%]*?is_incremental\s*\(")
_BLOCK_TAGS = re.compile(r"\{%[-+]?\s*(?:end)?(?:snapshot|materialization|test|docs)\b.*?%\}", re.S)
_MACRO = re.compile(r"\{%[-+]?\s*macro\s+(?P<name>\w+)\s*\((?P<body>.*?)\{%[-+]?\s*endmacro\s*[-+]?%\}", re.S)
_MARK = re.compile(r"\ue000([DE])(\d+)\ue001|([\ue002\ue003])")


class TooMuch(Exception):
    """The template does more than a model may."""


class ReturnValue(Exception):
    """dbt's return(): a macro's value, not its text."""

    def __init__(self, value: Any) -> None:
        super().__init__("return")
        self.value = value


class _Context(Context):
    def resolve_or_missing(self, key: str) -> Any:
        found = super().resolve_or_missing(key)
        if found is not missing:
            return found
        session = self.parent.get("__session__")
        return session.resolve(key) if session is not None else missing


class _Environment(SandboxedEnvironment):
    context_class = _Context
    intercepted_binops = frozenset(["*", "**", "%"])

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Call(nodes.Name("__steps__", "load"), [loop.iter], [], None, None)
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        sizes = [
            value if isinstance(value, int) else len(value)
            for value in (left, right)
            if isinstance(value, (int, str, list))
        ]
        texts = any(isinstance(value, (str, list)) for value in (left, right))
        if operator != "%" and texts and len(sizes) == 2 and sizes[0] * sizes[1] > MAX_RENDERED:
            raise TooMuch("it builds a text that is too long")
        if operator == "**" and isinstance(right, int) and abs(right) > 1000:
            raise TooMuch("it computes a number that is too large")
        if operator == "%" and isinstance(left, str) and re.search(r"%[-+ #0]*\d{5,}", left):
            raise TooMuch("it builds a text that is too long")
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, (Symbol, Unknown, Callables)):
            return not attr.startswith("__")
        return super().is_safe_attribute(obj, attr, value)

    def is_safe_callable(self, obj: Any) -> bool:
        return isinstance(obj, (Symbol, Unknown, Callables)) or super().is_safe_callable(obj)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Any:
        return Unknown(Notebook(), attribute)


def _undefined(hint: Any = None, obj: Any = None, name: str | None = None, exc: Any = None) -> Unknown:
    return Unknown(Notebook(), str(name or "an unknown name"))


def _range(*args: Any) -> list[Any]:
    unknown = next((value for value in args if isinstance(value, (Symbol, Unknown))), None)
    if unknown is not None:
        return [unknown]  # some number of times; once stands for all
    try:
        numbers = range(*(int(value) for value in args))
    except (TypeError, ValueError):
        return []
    if len(numbers) > MAX_STEPS:
        raise TooMuch("it loops too often")
    return list(numbers)


def _number(kind: type) -> Any:
    def convert(value: Any, default: Any = 0, *args: Any) -> Any:
        if isinstance(value, (Symbol, Unknown)):
            return value
        try:
            return kind(without_marks(value).strip() if isinstance(value, str) else value)
        except (TypeError, ValueError):
            return default

    return convert


def _kept(value: Any, *args: Any, **kwargs: Any) -> Any:
    return value


def _environment() -> _Environment:
    environment = _Environment(
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
        keep_trailing_newline=True,
        autoescape=False,
        cache_size=0,
    )
    environment.undefined = _undefined  # type: ignore[assignment]
    environment.globals["range"] = _range
    environment.filters |= {
        "int": _number(int),
        "float": _number(float),
        "string": lambda value: value if isinstance(value, (Symbol, Unknown)) else str(value),
        "as_text": _kept,
        "as_bool": _kept,
        "as_native": _kept,
        "as_number": _kept,
        "is_list": lambda value: isinstance(value, list),
        "tojson": str,
        "fromjson": _kept,
    }
    # What nobody knows counts as not given: that is the usual run.
    environment.tests["none"] = lambda value: value is None or isinstance(value, Unknown)
    environment.globals.pop("lipsum", None)
    return environment


ENVIRONMENT = _environment()


@dataclass
class MacroLibrary:
    """The macros of a project and of whatever packages are installed beside it, by name and by package."""

    blocks: dict[tuple[str, str], str] = field(default_factory=dict)
    _compiled: dict[tuple[str, str], Any] = field(default_factory=dict)

    def read(self, package: str, files: Iterable[Path]) -> None:
        """Takes in every macro of the files; a file that cannot be read is passed over."""
        for path in files:
            try:
                text = path.read_text(encoding="utf-8-sig", errors="replace")
            except OSError:
                continue
            self.read_text(package, text)

    def read_text(self, package: str, text: str) -> None:
        """Takes in every macro of a text."""
        for found in _MACRO.finditer(text):
            self.blocks.setdefault((package, found.group("name")), found.group(0))

    @property
    def packages(self) -> set[str]:
        """The packages that are here."""
        return {package for package, _ in self.blocks}

    def find(self, name: str, package: str | None = None) -> tuple[str, str] | None:
        """The key of a macro; the project's own come first."""
        if package is not None:
            return (package, name) if (package, name) in self.blocks else None
        return next((key for key in self.blocks if key[1] == name), None)

    def template(self, key: tuple[str, str]) -> Any:
        """The macro as a compiled template of its own; None where its text is no Jinja."""
        if key not in self._compiled:
            try:
                self._compiled[key] = ENVIRONMENT.from_string(mark(self.blocks[key], positions=False))
            except (jinja2.TemplateError, RecursionError, ValueError):
                self._compiled[key] = None
        return self._compiled[key]


@dataclass
class Surroundings:
    """What a project gives to each of its models."""

    library: MacroLibrary = field(default_factory=MacroLibrary)
    variables: dict[str, Any] = field(default_factory=dict)
    adapter: str = ""
    project_name: str = ""
    profile: str = ""


class Session:
    """One rendering: what each name in the template means."""

    def __init__(
        self,
        surroundings: Surroundings,
        config: dict[str, Any] | None = None,
        model: str = "model",
        incremental: bool = True,
    ) -> None:
        self.incremental = incremental
        self.surroundings = surroundings
        self.notebook = Notebook()
        self.known_config = config or {}
        self.model = model
        self._depth = 0
        self._names = self._context()

    def wall(self) -> Symbol:
        """The wall clock."""
        return Symbol(self.notebook, Meaning("wall"))

    def query(self, sql: Any) -> Symbol:
        """The answer of a query that nobody runs."""
        return Answer(self.notebook, Meaning("query", "0", sql=without_marks(sql)))

    def name_of(self, text: str) -> str:
        """What to call a relation's token."""
        meaning = self.notebook.meaning(text)
        return meaning.name if meaning else text

    def resolve(self, key: str) -> Any:
        """A name that the template does not define itself."""
        if key in self._names:
            return self._names[key]
        found = self.surroundings.library.find(key)
        if found:
            return self._macro(found)
        if key in self._plain_dbt:
            return self._plain_dbt[key]
        if key in self.surroundings.library.packages or key == self.surroundings.project_name:
            return self._space(key, {})
        return Unknown(self.notebook, key)

    def _space(self, name: str, functions: dict[str, Any]) -> Callables:
        def fallback(key: str) -> Any:
            found = self.surroundings.library.find(key, name)
            return self._macro(found) if found else Unknown(self.notebook, f"{name}.{key}")

        return Callables(self.notebook, name, functions, fallback)

    def _macro(self, key: tuple[str, str]) -> Any:
        template = self.surroundings.library.template(key)
        if template is None:
            return Unknown(self.notebook, key[1])

        def call(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            try:
                if self._depth > MAX_DEPTH:
                    raise TooMuch("its macros call each other without end")
                context = template.new_context({"__session__": self, "__steps__": self._steps})
                for _ in template.root_render_func(context):
                    pass
                return context.vars[key[1]](*args, **kwargs)
            except ReturnValue as value:
                return value.value
            finally:
                self._depth -= 1

        return call

    def _steps(self, values: Any) -> list[Any]:
        many = [values] if isinstance(values, Unknown) else list(values)
        self.notebook.steps += len(many)
        if self.notebook.steps > MAX_STEPS:
            raise TooMuch("it loops too often")
        return many

    def _dispatch(self, name: Any = "", macro_namespace: Any = None, **kwargs: Any) -> Any:
        for candidate in (f"{self.surroundings.adapter}__{name}", f"default__{name}"):
            found = self.surroundings.library.find(candidate)
            if found:
                return self._macro(found)
        return self._plain_dbt.get(str(name)) or Unknown(self.notebook, str(name))

    def _context(self) -> dict[str, Any]:
        notebook = self.notebook
        unknown = lambda path: Unknown(notebook, path)  # noqa: E731
        self._plain_dbt = known_macros.dbt_functions()

        def config(*args: Any, **kwargs: Any) -> str:
            for given in (*args, kwargs):
                if isinstance(given, dict):
                    notebook.config.update(given)
            return ""

        def config_get(name: Any = "", default: Any = None, *args: Any, **kwargs: Any) -> Any:
            return {**self.known_config, **notebook.config}.get(str(name), default)

        class Config(Callables):
            def __call__(self, *args: Any, **kwargs: Any) -> str:
                return config(*args, **kwargs)

        def variable(name: Any = "", *defaults: Any, **named: Any) -> Any:
            known = self.surroundings.variables
            if str(name) in known:
                value = known[str(name)]
                return self.evaluate(value) if isinstance(value, str) and "{{" in value else value
            given = [*defaults, *named.values()]
            return given[0] if given else unknown(f"var('{name}')")

        class Variables(Callables):
            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                return variable(*args, **kwargs)

        def env_var(name: Any = "", *defaults: Any) -> Any:
            return defaults[0] if defaults else unknown(f"env_var('{name}')")

        def ref(*args: Any, **kwargs: Any) -> Relation:
            return Relation(notebook, Meaning("relation", str(args[-1]) if args else "ref()", sql="ref"))

        def source(*args: Any, **kwargs: Any) -> Relation:
            return Relation(notebook, Meaning("relation", ".".join(str(value) for value in args), sql="source"))

        def is_incremental() -> bool:
            notebook.asked_incremental = True
            return self.incremental

        def returned(value: Any = None) -> None:
            raise ReturnValue(value)

        this = Relation(notebook, Meaning("this", self.model))
        target = {"name": "prod", "target_name": "prod", "type": self.surroundings.adapter or "unknown", "threads": 4}
        target["profile_name"] = self.surroundings.profile or "default"
        adapter = {
            "dispatch": self._dispatch,
            "quote": lambda name="": f'"{without_marks(name)}"',
            "get_relation": lambda *args, **kwargs: (
                this if kwargs.get("identifier") == self.model else unknown("adapter.get_relation()")
            ),
            "get_columns_in_relation": lambda *args, **kwargs: unknown("adapter.get_columns_in_relation()"),
            "already_exists": lambda *args: True,
        }
        silent = lambda name: lambda *args, **kwargs: ""  # noqa: E731
        spaces: dict[str, Any] = {
            "dbt": self._space("dbt", self._plain_dbt),
            "dbt_utils": self._space("dbt_utils", known_macros.dbt_utils_functions(self)),
            "two_clocks": self._space("two_clocks", known_macros.two_clocks_functions(self)),
            "exceptions": Callables(notebook, "exceptions", {}, silent),
            "adapter": Callables(notebook, "adapter", adapter, lambda key: unknown(f"adapter.{key}")),
            "target": Callables(notebook, "target", target, lambda key: unknown(f"target.{key}")),
            "flags": Callables(notebook, "flags", {"FULL_REFRESH": False, "EMPTY": False}, lambda key: False),
            "api": Callables(
                notebook,
                "api",
                {
                    "Relation": Callables(
                        notebook, "api.Relation", {"create": lambda *a, **k: unknown("a relation")}, unknown
                    )
                },
                unknown,
            ),
        }
        for name in ("dbt_date", "dbt_expectations", "fivetran_utils", "dbt_date_utils"):
            spaces[name] = self._space(name, known_macros.dbt_date_functions())
        builtins = {
            "ref": ref,
            "source": source,
            "function": ref,
            "metric": ref,
            "config": Config(notebook, "config", {"get": config_get, "require": config_get}, silent),
            "var": Variables(
                notebook, "var", {"has_var": lambda name="": str(name) in self.surroundings.variables}, unknown
            ),
            "env_var": env_var,
        }
        return {
            **known_macros.plain_functions(self),
            **spaces,
            **builtins,
            "builtins": Callables(notebook, "builtins", builtins, unknown),
            "this": this,
            "is_incremental": is_incremental,
            "return": returned,
            "project_name": self.surroundings.project_name,
            "model": Callables(
                notebook, "model", {"name": self.model, "config": {}}, lambda key: unknown(f"model.{key}")
            ),
            "graph": unknown("graph"),
            "context": {},
        }

    def evaluate(self, text: str) -> str:
        """Renders one short text of a configuration file."""
        try:
            template = ENVIRONMENT.from_string(text)
            return "".join(
                template.root_render_func(template.new_context({"__session__": self, "__steps__": self._steps}))
            )
        except Exception:  # a stranger's template may raise anything at all
            return text


@dataclass
class Rendered:
    """The SQL that a model's second run would send, and where each piece of it came from."""

    text: str
    notebook: Notebook
    starts: list[int]
    origins: list[tuple[int, bool]]
    incremental_spans: list[tuple[int, int]]
    trouble: str = ""

    def source_offset(self, position: int) -> int:
        """The offset in the file of a position in the SQL."""
        index = bisect_right(self.starts, position) - 1
        if index < 0:
            return 0
        origin, literal = self.origins[index]
        return origin + (position - self.starts[index] if literal else 0)

    def is_literal(self, position: int) -> bool:
        """Whether the character stands in the file as it is."""
        index = bisect_right(self.starts, position) - 1
        return index >= 0 and self.origins[index][1]

    def is_incremental(self, position: int) -> bool:
        """Whether the character is there only because the run is incremental."""
        return any(start <= position < end for start, end in self.incremental_spans)


def mark(source: str, positions: bool = True, incremental: bool = True) -> str:
    """Weaves marks into a template: where its pieces stand, and where incremental blocks begin and end."""
    names = set(_SET_INCREMENTAL.findall(source))
    asks = re.compile("|".join([_ASKS_INCREMENTAL.pattern, *(rf"\b{re.escape(name)}\b" for name in names)]))
    out: list[str] = []
    stack: list[list[Any]] = []  # [tag, is this an incremental block, are positions off inside]
    position = 0
    tag: list[str] = []
    tag_at: int | None = None
    for _, token, value in ENVIRONMENT.lexer.tokeniter(source, None):
        at = source.find(value, position)
        if at < 0:
            at = position
        out.append(source[position:at])
        position = at + len(value)
        off = not positions or any(entry[2] for entry in stack)
        if token == "data" and not off:
            lead = len(value) - len(value.lstrip())
            if lead < len(value):
                value = f"{value[:lead]}{MARK_OPEN}D{at + lead}{MARK_CLOSE}{value[lead:]}"
        elif token == "variable_begin":
            if not off:
                value = f"{MARK_OPEN}E{at}{MARK_CLOSE}{value}"
            tag_at = None
        elif token == "block_begin":
            tag, tag_at = [], len(out)
        elif token == "block_end" and tag_at is not None:
            before, after = _edges(tag, stack, asks) if incremental else ("", "")
            if not incremental:
                _edges(tag, stack, asks)
            out.insert(tag_at, before)
            value += after
            tag_at = None
        elif tag_at is not None:
            tag.append(value)
        out.append(value)
    out.append(source[position:])
    return "".join(out)


def _edges(tag: list[str], stack: list[list[Any]], asks: re.Pattern[str]) -> tuple[str, str]:
    """What to write before and after a tag, and the new state of the stack of open blocks."""
    words = [word for word in tag if not word.isspace()]
    name, text = (words[0] if words else ""), "".join(tag)
    if name == "if":
        inside = bool(asks.search(text))
        stack.append(["if", inside, False])
        return "", INCREMENTAL_OPEN if inside else ""
    if name in {"elif", "else"} and stack and stack[-1][0] == "if":
        was = stack[-1][1]
        stack[-1][1] = was or (name == "elif" and bool(asks.search(text)))
        return INCREMENTAL_CLOSE if was else "", INCREMENTAL_OPEN if stack[-1][1] else ""
    if name in {"for", "macro", "call", "filter"} or (name == "set" and "=" not in words):
        stack.append([name, False, name != "for"])
    elif name.startswith("end") and stack and stack[-1][0] == name[3:]:
        _, was, _ = stack.pop()
        return INCREMENTAL_CLOSE if was else "", ""
    return "", ""


def clean(source: str) -> str:
    """A template with plain line ends and without the characters that the renderer uses itself."""
    return re.sub("[\ue000-\ue003]", "?", newline_re.sub("\n", source))


def blank_tags(source: str) -> str:
    """The template with dbt's own block tags (snapshot, test) replaced by spaces, so that offsets stay."""
    return _BLOCK_TAGS.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), source)


def render(
    source: str,
    surroundings: Surroundings,
    config: dict[str, Any] | None = None,
    model: str = "model",
    incremental: bool = True,
) -> Rendered:
    """Renders a cleaned template as an incremental run would, or a full refresh. Never raises: `trouble` says what went wrong."""
    source = blank_tags(source)
    session = Session(surroundings, config, model, incremental)
    try:
        text = _run(mark(source), session)
        return _unmark(text, session.notebook, "")
    except Exception as error:  # a stranger's template may raise anything at all
        trouble = _sentence(error)
    session = Session(surroundings, config, model, incremental)
    return _unmark(_flat(source, session), session.notebook, trouble)


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())[:200] or type(error).__name__
    return f"its template could not be run ({text})"


def _run(marked: str, session: Session) -> str:
    template = ENVIRONMENT.from_string(marked)
    context = template.new_context({"__session__": session, "__steps__": session._steps})
    pieces, size = [], 0
    for piece in template.root_render_func(context):
        size += len(piece)
        if size > MAX_RENDERED:
            raise TooMuch("it builds a text that is too long")
        pieces.append(piece)
    return "".join(pieces)


def _flat(source: str, session: Session) -> str:
    """The template read without running it: incremental branches taken, loops once, expressions one by one."""
    out: list[str] = []
    taken: list[list[Any]] = []  # [is this branch read, has a branch been read, mark at its end]

    def reading() -> bool:
        return all(entry[0] for entry in taken)

    for kind, start, text in _pieces(source):
        if kind == "tag":
            words = text.split(None, 1)
            name = words[0] if words else ""
            if name in {"if", "for", "macro", "call", "filter"} or (name == "set" and "=" not in text):
                inside = bool(_ASKS_INCREMENTAL.search(text)) and name == "if"
                negated = bool(re.search(r"\bnot\s+is_incremental", text))
                read = negated != session.incremental if inside else name not in {"macro", "set", "call"}
                taken.append([read, read, inside])
                out.append(INCREMENTAL_OPEN if inside else "")
            elif name in {"elif", "else"} and taken:
                taken[-1][:2] = [not taken[-1][1], True]
            elif name.startswith("end") and taken:
                out.append(INCREMENTAL_CLOSE if taken.pop()[2] else "")
        elif reading():
            if kind == "value":
                shown = session.evaluate("{{" + text + "}}")
                text = (
                    session.notebook.token(Meaning("unknown", text.strip()[:60])) if shown.startswith("{{") else shown
                )
            out.append(f"{MARK_OPEN}{'E' if kind == 'value' else 'D'}{start}{MARK_CLOSE}{text}")
    return "".join(out)


def _pieces(source: str) -> Iterator[tuple[str, int, str]]:
    """The template in pieces: (data, tag or value; where it starts; its text without the braces)."""
    try:
        tokens = list(ENVIRONMENT.lexer.tokeniter(source, None))
    except jinja2.TemplateError:
        pattern = r"\{#.*?#\}|\{%[-+]?(?P<tag>.*?)[-+]?%\}|\{\{[-+]?(?P<value>.*?)[-+]?\}\}|[^{]+|\{"
        for found in re.finditer(pattern, source, re.S):
            if not found.group(0).startswith("{#"):
                kind = (
                    "tag" if found.group("tag") is not None else "value" if found.group("value") is not None else "data"
                )
                yield kind, found.start(), found.group(kind) if kind != "data" else found.group(0)
        return
    position = start = 0
    inner: list[str] = []
    for _, token, value in tokens:
        at = max(source.find(value, position), position)
        if token == "data":
            yield "data", at, value
        elif token in {"variable_begin", "block_begin"}:
            start, inner = at, []
        elif token == "variable_end":
            yield "value", start, "".join(inner)
        elif token == "block_end":
            yield "tag", start, "".join(inner)
        else:
            inner.append(value)
        position = at + len(value)


def _unmark(text: str, notebook: Notebook, trouble: str) -> Rendered:
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[tuple[int, bool]] = []
    spans: list[tuple[int, int]] = []
    length = depth = opened = position = 0
    for found in _MARK.finditer(text):
        piece = text[position : found.start()]
        pieces.append(piece)
        length += len(piece)
        position = found.end()
        if found.group(1):
            starts.append(length)
            origins.append((int(found.group(2)), found.group(1) == "D"))
            continue
        pieces.append(" ")  # a tag that strips blanks on both sides must not glue words together
        length += 1
        if found.group(3) == INCREMENTAL_OPEN:
            opened = length if depth == 0 else opened
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((opened, length))
    pieces.append(text[position:])
    return Rendered("".join(pieces), notebook, starts, origins, spans, trouble)


@lru_cache(maxsize=4096)
def _line_starts(source: str) -> tuple[int, ...]:
    return (0, *(found.end() for found in re.finditer("\n", source)))


def line_and_column(source: str, offset: int) -> tuple[int, int]:
    """Both from 1."""
    starts = _line_starts(source)
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1
