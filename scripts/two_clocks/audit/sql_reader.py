"""Reads rendered SQL in any dialect: which conditions bound which column, and what each bound is made of.

A value is a set of terms. A term says where a part of the value comes from (the wall clock, a column of the target, a column
of a source, something unknown) and how far it was moved from there, in seconds. Columns are followed through CTEs, subqueries
and unions to where they begin.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from two_clocks.audit.render import Rendered
from two_clocks.audit.symbols import TOKEN, Meaning, Notebook

logging.getLogger("sqlglot").setLevel(logging.ERROR)

DIALECTS = (
    "snowflake",
    "bigquery",
    "postgres",
    "databricks",
    "redshift",
    "duckdb",
    "trino",
    "clickhouse",
    "tsql",
    "mysql",
    "oracle",
)
ADAPTER_DIALECTS = {
    "postgres": "postgres",
    "duckdb": "duckdb",
    "snowflake": "snowflake",
    "bigquery": "bigquery",
    "redshift": "redshift",
    "databricks": "databricks",
    "spark": "databricks",
    "athena": "athena",
    "trino": "trino",
    "presto": "presto",
    "starburst": "trino",
    "clickhouse": "clickhouse",
    "sqlserver": "tsql",
    "synapse": "tsql",
    "fabric": "tsql",
    "tsql": "tsql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "oracle": "oracle",
    "sqlite": "sqlite",
    "greenplum": "postgres",
    "materialize": "postgres",
    "vertica": "postgres",
    "teradata": "teradata",
    "exasol": "exasol",
    "doris": "doris",
    "starrocks": "starrocks",
    "sparksql": "databricks",
    "hive": "hive",
    "dremio": "dremio",
    "fabricspark": "databricks",
    "impala": "hive",
    "ansi": "",
}

_WALL_FUNCTIONS = {
    "now",
    "getdate",
    "getutcdate",
    "sysdate",
    "sysdatetime",
    "sysutcdatetime",
    "sysdatetimeoffset",
    "systimestamp",
    "current_timestamp",
    "current_date",
    "current_datetime",
    "current_time",
    "localtimestamp",
    "localtime",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "now64",
    "nowinblock",
    "today",
    "yesterday",
    "curdate",
    "utc_timestamp",
    "utc_date",
    "get_current_timestamp",
    "get_current_time",
    "tc_now",
}
_WALL_BARE = {
    "sysdate",
    "systimestamp",
    "current_date",
    "current_timestamp",
    "localtimestamp",
    "current_datetime",
    "localtime",
}
_WALL_NODES = tuple(
    getattr(exp, name)
    for name in (
        "CurrentDate",
        "CurrentDatetime",
        "CurrentTime",
        "CurrentTimestamp",
        "CurrentTimestampLTZ",
        "Localtime",
        "Localtimestamp",
        "Systimestamp",
        "UtcDate",
        "UtcTime",
        "UtcTimestamp",
    )
    if hasattr(exp, name)
)
_ADD_NODES = tuple(
    getattr(exp, n) for n in ("DateAdd", "DatetimeAdd", "TimestampAdd", "TimeAdd", "TsOrDsAdd") if hasattr(exp, n)
)
_SUB_NODES = tuple(getattr(exp, n) for n in ("DateSub", "DatetimeSub", "TimestampSub", "TimeSub") if hasattr(exp, n))
_DIFF_NODES = tuple(
    getattr(exp, n) for n in ("DateDiff", "DatetimeDiff", "TimestampDiff", "TimeDiff", "TsOrDsDiff") if hasattr(exp, n)
)
_TRUNC_NODES = tuple(
    getattr(exp, n) for n in ("DateTrunc", "DatetimeTrunc", "TimestampTrunc", "TimeTrunc") if hasattr(exp, n)
)
_ADD_FUNCTIONS = {
    "dateadd": 1,
    "date_add": 1,
    "timestampadd": 1,
    "timestamp_add": 1,
    "datetime_add": 1,
    "tc_dateadd": 1,
    "adddate": 1,
}
_SUB_FUNCTIONS = {
    "datesub": -1,
    "date_sub": -1,
    "timestampsub": -1,
    "timestamp_sub": -1,
    "datetime_sub": -1,
    "subdate": -1,
}
_UNIT_FUNCTION = re.compile(r"^(add|subtract)(seconds|minutes|hours|days|weeks|months|quarters|years)$")
_DIFF_FUNCTIONS = {
    "datediff",
    "date_diff",
    "timestampdiff",
    "timestamp_diff",
    "datetime_diff",
    "tc_datediff",
    "age",
    "months_between",
}
_MAX_NAMES = {"max", "max_by", "argmax", "maxornull", "maxif", "any_value", "tc_any_value"}

UNITS = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1,
    "sec": 1,
    "s": 1,
    "ss": 1,
    "minute": 60,
    "min": 60,
    "mi": 60,
    "n": 60,
    "hour": 3600,
    "hr": 3600,
    "h": 3600,
    "hh": 3600,
    "day": 86400,
    "d": 86400,
    "dd": 86400,
    "dayofyear": 86400,
    "week": 7 * 86400,
    "w": 7 * 86400,
    "wk": 7 * 86400,
    "ww": 7 * 86400,
    "isoweek": 7 * 86400,
    "month": 30 * 86400,
    "mon": 30 * 86400,
    "mm": 30 * 86400,
    "m": 30 * 86400,
    "quarter": 91 * 86400,
    "qq": 91 * 86400,
    "q": 91 * 86400,
    "year": 365 * 86400,
    "yr": 365 * 86400,
    "y": 365 * 86400,
    "yy": 365 * 86400,
    "yyyy": 365 * 86400,
}
_DATE = re.compile(r"\d{4}-\d\d")
_SPAN = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)")


def unit_seconds(unit: Any) -> float | None:
    """The length of a date part, however it is spelled."""
    text = str(unit).strip("'\" ").lower()
    text = re.sub(r"\(.*\)$", "", text)
    return UNITS.get(text) or UNITS.get(text.rstrip("s"))


def span_seconds(text: str) -> float | None:
    """The length of a text such as `3 days` or `1 day 2 hours`."""
    total, found = 0.0, False
    for number, unit in _SPAN.findall(text):
        seconds = unit_seconds(unit)
        if seconds is None:
            return None
        total, found = total + float(number) * seconds, True
    return total if found else None


@dataclass(frozen=True)
class Term:
    """A part of a value.

    kind: `wall`, `target`, `column`, `source_max`, `elsewhere` (a value that another table keeps), `unknown`, `literal`, `window`,
    `age`, `target_min` or `target_row`.
    how: `greatest`, `least`, `fallback` or empty.
    """

    kind: str
    name: str = ""
    table: str = ""
    offset: float | None = 0.0
    trunc: float = 0.0
    guarded: bool = False
    filtered: bool = False
    how: str = ""
    position: int = -1
    through_query: bool = False
    date_only: bool = False

    def moved(self, by: float | None) -> Term:
        """The same term, further from its origin."""
        return replace(self, offset=None if by is None or self.offset is None else self.offset + by)


Value = tuple[Term, ...]


@dataclass
class Bound:
    """One side of a window: `row >= bound` is a lower one."""

    side: str
    strict: bool
    row: Value
    value: Value
    node: exp.Expression
    position: int
    incremental: bool
    select: exp.Expression
    alternatives: int = 0
    guarded_by_or: bool = False
    equality: bool = False
    flipped: bool = False
    in_join: bool = False

    def terms(self, kind: str, fallback: bool = False) -> list[Term]:
        """The terms of the bound of one kind."""
        return [term for term in self.value if term.kind == kind and (fallback or term.how != "fallback")]


@dataclass
class Reading:
    """What the SQL of one model says."""

    trees: list[exp.Expression]
    dialect: str
    bounds: list[Bound] = field(default_factory=list)
    anti_joins: list[int] = field(default_factory=list)
    uses_this: bool = False
    fragments: bool = False
    fixed_lower: bool = False
    other_conditions: list[tuple[int, str]] = field(default_factory=list)
    unknown_conditions: list[tuple[int, str]] = field(default_factory=list)
    trouble: str = ""


class Reader:
    """Reads one rendered text."""

    def __init__(self, rendered: Rendered, dialect: str, model: str = "") -> None:
        self.rendered = rendered
        self.notebook: Notebook = rendered.notebook
        self.dialect = dialect
        self.model = model
        self._memo: dict[tuple[int, str], Value] = {}
        self._selects: dict[int, dict[str, Any]] = {}
        self._shift = 0
        self._in_progress: set[tuple[int, str]] = set()

    # reading ---------------------------------------------------------------------------------------------------------

    def read(self) -> Reading:
        """Parses the text, in the first dialect that can, and collects every bound."""
        trees, dialect, trouble = parse(self.rendered, self.dialect)
        self.dialect = dialect
        reading = Reading(trees, dialect, trouble=trouble)
        if not trees and trouble:
            reading.fragments = True
            for start, end in self.rendered.incremental_spans:
                self._read_fragment(reading, self.rendered.text[start:end], start)
            if reading.trees:
                reading.trouble = ""
            return reading
        for tree in trees:
            self._collect(reading, tree)
        return reading

    def _read_fragment(self, reading: Reading, text: str, start: int) -> None:
        found = re.match(r"\s*(where|and|or|qualify|having)\b", text, re.I)
        if not found:
            return
        head = "select * from tc_fragment where "
        for dialect in _candidates(self.dialect):
            try:
                tree = sqlglot.parse_one(head + text[found.end() :], read=dialect or None)
            except (SqlglotError, RecursionError):
                continue
            self._shift = start + found.end() - len(head)
            reading.trees.append(tree)
            reading.dialect = dialect
            self._collect(reading, tree)
            self._shift = 0
            return

    def _collect(self, reading: Reading, tree: exp.Expression) -> None:
        for node in tree.walk():
            if isinstance(node, exp.Table):
                meaning = self._meaning_of_table(node)
                reading.uses_this = reading.uses_this or bool(meaning and meaning.kind == "this")
            if isinstance(node, exp.Select):
                for place in ("where", "having", "qualify"):
                    clause = node.args.get(place)
                    if clause is not None:
                        self._conditions(reading, clause.this, node)
                for join in node.args.get("joins") or []:
                    if join.args.get("on") is not None:
                        self._conditions(reading, join.args["on"], node, in_join=True)
            elif isinstance(node, (exp.Where, exp.Having, exp.Qualify)) and not isinstance(node.parent, exp.Select):
                self._conditions(reading, node.this, node)

    def _conditions(
        self, reading: Reading, condition: exp.Expression, select: exp.Expression, in_join: bool = False
    ) -> None:
        for part in _conjuncts(condition):
            choices = list(_disjuncts(part))
            guard = len(choices) > 1 and any(self._is_guard(choice) for choice in choices)
            found: list[Bound] = []
            for choice in choices:
                for piece in _conjuncts(choice):
                    found += self._bounds(reading, piece, select, in_join)
            for bound in found:
                bound.alternatives = len(choices) - 1
                bound.guarded_by_or = bound.guarded_by_or or guard
            if len(choices) > 1 and any(b.side == "lower" and b.terms("target") for b in found):
                # `from the maximum, or from now - 3 days`: the earlier of both decides, so the clock takes nothing away
                found = [b for b in found if not (b.side == "lower" and b.terms("wall"))]
            reading.bounds += found

    def _bounds(self, reading: Reading, node: exp.Expression, select: exp.Expression, in_join: bool) -> list[Bound]:
        node = _unwrapped(node)
        negated = isinstance(node, exp.Not)
        inner = _unwrapped(node.this) if negated else node
        if isinstance(inner, exp.Coalesce) and isinstance(_unwrapped(inner.this), exp.Predicate):
            # coalesce(x > (select max(x) from this), true): what is not known is let through
            bounds = self._bounds(reading, inner.this, select, in_join)
            for bound in bounds:
                bound.guarded_by_or = bound.guarded_by_or or any(str(part) == "TRUE" for part in inner.expressions)
            return bounds
        position = self._position(inner)
        incremental = self.rendered.is_incremental(position)
        if self._is_anti_join(inner, negated):
            reading.anti_joins.append(position)
            return []
        pairs: list[tuple[str, bool, exp.Expression, exp.Expression, bool]] = []
        if isinstance(inner, (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ)):
            side = {exp.GT: "lower", exp.GTE: "lower", exp.LT: "upper", exp.LTE: "upper", exp.EQ: "both"}[type(inner)]
            pairs.append(
                (side, isinstance(inner, (exp.GT, exp.LT)), inner.this, inner.expression, isinstance(inner, exp.EQ))
            )
        elif isinstance(inner, exp.Between):
            pairs.append(("lower", False, inner.this, inner.args["low"], False))
            pairs.append(("upper", False, inner.this, inner.args["high"], False))
        elif isinstance(inner, exp.In) and not negated:
            values = inner.expressions or ([inner.args["query"]] if inner.args.get("query") is not None else [])
            pairs += [("both", False, inner.this, value, True) for value in values]
        bounds: list[Bound] = []
        for side, strict, left, right, equality in pairs:
            bounds += self._pair(
                side, strict, left, right, equality, negated, inner, position, incremental, select, in_join
            )
        if isinstance(inner, exp.In):
            bounds = _widest(bounds)
        if not bounds and not isinstance(inner, (exp.Boolean, exp.Literal)) and not self._always_true(pairs, select):
            unknown = self._unknown_in(inner)
            if any(side == "lower" and _DATE.match(right.name) for side, _, _, right, _ in pairs):
                reading.fixed_lower = True
            elif unknown and incremental:
                reading.unknown_conditions.append((position, unknown))
            elif incremental and not in_join:
                reading.other_conditions.append((position, inner.sql(dialect=self.dialect or None)[:120]))
        for bound in bounds:
            unknown = next((term.name for term in bound.value if term.kind == "unknown"), "")
            if unknown and bound.incremental and not bound.terms("target") and not bound.terms("wall"):
                reading.unknown_conditions.append((position, unknown))
        return bounds

    def _pair(
        self,
        side: str,
        strict: bool,
        left: exp.Expression,
        right: exp.Expression,
        equality: bool,
        negated: bool,
        node: exp.Expression,
        position: int,
        incremental: bool,
        select: exp.Expression,
        in_join: bool,
    ) -> list[Bound]:
        first, second = self.value(left, select), self.value(right, select)
        flipped = False
        if _is_age(first) or _is_age(second):
            age, limit = (first, second) if _is_age(first) else (second, first)
            if not _is_age(first):
                side = {"lower": "upper", "upper": "lower", "both": "both"}[side]
            number = next((term.offset for term in limit if term.kind == "literal"), None)
            term = next(term for term in age if term.kind == "age")
            scale = term.offset or 86400.0
            if number is not None and abs(number) > 1000 and scale == 86400.0:
                scale = 1.0
            wall = Term("wall", offset=None if number is None else -abs(number) * scale, position=term.position)
            row = tuple(part for part in age if part.kind == "column")
            first, second = row, (wall,)
            # an age of at most 3 days: from now - 3 days
            side = {"upper": "lower", "lower": "upper", "both": "both"}[side]
        elif isinstance(node, exp.Between) and not _is_row(first):
            return []  # a moment between two columns: a version that was valid then, no window
        else:
            first, second = self._as_row(left, first, second), self._as_row(right, second, first)
            if not _is_row(first) and _is_row(second):
                first, second, flipped = second, first, True
                side = {"lower": "upper", "upper": "lower", "both": "both"}[side]
        if negated:
            side, strict = {"lower": "upper", "upper": "lower", "both": "none"}[side], not strict
        if not _is_row(first) or side == "none" or not second:
            return []
        if all(term.kind in {"column", "target_row"} for term in second) or all(
            term.kind == "literal" for term in second
        ):
            return []
        if equality and (_has(second, "column") or all(term.kind in {"elsewhere", "literal"} for term in second)):
            return []
        moved = next((term.offset for term in first if term.kind == "column"), 0.0)
        if moved != 0.0:
            second = tuple(term.moved(None if moved is None else -moved) for term in second)
        incremental = incremental or any(term.kind == "target" for term in second)
        incremental = incremental or any(
            term.position >= 0 and self.rendered.is_incremental(term.position) for term in second
        )
        return [
            Bound(
                one,
                strict,
                first,
                second,
                node,
                position,
                incremental,
                select,
                equality=equality,
                flipped=flipped,
                in_join=in_join,
            )
            for one in (("lower", "upper") if side == "both" else (side,))
        ]

    def _as_row(self, node: exp.Expression, value: Value, other: Value) -> Value:
        """A column of a grouped query, or an aggregate in HAVING, is a row's value where the target stands on the other side."""
        if not _has(other, "target") or _has(value, "target") or node.find(exp.Query) is not None:
            return value
        return tuple(replace(t, kind="column", offset=0.0) if t.kind == "source_max" else t for t in value)

    def _always_true(self, pairs: list[Any], select: exp.Expression) -> bool:
        """`current_timestamp > (select max(loaded_at) from this)` chooses no rows: it is a gate, and it is open."""
        for _, _, left, right, _ in pairs:
            first, second = self.value(left, select), self.value(right, select)
            if _has(first + second, "wall") and _has(first + second, "target") and not _has(first + second, "column"):
                return True
        return False

    def _is_anti_join(self, node: exp.Expression, negated: bool) -> bool:
        if negated and isinstance(node, (exp.In, exp.Exists)):
            query = node.args.get("query") if isinstance(node, exp.In) else node.this
            if isinstance(node, exp.Exists) and query is not None and query.find(exp.Where) is None:
                return False
            return query is not None and self._reads_this(query)
        if isinstance(node, exp.Is) and not negated and isinstance(_unwrapped(node.this), exp.Column):
            return any(
                term.kind == "target_row" for term in self.value(_unwrapped(node.this), node.find_ancestor(exp.Select))
            )
        if isinstance(node, exp.NEQ) and isinstance(node.expression, exp.All):
            return self._reads_this(node.expression)
        return False

    def _reads_this(self, query: exp.Expression) -> bool:
        for table in query.find_all(exp.Table):
            meaning = self._meaning_of_table(table)
            if meaning and meaning.kind == "this":
                return True
            target = self._lookup(table.name, table) if not meaning else None
            if (
                target is not None
                and target is not query
                and any(
                    (m := self._meaning_of_table(inner)) and m.kind == "this" for inner in target.find_all(exp.Table)
                )
            ):
                return True
        return False

    def _is_guard(self, node: exp.Expression) -> bool:
        """`not exists (select 1 from this)`, `(select count(*) from this) = 0`, `(select max(x) from this) is null`."""
        node = _unwrapped(node)
        if isinstance(node, exp.Not):
            return isinstance(_unwrapped(node.this), exp.Exists) and self._reads_this(node)
        if isinstance(node, exp.Is) or (isinstance(node, exp.EQ) and node.find(exp.Count)):
            if self._reads_this(node):
                return True
            select = node.find_ancestor(exp.Select)
            return any(term.kind in {"target", "target_row"} for term in self.value(_unwrapped(node.this), select))
        return False

    def _unknown_in(self, node: exp.Expression) -> str:
        for part in node.walk():
            text = part.name if isinstance(part, (exp.Identifier, exp.Literal)) else ""
            meaning = self.notebook.meaning(text) if text else None
            if meaning and meaning.kind == "unknown":
                return meaning.name
        return ""

    def _position(self, node: exp.Expression) -> int:
        starts = [part.meta["start"] for part in node.walk() if part.meta.get("start") is not None]
        return (min(starts) if starts else 0) + self._shift

    # values ----------------------------------------------------------------------------------------------------------

    def value(self, node: exp.Expression | None, select: exp.Expression | None, depth: int = 0) -> Value:
        """The terms that an expression is made of."""
        if node is None or depth > 60:
            return ()
        below = depth + 1
        if isinstance(node, (exp.Paren, exp.Alias)):
            return self.value(node.this, select, below)
        if isinstance(node, _WALL_NODES):
            offset = -86400.0 if node.name.lower() == "yesterday" else 0.0
            return (
                Term("wall", offset=offset, position=self._position(node), date_only=isinstance(node, exp.CurrentDate)),
            )
        if isinstance(node, exp.Literal):
            return self._literal(node, below)
        if isinstance(node, exp.Column):
            return self._column(node, select, below)
        if isinstance(node, exp.Identifier):
            return self._token_value(node.name, below) or ()
        if isinstance(node, (exp.Subquery, exp.Query)):
            return self._scalar(node, below)
        if isinstance(node, exp.All):
            # greater than all of none is true: an empty target lets everything through
            inner = self.value(node.this, select, below)
            return tuple(replace(t, kind="target", guarded=True) if t.kind == "target_row" else t for t in inner)
        if isinstance(node, exp.Any):
            return self.value(node.this, select, below)
        if isinstance(node, exp.Coalesce):
            return self._coalesce([node.this, *node.expressions], select, below)
        if isinstance(node, (exp.Greatest, exp.Least)):
            how = "greatest" if isinstance(node, exp.Greatest) else "least"
            parts = [self.value(part, select, below) for part in (node.this, *node.expressions)]
            return tuple(replace(term, how=term.how or how) for part in parts for term in part)
        if isinstance(node, exp.Case):
            branches = [branch.args.get("true") for branch in node.args.get("ifs") or []] + [node.args.get("default")]
            return self._branches(branches, select, below)
        if isinstance(node, exp.If):
            return self._branches([node.args.get("true"), node.args.get("false")], select, below)
        if isinstance(node, (exp.Max, exp.Min)) or (
            isinstance(node, exp.AggFunc) and node.sql_name().lower() in _MAX_NAMES
        ):
            return self._aggregate(node.this, select, below, isinstance(node, exp.Min))
        if isinstance(node, exp.Window):
            return self.value(node.this, select, below)
        if isinstance(node, (exp.Count, exp.CountIf, exp.Sum, exp.Avg)):
            return ()
        if isinstance(node, (exp.Add, exp.Sub)):
            return self._sum(node, select, below)
        if isinstance(node, _ADD_NODES):
            return self._shifted(node.this, node.expression, node.args.get("unit"), 1, select, below)
        if isinstance(node, _SUB_NODES):
            return self._shifted(node.this, node.expression, node.args.get("unit"), -1, select, below)
        if isinstance(node, exp.AddMonths):
            return self._shifted(node.this, node.expression, "month", 1, select, below)
        if isinstance(node, _DIFF_NODES):
            return self._difference(list(node.args.values()), node.args.get("unit"), select, below)
        if isinstance(node, _TRUNC_NODES):
            unit = unit_seconds(node.args.get("unit") or "day") or 86400.0
            return tuple(replace(term, trunc=max(term.trunc, unit)) for term in self.value(node.this, select, below))
        if isinstance(node, exp.Neg):
            return tuple(
                replace(term, offset=None if term.offset is None else -term.offset)
                for term in self.value(node.this, select, below)
            )
        if isinstance(node, exp.Cast):
            terms = self.value(node.this, select, below)
            if node.to.is_type(exp.DType.DATE) if hasattr(exp, "DType") else node.to.is_type("date"):
                return tuple(replace(term, trunc=max(term.trunc, 86400.0)) for term in terms)
            return terms
        if isinstance(node, exp.Interval):
            return (Term("literal", offset=self._interval(node)),)
        if isinstance(node, exp.Anonymous):
            return self._anonymous(node, select, below)
        if isinstance(node, (exp.Date, exp.TsOrDsToDate)):
            terms = self._all(node, select, below)
            return tuple(replace(term, trunc=max(term.trunc, 86400.0)) for term in terms)
        if isinstance(node, (exp.Connector, exp.Predicate)):
            return ()
        return self._all(node, select, below)

    def _all(self, node: exp.Expression, select: exp.Expression | None, depth: int) -> Value:
        """Whatever a function computes, it computes it from its arguments."""
        out: list[Term] = []
        for child in node.iter_expressions():
            if isinstance(child, (exp.DataType, exp.Var, exp.Identifier)):
                continue
            out += [term for term in self.value(child, select, depth) if term.kind != "literal"]
        return tuple(out)

    def _anonymous(self, node: exp.Anonymous, select: exp.Expression | None, depth: int) -> Value:
        name = str(node.this).lower()
        arguments = node.expressions
        token = self._token_value(str(node.this), depth)
        if token is not None:
            return token
        if name in _WALL_FUNCTIONS or (name in {"unix_timestamp", "to_unix_timestamp"} and not arguments):
            offset = -86400.0 if name == "yesterday" else 0.0
            return (
                Term(
                    "wall",
                    offset=offset,
                    position=self._position(node),
                    date_only=name in {"today", "curdate", "current_date"},
                ),
            )
        if name in _ADD_FUNCTIONS or name in _SUB_FUNCTIONS:
            sign = _ADD_FUNCTIONS.get(name) or _SUB_FUNCTIONS[name]
            if len(arguments) >= 3:
                return self._shifted(arguments[2], arguments[1], arguments[0], sign, select, depth)
            if len(arguments) == 2:
                return self._shifted(arguments[0], arguments[1], "day", sign, select, depth)
        found = _UNIT_FUNCTION.match(name)
        if found and len(arguments) == 2:
            sign = 1 if found.group(1) == "add" else -1
            return self._shifted(arguments[0], arguments[1], found.group(2), sign, select, depth)
        if name in _DIFF_FUNCTIONS and len(arguments) >= 2:
            unit = arguments[0] if len(arguments) > 2 else "day"
            return self._difference(arguments, unit, select, depth)
        if name in {"tc_date_trunc", "date_trunc", "trunc"} and arguments:
            value = arguments[1] if len(arguments) > 1 and unit_seconds(arguments[0].name) else arguments[0]
            unit = unit_seconds(arguments[0].name) or 86400.0
            return tuple(replace(term, trunc=max(term.trunc, unit)) for term in self.value(value, select, depth))
        if name.startswith("tostartof") and arguments:
            unit = unit_seconds(name.removeprefix("tostartof")) or 60.0
            return tuple(replace(term, trunc=max(term.trunc, unit)) for term in self.value(arguments[0], select, depth))
        if name in {"todate", "to_date"} and arguments:
            return tuple(
                replace(term, trunc=max(term.trunc, 86400.0)) for term in self.value(arguments[0], select, depth)
            )
        if name in _MAX_NAMES and arguments:
            return self._aggregate(arguments[0], select, depth, False)
        if name in {"ifnull", "nvl", "isnull", "coalesce", "zn"} and len(arguments) >= 2:
            return self._coalesce(arguments, select, depth)
        if name == "nullif" and arguments:
            return self.value(arguments[0], select, depth)
        return self._all(node, select, depth)

    def _literal(self, node: exp.Literal, depth: int) -> Value:
        if node.is_string:
            token = self._token_value(node.name, depth)
            return token if token is not None else (Term("literal", node.name, offset=span_seconds(node.name)),)
        try:
            return (Term("literal", node.name, offset=float(node.name)),)
        except ValueError:
            return (Term("literal", node.name, offset=None),)

    def _token_value(self, text: str, depth: int) -> Value | None:
        meaning = self.notebook.meaning(text)
        if meaning is None:
            return None
        if meaning.kind == "wall":
            return (Term("wall", offset=meaning.offset),)
        if meaning.kind == "query":
            return tuple(
                replace(term.moved(meaning.offset), through_query=True)
                for term in self._stored_query(meaning.sql, meaning.name, depth)
            )
        if meaning.kind == "window_end":
            return (Term("window", meaning.name),)
        if meaning.kind == "unknown":
            return (Term("unknown", meaning.name),)
        return None

    def _stored_query(self, sql: str, column: str, depth: int) -> Value:
        for dialect in _candidates(self.dialect):
            try:
                tree = sqlglot.parse_one(sql, read=dialect or None)
            except (SqlglotError, RecursionError):
                continue
            shift, self._shift = self._shift, -(10**9)  # nothing in it stands in the model's own text
            try:
                value = self._answer(tree, column, depth)
                return tuple(replace(term, position=-1) for term in value)
            finally:
                self._shift = shift
        return (Term("unknown", "a query in the template"),)

    def _answer(self, tree: exp.Expression, column: str, depth: int) -> Value:
        """One column of a stored query's answer, by its place or its name."""
        if not isinstance(tree, exp.Select) or column == "0":
            return self.value(tree, None, depth)
        chosen = [part for part in tree.selects if part.alias_or_name.lower() == column.lower()]
        if column.isdigit() and int(column) < len(tree.selects):
            chosen = [tree.selects[int(column)]]
        return self._projected(chosen[0], tree, depth) if chosen else self.value(tree, None, depth)

    def _column(self, node: exp.Column, select: exp.Expression | None, depth: int) -> Value:
        name = node.name
        token = self._token_value(name, depth)
        if token is not None:
            return token
        if not node.table:
            if name.lower() in _WALL_BARE and not (isinstance(node.this, exp.Identifier) and node.this.quoted):
                return (Term("wall", position=self._position(node), date_only=name.lower() == "current_date"),)
            if name.lower() == "_dbt_max_partition":
                return (Term("target", name, guarded=True, date_only=True, trunc=1.0),)
        return self.resolve(name, node.table, select, depth)

    def resolve(self, name: str, table: str, select: exp.Expression | None, depth: int) -> Value:
        """Where a column of a SELECT comes from."""
        place: exp.Expression | None = select
        while place is not None:
            if isinstance(place, exp.Select):
                found = self._in_select(name, table, place, depth)
                if found is not None:
                    return found
            place = place.parent_select if hasattr(place, "parent_select") else None
        return (Term("column", name, table),)

    def _in_select(self, name: str, table: str, select: exp.Select, depth: int) -> Value | None:
        sources = self._sources(select)
        if table:
            source = sources.get(table.lower())
            return None if source is None else self._from_source(name, source, depth) or (Term("column", name, table),)
        known: list[Value] = []
        for source in sources.values():
            if isinstance(source, exp.Query):
                value = self._from_source(name, source, depth)
                if value:
                    known.append(value)
        tables = [source for source in sources.values() if not isinstance(source, exp.Query)]
        if known:
            explicit = [
                v for v in known if not all(term.kind == "column" and term.name.lower() == name.lower() for term in v)
            ]
            return (explicit or known)[0]
        if len(tables) == 1:
            return self._from_source(name, tables[0], depth)
        if not sources or not tables:
            return None
        owners = [t for t in tables if (m := self._meaning_of_table(t)) is None or m.kind != "this"]
        return self._from_source(name, (owners or tables)[0], depth)

    def _sources(self, select: exp.Select) -> dict[str, Any]:
        key = id(select)
        if key in self._selects:
            return self._selects[key]
        out: dict[str, Any] = {}
        clause = select.args.get("from_") or select.args.get("from")
        pieces = [clause.this] if clause is not None else []
        pieces += [join.this for join in select.args.get("joins") or []]
        pieces += [join.this for piece in pieces for join in piece.args.get("joins") or []]
        for piece in pieces:
            if isinstance(piece, exp.Subquery):
                out[(piece.alias or f"#{len(out)}").lower()] = piece.unnest()
            elif isinstance(piece, exp.Table):
                query = None if self._meaning_of_table(piece) else self._lookup(piece.name, piece)
                out[(piece.alias or piece.name or f"#{len(out)}").lower()] = query if query is not None else piece
        self._selects[key] = out
        return out

    def _lookup(self, name: str, node: exp.Expression) -> exp.Expression | None:
        """The CTE of that name which the node can see."""
        place: exp.Expression | None = node
        while place is not None:
            clause = place.args.get("with_") or place.args.get("with")
            if clause is not None:
                for cte in clause.expressions:
                    if cte.alias.lower() == name.lower() and node is not cte and cte.this is not place:
                        return cte.this.unnest() if isinstance(cte.this, exp.Subquery) else cte.this
            place = place.parent
        return None

    def _meaning_of_table(self, table: exp.Table) -> Meaning | None:
        for part in (table.name, table.db, table.catalog):
            meaning = self.notebook.meaning(part) if part else None
            if meaning is not None:
                return meaning
        return None

    def _from_source(self, name: str, source: Any, depth: int) -> Value:
        """The value of a column of a table or a query; empty where the query has no such column."""
        if isinstance(source, exp.Table):
            meaning = self._meaning_of_table(source)
            if meaning is None:
                return (Term("column", name, source.name),)
            if meaning.kind == "this":
                return (Term("target_row", name),)
            if meaning.kind == "union":
                return tuple(Term("column", name, part.strip()) for part in meaning.name.split(","))
            return (Term("column", name, meaning.name or source.name),)
        if not isinstance(source, exp.Query):
            return (Term("column", name, "a macro"),)
        key = (id(source), name.lower())
        if key in self._memo:
            return self._memo[key]
        if key in self._in_progress or depth > 60:
            return ()
        self._in_progress.add(key)
        value = self._of_query(name, source, depth + 1)
        self._in_progress.discard(key)
        self._memo[key] = value
        return value

    def _of_query(self, name: str, query: exp.Expression, depth: int) -> Value:
        if isinstance(query, exp.Subquery):
            return self._from_source(name, query.unnest(), depth)
        if isinstance(query, exp.SetOperation):
            left = self._from_source(name, query.left, depth)
            place = self._place(name, query.left)
            if place is not None and isinstance(query.right.unnest(), exp.Select):
                chosen = query.right.unnest().selects
                if place < len(chosen) and not isinstance(chosen[place], exp.Star):
                    return left + self._projected(chosen[place], query.right.unnest(), depth)
            return left + self._from_source(name, query.right, depth)
        if not isinstance(query, exp.Select):
            return ()
        for chosen in query.selects:
            if chosen.alias_or_name.lower() == name.lower() and not _is_star(chosen):
                return self._projected(chosen, query, depth)
        for chosen in query.selects:
            if _is_star(chosen):
                if isinstance(chosen, exp.Star) and self._renamed(chosen, name):
                    continue
                table = chosen.table.lower() if isinstance(chosen, exp.Column) else ""
                for alias, source in self._sources(query).items():
                    if table and alias != table:
                        continue
                    value = self._from_source(name, source, depth)
                    if value:
                        return value
            elif self._unknown_in(chosen) and isinstance(chosen, exp.Column):
                return (Term("column", name, "a macro"),)
        return ()

    def _renamed(self, star: exp.Star, name: str) -> bool:
        gone = star.args.get("except_") or star.args.get("except") or []
        return any(getattr(part, "name", "").lower() == name.lower() for part in gone)

    def _place(self, name: str, query: exp.Expression) -> int | None:
        query = query.unnest() if hasattr(query, "unnest") else query
        while isinstance(query, exp.SetOperation):
            query = query.left.unnest()
        if not isinstance(query, exp.Select) or any(isinstance(chosen, exp.Star) for chosen in query.selects):
            return None
        return next((i for i, chosen in enumerate(query.selects) if chosen.alias_or_name.lower() == name.lower()), None)

    def _projected(self, chosen: exp.Expression, query: exp.Expression, depth: int) -> Value:
        inner = chosen.this if isinstance(chosen, exp.Alias) else chosen
        value = self.value(inner, query, depth)
        if (
            any(term.kind == "target_row" for term in value)
            and query.args.get("order") is not None
            and query.args.get("limit") is not None
        ):
            value = tuple(replace(t, kind="target") if t.kind == "target_row" else t for t in value)
        if self._is_filtered(query):
            value = tuple(replace(term, filtered=True) if term.kind == "target" else term for term in value)
        return value

    def _is_filtered(self, query: exp.Expression) -> bool:
        """Whether the maximum is taken over a part of the target only, such as one stream of it."""
        where = query.args.get("where")
        if where is None and query.args.get("group") is None:
            return False
        if query.args.get("group") is not None:
            return True
        return any(
            isinstance(node, (exp.EQ, exp.In, exp.Like, exp.ILike)) and node.find(exp.Column) is not None
            for node in where.walk()
        )

    def _scalar(self, node: exp.Expression, depth: int) -> Value:
        query = node.unnest() if isinstance(node, exp.Subquery) else node
        while isinstance(query, exp.Subquery):
            query = query.unnest()
        if isinstance(query, exp.SetOperation):
            return self._scalar(query.left, depth) + self._scalar(query.right, depth)
        if isinstance(query, exp.Select) and query.selects:
            chosen = query.selects[0]
            if isinstance(chosen, exp.Star):
                sources = list(self._sources(query).values())
                if len(sources) == 1 and isinstance(sources[0], exp.Select) and sources[0].selects:
                    return self._scalar(sources[0], depth)
            value = self._projected(chosen, query, depth)
            return tuple(
                replace(term, kind="elsewhere", table=term.table or "another table") if term.kind == "column" else term
                for term in value
            )
        return ()

    def _coalesce(self, parts: list[Any], select: exp.Expression | None, depth: int) -> Value:
        values = [self.value(part, select, depth) for part in parts]
        out = [replace(term, guarded=len(values) > 1) for term in values[0]]
        for value in values[1:]:
            out += [replace(term, how=term.how or "fallback", guarded=True) for term in value if term.kind != "literal"]
        return tuple(out)

    def _branches(self, branches: list[Any], select: exp.Expression | None, depth: int) -> Value:
        parts = [self.value(branch, select, depth) for branch in branches if branch is not None]
        many = len(parts) > 1
        return tuple(
            replace(term, guarded=term.guarded or many) for part in parts for term in part if term.kind != "literal"
        )

    def _aggregate(self, inner: exp.Expression, select: exp.Expression | None, depth: int, smallest: bool) -> Value:
        out = []
        for term in self.value(inner, select, depth):
            if term.kind in {"target_row", "target"}:
                out.append(
                    replace(
                        term,
                        kind="target_min" if smallest else "target",
                        guarded=False,
                        how="" if term.how == "fallback" else term.how,
                    )
                )
            elif term.kind == "column" and self._joins_this(select):
                out.append(replace(term, kind="target", table=term.table or "a joined table", guarded=False))
            elif term.kind == "column":
                out.append(replace(term, kind="source_max", guarded=False))
            elif term.kind != "literal":
                out.append(term)
        return tuple(out)

    def _joins_this(self, select: exp.Expression | None) -> bool:
        if not isinstance(select, exp.Select):
            return False
        tables = [source for source in self._sources(select).values() if isinstance(source, exp.Table)]
        return any(
            (meaning := self._meaning_of_table(table)) is not None and meaning.kind == "this" for table in tables
        )

    def _interval(self, node: exp.Interval) -> float | None:
        if node.this is None:
            return None
        unit = node.args.get("unit")
        text = node.this.name if isinstance(node.this, exp.Literal) else ""
        if unit is None:
            return span_seconds(text)
        seconds = unit_seconds(unit)
        number = self._number(node.this)
        if number is None and text:
            return span_seconds(f"{text} {unit}")
        return None if seconds is None or number is None else number * seconds

    def _number(self, node: Any) -> float | None:
        if node is None:
            return None
        if isinstance(node, exp.Paren):
            return self._number(node.this)
        if isinstance(node, exp.Neg):
            inner = self._number(node.this)
            return None if inner is None else -inner
        if isinstance(node, exp.Cast):
            return self._number(node.this)
        if isinstance(node, (exp.Mul, exp.Add, exp.Sub, exp.Div)):
            left, right = self._number(node.this), self._number(node.expression)
            if left is None or right is None or (isinstance(node, exp.Div) and right == 0):
                return None
            return {
                exp.Mul: left * right,
                exp.Add: left + right,
                exp.Sub: left - right,
                exp.Div: left / right if right else 0,
            }[type(node)]
        if isinstance(node, exp.Literal):
            try:
                return float(node.name.strip())
            except ValueError:
                return None
        return None

    def _shifted(self, base: Any, by: Any, unit: Any, sign: int, select: exp.Expression | None, depth: int) -> Value:
        if base is None or isinstance(base, str):
            return ()
        if isinstance(by, exp.Interval):
            amount = self._interval(by)
        else:
            number = self._number(by)
            seconds = unit_seconds(
                unit.name if isinstance(unit, exp.Expression) and unit.name else unit if unit is not None else "day"
            )
            amount = None if number is None or seconds is None else number * seconds
        terms = self.value(base, select, depth)
        if isinstance(by, exp.Expression) and amount is None and not any(term.kind != "literal" for term in terms):
            # some dialects put the date first, some last
            other = self.value(by, select, depth)
            if any(term.kind != "literal" for term in other):
                return tuple(term.moved(None) for term in other)
        return tuple(term.moved(None if amount is None else sign * amount) for term in terms)

    def _span(self, node: exp.Expression) -> tuple[bool, float | None]:
        """(is it a length of time or a number, its seconds or its number)."""
        node = _unwrapped(node)
        if isinstance(node, exp.Interval):
            return True, self._interval(node)
        if isinstance(node, exp.Cast) and node.to.is_type("interval"):
            return True, span_seconds(node.this.name)
        if isinstance(node, exp.Mul):
            left, right = self._span(node.this), self._span(node.expression)
            if left[0] and right[0]:
                return True, None if left[1] is None or right[1] is None else left[1] * right[1]
            return left[0] or right[0], None
        number = self._number(node)
        if number is not None:
            return True, number
        if isinstance(node, exp.Anonymous) and re.match(
            r"(make_interval|numtodsinterval|tointerval\w+|to_\w+s)$", str(node.this).lower()
        ):
            return True, None
        if type(node).__name__ in {"MakeInterval", "ToDays"}:
            return True, None
        return False, None

    def _sum(self, node: exp.Expression, select: exp.Expression | None, depth: int) -> Value:
        sign = 1 if isinstance(node, exp.Add) else -1
        is_span, amount = self._span(node.expression)
        if is_span:
            terms = self.value(node.this, select, depth)
            if self._number(node.expression) is not None and amount is not None:
                amount *= _scale(node.this, amount)
            return tuple(term.moved(None if amount is None else sign * amount) for term in terms)
        if isinstance(node, exp.Add):
            is_span, amount = self._span(node.this)
            if is_span:
                return tuple(term.moved(amount) for term in self.value(node.expression, select, depth))
        left, right = self.value(node.this, select, depth), self.value(node.expression, select, depth)
        if isinstance(node, exp.Sub) and _has(left, "wall") and _has(right, "column"):
            wall = next(term for term in left if term.kind == "wall")
            return (
                Term("age", offset=_scale(node.this), position=wall.position),
                *(t for t in right if t.kind == "column"),
            )
        unknown = (
            any(term.kind == "unknown" for term in right) and not _has(right, "wall") and not _has(right, "target")
        )
        if unknown:
            return tuple(term.moved(None) for term in left)
        return tuple(term.moved(None) for term in left + right if term.kind != "literal")

    def _difference(self, parts: list[Any], unit: Any, select: exp.Expression | None, depth: int) -> Value:
        terms: list[Term] = []
        seconds = None
        for part in parts:
            if isinstance(part, exp.Expression):
                seconds = seconds or unit_seconds(part.name)
                terms += self.value(part, select, depth)
        if unit is not None and not isinstance(unit, (exp.Literal,)):
            seconds = unit_seconds(unit.name if isinstance(unit, exp.Expression) else unit) or seconds
        wall = next((term for term in terms if term.kind == "wall"), None)
        columns = [term for term in terms if term.kind == "column" and unit_seconds(term.name) is None]
        if wall is not None and columns:
            return (Term("age", offset=seconds or 86400.0, position=wall.position), *columns)
        return tuple(term for term in terms if term.kind not in {"literal"} and unit_seconds(term.name) is None)

    # what the model gives -----------------------------------------------------------------------------------------------

    def outputs(self, tree: exp.Expression) -> dict[str, Value] | None:
        """The columns of the model's result with where they come from; None where they cannot all be told."""
        names = self._output_names(tree, 0)
        if names is None:
            return None
        return {name: self._from_source(name, tree, 0) for name in names}

    def output(self, tree: exp.Expression, name: str) -> Value:
        """Where one column of the result comes from; empty where it cannot be told."""
        return self._from_source(name, tree, 0)

    def _output_names(self, query: Any, depth: int) -> set[str] | None:
        if depth > 40 or not isinstance(query, exp.Query):
            return None
        if isinstance(query, exp.Subquery):
            return self._output_names(query.unnest(), depth + 1)
        if isinstance(query, exp.SetOperation):
            return self._output_names(query.left, depth + 1)
        if not isinstance(query, exp.Select):
            return None
        names: set[str] = set()
        for chosen in query.selects:
            if _is_star(chosen):
                table = chosen.table.lower() if isinstance(chosen, exp.Column) else ""
                gone = [
                    getattr(p, "name", "").lower()
                    for p in (chosen.args.get("except_") or chosen.args.get("except") or [])
                ]
                for alias, source in self._sources(query).items():
                    if table and alias != table:
                        continue
                    inner = self._output_names(source, depth + 1) if isinstance(source, exp.Query) else None
                    if inner is None:
                        return None
                    names |= {name for name in inner if name not in gone}
                if chosen.args.get("rename") or chosen.args.get("replace"):
                    return None
            elif TOKEN.search(chosen.alias_or_name or "") or not chosen.alias_or_name:
                if self._unknown_in(chosen) or not chosen.alias_or_name:
                    return None
            else:
                names.add(chosen.alias_or_name.lower())
        return names

    def base_columns(self, value: Value) -> set[str]:
        """The names of the source columns in a value."""
        return {term.name.lower() for term in value if term.kind in {"column", "source_max"}}

    def tables_of(self, query: exp.Expression) -> set[str]:
        """The tables that a query reads, through its CTEs."""
        return set(self._tables(query, 0))

    def _tables(self, query: Any, depth: int) -> Iterator[str]:
        if depth > 40 or not isinstance(query, exp.Expression):
            return
        if isinstance(query, exp.Table):
            meaning = self._meaning_of_table(query)
            if meaning is None or meaning.kind != "this":
                yield meaning.name if meaning else query.sql()
        elif isinstance(query, exp.SetOperation):
            yield from self._tables(query.left, depth + 1)
            yield from self._tables(query.right, depth + 1)
        elif isinstance(query, exp.Subquery):
            yield from self._tables(query.unnest(), depth + 1)
        elif isinstance(query, exp.Select):
            for source in self._sources(query).values():
                yield from self._tables(source, depth + 1)


