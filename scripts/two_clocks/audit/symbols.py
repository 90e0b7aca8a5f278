"""Values that a template can compute with although nobody knows them: the wall clock, a query's answer, a macro's text.

Each symbol prints as a token such as `__tc_7__`. The SQL reader meets the token again and asks the notebook what it meant.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Undefined

TOKEN = re.compile(r"__tc_(\d+)__")

# What the renderer weaves into a text and takes out again: positions, and the edges of incremental blocks.
MARK_OPEN, MARK_CLOSE = "\ue000", "\ue001"
INCREMENTAL_OPEN, INCREMENTAL_CLOSE = "\ue002", "\ue003"
_MARKS = re.compile(r"\ue000[DE]\d+\ue001|[\ue000-\ue003]")


def without_marks(text: Any) -> str:
    """The text as SQL, without what the renderer wove into it."""
    return _MARKS.sub("", str(text))


@dataclass(frozen=True)
class Meaning:
    """What a token stands for.

    kind: `this`, `relation`, `wall`, `query`, `windowed`, `window_end`, `union` or `unknown`.
    """

    kind: str
    name: str = ""
    offset: float | None = 0.0
    sql: str = ""
    details: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)


@dataclass
class Notebook:
    """What one rendering met: its tokens, its config() calls, the macros that nobody could read."""

    meanings: list[Meaning] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    statements: dict[str, str] = field(default_factory=dict)
    unknown_names: set[str] = field(default_factory=set)
    asked_incremental: bool = False
    steps: int = 0

    def token(self, meaning: Meaning) -> str:
        """A text that stands for the meaning until the SQL is read."""
        if meaning not in self.meanings:
            self.meanings.append(meaning)
        return f"__tc_{self.meanings.index(meaning)}__"

    def meaning(self, text: str) -> Meaning | None:
        """The meaning of the first token in a text, if it has one."""
        found = TOKEN.search(text)
        return self.meanings[int(found.group(1))] if found and int(found.group(1)) < len(self.meanings) else None


def seconds_of(value: Any) -> float | None:
    """The length of a timedelta-like value in seconds; None where it cannot be told."""
    return value.total_seconds() if isinstance(value, dt.timedelta) else None


class Symbol:
    """A value that keeps its meaning through whatever a template does with it."""

    def __init__(self, notebook: Notebook, meaning: Meaning) -> None:
        self._notebook = notebook
        self._meaning = meaning

    def _shifted(self, by: Any, sign: int) -> Symbol:
        seconds = seconds_of(by)
        offset = None if seconds is None or self._meaning.offset is None else self._meaning.offset + sign * seconds
        values = {**self._meaning.__dict__, "offset": offset}
        return type(self)(self._notebook, Meaning(**values))

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "jinja_")):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter([self])

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    def __add__(self, other: Any) -> Any:
        return str(self) + other if isinstance(other, str) else self._shifted(other, 1)

    def __radd__(self, other: Any) -> Any:
        return other + str(self) if isinstance(other, str) else self._shifted(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._shifted(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return self._shifted(None, 1)

    def __mul__(self, other: Any) -> Any:
        return self._shifted(None, 1)

    __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __neg__ = __pow__ = (  # type: ignore[assignment]
        lambda self, *_: self._shifted(None, 1)
    )

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Symbol) and other._meaning == self._meaning

    def __hash__(self) -> int:
        return hash(self._meaning)

    def __str__(self) -> str:
        return self._notebook.token(self._meaning)

    __repr__ = __str__
    __html__ = __str__


class Answer(Symbol):
    """The answer of a query, or a part of it: which of its columns is meant is kept."""

    def __init__(self, notebook: Notebook, meaning: Meaning, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(notebook, meaning)
        self._path = path

    def _part(self, step: str | int) -> Answer:
        path = (*self._path, step)[:6]
        places = [part for part in path if isinstance(part, int)]
        named = [part for part in path if isinstance(part, str) and part not in _PARTS_OF_ANSWERS]
        first = "columns" in path or "named" in path
        # rows[0][1] and data[0][1]: the second number; columns[1].values()[0]: the first
        place = places[0] if first and places else places[1] if len(places) > 1 else 0
        values = {**self._meaning.__dict__, "name": named[-1] if named else str(place)}
        return Answer(self._notebook, Meaning(**values), path)

    def _shifted(self, by: Any, sign: int) -> Symbol:
        moved = Symbol(self._notebook, self._meaning)._shifted(by, sign)
        return Answer(self._notebook, moved._meaning, self._path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "jinja_")):
            raise AttributeError(name)
        return self._part(name)

    def __getitem__(self, key: Any) -> Any:
        return self._part(key if isinstance(key, int) and not isinstance(key, bool) else without_marks(key))

    def __iter__(self) -> Iterator[Any]:
        return iter([self._part(0)])


# Attributes of agate tables and of Python values, which name no column of the query.
_PARTS_OF_ANSWERS = frozenset(
    [
        "columns",
        "rows",
        "table",
        "data",
        "values",
        "items",
        "keys",
        "first",
        "last",
        "response",
        "strftime",
        "isoformat",
        "date",
        "replace",
        "strip",
        "upper",
        "lower",
        "split",
        "format",
        "astimezone",
        "timestamp",
        "as_text",
        "column_names",
        "print_table",
        "year",
        "month",
        "day",
        "hour",
        "named",
    ]
)


class Unknown(Undefined):
    """A macro, var or attribute that the files do not explain: goes on, prints as a placeholder, is never `defined`."""

    __slots__ = ("_notebook", "_path")

    def __init__(self, notebook: Notebook, path: str) -> None:
        super().__init__(name=path)
        self._notebook = notebook
        self._path = path

    def _more(self, path: str) -> Unknown:
        return Unknown(self._notebook, path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "jinja_")):
            raise AttributeError(name)
        return self._more(f"{self._path}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._notebook.unknown_names.add(self._path)
        return self._more(f"{self._path}()" if not self._path.endswith(")") else self._path)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __add__(self, other: Any) -> Any:
        return str(self) + other if isinstance(other, str) else self

    def __radd__(self, other: Any) -> Any:
        return other + str(self) if isinstance(other, str) else self

    def _same(self, *_: Any) -> Any:
        return self

    __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = _same

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __contains__ = __lt__

    def __eq__(self, other: Any) -> bool:
        self._notebook.unknown_names.add(self._path)
        return self is other

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return id(self)

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __str__(self) -> str:
        self._notebook.unknown_names.add(self._path)
        return self._notebook.token(Meaning("unknown", self._path))

    __repr__ = __str__
    __html__ = __str__


class Relation(Symbol):
    """`this`, or what ref() and source() return."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "jinja_")):
            raise AttributeError(name)
        if name in {"include", "quote", "render", "incorporate", "without_identifier", "api", "load_cached_relation"}:
            return lambda *args, **kwargs: self
        if name in {"is_table", "is_view", "is_cte"}:
            return name == "is_table"
        return self


class Callables:
    """A name space of functions (dbt.*, dbt_utils.*, modules.*); names that it lacks are unknown."""

    def __init__(
        self, notebook: Notebook, name: str, functions: dict[str, Any], fallback: Callable[[str], Any]
    ) -> None:
        self._notebook, self._name, self._functions, self._fallback = notebook, name, functions, fallback

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "jinja_")):
            raise AttributeError(name)
        if name in self._functions:
            return self._functions[name]
        return self._fallback(name)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, str(key))

    def get(self, key: str, default: Any = None) -> Any:
        return self._functions.get(key, default)