# helpers ---------------------------------------------------------------------------------------------------------------


def _is_star(chosen: exp.Expression) -> bool:
    return isinstance(chosen, exp.Star) or (isinstance(chosen, exp.Column) and isinstance(chosen.this, exp.Star))


def _has(value: Value, kind: str) -> bool:
    return any(term.kind == kind for term in value)


def _is_age(value: Value) -> bool:
    return any(term.kind == "age" for term in value)


def _is_row(value: Value) -> bool:
    return any(term.kind == "column" for term in value) and not any(
        term.kind in {"target", "source_max"} for term in value
    )


def _scale(base: exp.Expression, number: float = 1.0) -> float:
    """What a bare number added to the expression counts: seconds for an epoch, days for a date.

    Nobody looks back a thousand days, and hardly anybody ten million seconds: a greater number counts something smaller.
    """
    if abs(number) > 1000:
        return 0.001 if abs(number) >= 10_000_000 else 1.0
    text = base.sql().lower()
    if re.search(r"epoch_ms|milli|_ms\b", text):
        return 0.001
    return 1.0 if re.search(r"epoch|unix|to_seconds|getdate\(\)\s*\)\s*\*", text) else 86400.0


def _widest(bounds: list[Bound]) -> list[Bound]:
    """Of a list of days counted from the wall clock, the earliest and the latest: together they are one window."""
    walls = [bound for bound in bounds if bound.terms("wall")]
    out = [bound for bound in bounds if not bound.terms("wall")]
    for side, choose in (("lower", min), ("upper", max)):
        sided = [bound for bound in walls if bound.side == side]
        if sided:
            bound = choose(sided, key=_reach)
            bound.equality = len(sided) == 1
            out.append(bound)
    return out


def _reach(bound: Bound) -> float:
    offset = bound.terms("wall")[0].offset
    return float("-inf") if offset is None else offset


def _unwrapped(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _conjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    stack = [node]
    while stack:
        node = _unwrapped(stack.pop())
        if isinstance(node, exp.And):
            stack += [node.expression, node.this]
        else:
            yield node


def _disjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    stack = [node]
    while stack:
        node = _unwrapped(stack.pop())
        if isinstance(node, exp.Or):
            stack += [node.expression, node.this]
        else:
            yield node


def _candidates(dialect: str) -> list[str]:
    return [dialect, *(other for other in DIALECTS if other != dialect)]


def parse(rendered: Rendered, dialect: str) -> tuple[list[exp.Expression], str, str]:
    """The statements of the text, the dialect that could read them, and what went wrong where none could."""
    text = rendered.text
    if not text.strip():
        return [], dialect, "its template renders to nothing"
    trouble = ""
    for number, attempt in enumerate(_attempts(text, rendered.notebook)):
        for candidate in _candidates(dialect)[: 5 if number == 0 and len(text) < 50_000 else 2]:
            try:
                trees = sqlglot.parse(attempt, read=candidate or None)
            except SqlglotError as error:
                if not trouble:
                    trouble = _first_line(error)
                continue
            except (RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError):
                trouble = trouble or "its SQL could not be read"
                continue
            queries = [tree for tree in trees if isinstance(tree, exp.Query)]
            if queries:
                return queries, candidate, ""
            if any(tree is not None for tree in trees):
                trouble = trouble or "its SQL is no query"
    return [], dialect, trouble or "its SQL could not be read"


def _attempts(text: str, notebook: Notebook) -> Iterator[str]:
    """The text as it is; then without unknown macros that stand alone; then without any that could be a clause."""
    yield text
    unknown = [f"__tc_{place}__" for place, meaning in enumerate(notebook.meanings) if meaning.kind == "unknown"]
    if not unknown:
        return
    names = "|".join(unknown)
    alone = re.sub(rf"(?m)^[ \t]*(?:{names})[ \t]*;?[ \t]*$", lambda found: " " * len(found.group(0)), text)
    if alone != text:
        yield alone
    loose = re.sub(rf"(?<=[\w)\]'\"])(\s+)(?:{names})(?=\s|$|\))", lambda found: " " * len(found.group(0)), alone)
    if loose != alone:
        yield loose


def _first_line(error: Exception) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        near = f"{first.get('start_context', '')[-30:]}{first.get('highlight', '')}".strip()
        return f"its SQL could not be read near “{' '.join(near.split())}”"
    return "its SQL could not be read"
