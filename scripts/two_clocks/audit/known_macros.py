"""What dbt and its common packages put into a template, told apart only as far as clocks, windows and tables need.

Functions that print SQL print a neutral call such as `tc_dateadd('day', -3, x)`, which the SQL reader understands in any dialect.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from two_clocks.audit.symbols import Callables, Meaning, Relation, Symbol, Unknown, without_marks

if TYPE_CHECKING:
    from two_clocks.audit.render import Session

WALL_CLOCK_MACROS = {
    "current_timestamp",
    "current_timestamp_backcompat",
    "current_timestamp_in_utc",
    "current_timestamp_in_utc_backcompat",
    "snapshot_get_time",
    "get_current_timestamp",
    "now",
    "today",
    "this_week",
    "this_month",
    "wall_clock",
}
_DAYS_AGO = {
    "yesterday": -1,
    "tomorrow": 1,
    "last_week": -7,
    "next_week": 7,
    "last_month": -30,
    "next_month": 30,
}
_COUNTED = {
    "n_days_ago": ("day", -1),
    "n_days_away": ("day", 1),
    "n_weeks_ago": ("week", -1),
    "n_weeks_away": ("week", 1),
    "n_months_ago": ("month", -1),
    "n_months_away": ("month", 1),
}
_TYPES = {
    "type_timestamp": "timestamp",
    "type_string": "varchar",
    "type_int": "int",
    "type_bigint": "bigint",
    "type_float": "float",
    "type_numeric": "numeric",
    "type_boolean": "boolean",
    "type_date": "date",
}


def _sql(value: Any) -> str:
    return without_marks(value)


def _literal(value: Any) -> str:
    return "'" + _sql(value).replace("'", "''") + "'"


def _call(name: str) -> Any:
    return lambda *args, **kwargs: f"{name}({', '.join(_sql(value) for value in (*args, *kwargs.values()))})"


def _dateadd(datepart: Any = "day", interval: Any = 0, from_date_or_timestamp: Any = "null", **more: Any) -> str:
    return f"tc_dateadd({_literal(datepart)}, ({_sql(interval)}), {_sql(from_date_or_timestamp)})"


def _datediff(first_date: Any = "null", second_date: Any = "null", datepart: Any = "day", **more: Any) -> str:
    return f"tc_datediff({_literal(datepart)}, {_sql(first_date)}, {_sql(second_date)})"


def _date_trunc(datepart: Any = "day", date: Any = "null", **more: Any) -> str:
    return f"tc_date_trunc({_literal(datepart)}, {_sql(date)})"


def _first(*args: Any, **kwargs: Any) -> str:
    return _sql(next(iter((*args, *kwargs.values())), "null"))


def _listed(name: str) -> Any:
    def call(fields: Any = (), *more: Any, **kwargs: Any) -> str:
        values = kwargs.get("field_list", fields)
        if isinstance(values, (str, Symbol, Unknown)):
            values = [values, *more]
        return f"{name}({', '.join(_sql(value) for value in values) or 'null'})"

    return call


def dbt_functions() -> dict[str, Any]:
    """The cross-database macros of dbt itself, also under their old home dbt_utils."""
    functions: dict[str, Any] = {name: (lambda *args, **kwargs: "tc_now()") for name in WALL_CLOCK_MACROS}
    functions |= {name: (lambda *args, _type=sql, **kwargs: _type) for name, sql in _TYPES.items()}
    functions |= {
        "dateadd": _dateadd,
        "datediff": _datediff,
        "date_trunc": _date_trunc,
        "last_day": lambda date="null", datepart="month": _date_trunc(datepart, date),
        "date": lambda year=1970, month=1, day=1: f"cast('{_sql(year)}-{_sql(month)}-{_sql(day)}' as date)",
        "safe_cast": lambda field="null", type="varchar": f"cast({_sql(field)} as {_sql(type)})",
        "cast": lambda field="null", type="varchar": f"cast({_sql(field)} as {_sql(type)})",
        "cast_bool_to_text": _first,
        "string_literal": _literal,
        "escape_single_quotes": lambda expression="": _sql(expression).replace("'", "''"),
        "concat": _listed("concat"),
        "hash": _call("tc_hash"),
        "except": lambda: "except",
        "intersect": lambda: "intersect",
    }
    for name in (
        "split_part",
        "any_value",
        "bool_or",
        "listagg",
        "length",
        "position",
        "replace",
        "right",
        "array_construct",
    ):
        functions[name] = _call(f"tc_{name}")
    return functions


def dbt_utils_functions(session: Session) -> dict[str, Any]:
    """The part of dbt_utils that a model's text is made of."""
    notebook = session.notebook

    def union_relations(relations: Any = (), *args: Any, **kwargs: Any) -> str:
        many = [_sql(relation) for relation in relations]
        name = notebook.token(Meaning("union", ", ".join(session.name_of(text) for text in many)))
        return f"select * from {name}" if len(many) != 1 else f"select * from {many[0]}"

    def star(from_: Any = None, relation_alias: Any = None, *args: Any, **kwargs: Any) -> str:
        alias = kwargs.get("relation_alias", relation_alias)
        return f"{alias}.*" if alias else "*"

    def group_by(n: Any = 1, **kwargs: Any) -> str:
        count = min(int(kwargs.get("n", n)), 500)
        return "group by " + ", ".join(str(place) for place in range(1, count + 1))

    def deduplicate(relation: Any = "", *args: Any, **kwargs: Any) -> str:
        return f"select * from {_sql(kwargs.get('relation', relation))}"

    def safe_fields(name: str) -> Any:
        return lambda *args, **kwargs: f"{name}({', '.join(_sql(value) for value in args) or 'null'})"

    functions = dbt_functions()
    functions |= {
        "star": star,
        "group_by": group_by,
        "union_relations": union_relations,
        "deduplicate": deduplicate,
        "generate_surrogate_key": _listed("tc_key"),
        "surrogate_key": _listed("tc_key"),
        "safe_add": _listed("tc_sum"),
        "safe_subtract": _listed("tc_sum"),
        "safe_divide": safe_fields("tc_divide"),
        "get_column_values": lambda *args, **kwargs: Unknown(notebook, "dbt_utils.get_column_values()"),
        "get_filtered_columns_in_relation": lambda *args, **kwargs: Unknown(notebook, "columns"),
        "get_single_value": lambda query="", default=None, **kwargs: session.query(query),
        "get_query_results_as_dict": lambda query="", **kwargs: session.query(query),
        "date_spine": lambda *args, **kwargs: "select 1 as tc_spine",
        "generate_series": lambda *args, **kwargs: "select 1 as generated_number",
        "pretty_time": lambda *args, **kwargs: str(session.wall()),
        "pretty_log_format": lambda *args, **kwargs: "",
        "log_info": lambda *args, **kwargs: "",
    }
    return functions


def dbt_date_functions() -> dict[str, Any]:
    """Packages whose macros read the wall clock: dbt_date and its copies."""
    functions = dbt_functions()

    def counted(part: str, sign: int) -> Any:
        return lambda n=1, *args, **kwargs: _dateadd(part, f"{sign} * ({_sql(n)})", "tc_now()")

    for name, days in _DAYS_AGO.items():
        functions[name] = lambda *args, _days=days, **kwargs: _dateadd("day", _days, "tc_now()")
    for name, (part, sign) in _COUNTED.items():
        functions[name] = counted(part, sign)
    for name in ("convert_timezone", "to_unixtimestamp", "from_unixtimestamp", "periods_since", "round_timestamp"):
        functions[name] = _first
    return functions


def _timedelta(*args: Any, **kwargs: Any) -> Any:
    try:
        return dt.timedelta(*(float(value) for value in args), **{name: float(value) for name, value in kwargs.items()})
    except (TypeError, ValueError, OverflowError):
        return "an unknown span"


def _relativedelta(*args: Any, **kwargs: Any) -> Any:
    try:
        days = float(kwargs.get("days", 0)) + 7 * float(kwargs.get("weeks", 0))
        days += 30 * float(kwargs.get("months", 0)) + 365 * float(kwargs.get("years", 0))
        return dt.timedelta(days=days, hours=float(kwargs.get("hours", 0)), minutes=float(kwargs.get("minutes", 0)))
    except (TypeError, ValueError, OverflowError):
        return "an unknown span"


def python_modules(session: Session) -> Callables:
    """`modules.datetime`, `modules.pytz`, `modules.re`, with a symbolic clock."""
    notebook = session.notebook

    def space(name: str, functions: dict[str, Any]) -> Callables:
        return Callables(notebook, name, functions, lambda key: Unknown(notebook, f"{name}.{key}"))

    def wall(*args: Any, **kwargs: Any) -> Symbol:
        return session.wall()

    def through(value: Any = None, *args: Any, **kwargs: Any) -> Any:
        return value if isinstance(value, Symbol) else Unknown(notebook, "a date in a variable")

    class Clock(Callables):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return dt.datetime(*args) if all(isinstance(value, int) for value in args) and len(args) >= 3 else through()

    moments = {name: wall for name in ("now", "utcnow", "today")}
    readers = {name: through for name in ("strptime", "fromisoformat", "fromtimestamp", "combine", "strftime")}
    functions = {**moments, **readers, "timedelta": _timedelta}
    clock = Clock(notebook, "datetime", functions, lambda key: Unknown(notebook, f"datetime.{key}"))
    datetime = space("modules.datetime", {"datetime": clock, "date": clock, "timedelta": _timedelta, **functions})
    delta = space("relativedelta", {"relativedelta": _relativedelta})
    dateutil = space("modules.dateutil", {"relativedelta": delta, "parser": space("parser", {"parse": through})})
    time = space("modules.time", {name: wall for name in ("time", "gmtime", "localtime", "strftime")})
    return space("modules", {"datetime": datetime, "dateutil": dateutil, "time": time})


def two_clocks_functions(session: Session) -> dict[str, Any]:
    """This package's own macros: a window on the data's clock."""
    notebook = session.notebook
    names = ("relation", "watermark", "lookback", "max_window", "target_watermark", "stream", "target_filter", "nulls")

    def details(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given = dict(zip(names, args, strict=False)) | kwargs
        return {name: _sql(value) for name, value in given.items() if value is not None}

    def windowed(*args: Any, **kwargs: Any) -> Relation:
        given = details(args, kwargs)
        return Relation(notebook, Meaning("windowed", ", ".join(f"{k}={v}" for k, v in given.items()), details=given))

    def window(*args: Any, **kwargs: Any) -> Any:
        given = details(args, kwargs)
        text = ", ".join(f"{k}={v}" for k, v in given.items())
        ends = {
            end: Symbol(notebook, Meaning("window_end", f"{end}: {text}", details=given))
            for end in ("from", "to", "predicate")
        }
        return _Window(ends, Symbol(notebook, Meaning("window_end", text, details=given)))

    def newest_wins(cte: Any = "changes", *args: Any, **kwargs: Any) -> str:
        session.notebook.config.setdefault("two_clocks_newest_wins", True)
        return _sql(cte)

    silent = {name: (lambda *args, **kwargs: "") for name in ("record_window", "record_failed_windows")}
    return {
        "windowed": windowed,
        "window": window,
        "newest_wins": newest_wins,
        "wall_clock": lambda *a, **k: "tc_now()",
        **silent,
    }


class _Window(dict):
    """What window() returns: a mapping with the ends of the window; names that it lacks are parts of it too."""

    def __init__(self, ends: dict[str, Any], other: Symbol) -> None:
        super().__init__(ends)
        self._other = other

    def __missing__(self, key: str) -> Any:
        return self._other


def plain_functions(session: Session) -> dict[str, Any]:
    """The names that stand alone in a template."""
    notebook = session.notebook
    nothing = lambda *args, **kwargs: ""  # noqa: E731

    def tojson(value: Any = None, *args: Any, **kwargs: Any) -> str:
        return json.dumps(value, default=str)

    def fromjson(value: Any = "", default: Any = None, **kwargs: Any) -> Any:
        try:
            return json.loads(str(value))
        except ValueError:
            return default if default is not None else Unknown(notebook, "fromjson()")

    def load_result(name: Any = "") -> Symbol:
        return session.query(notebook.statements.get(str(name), ""))

    def statement(name: Any = None, *args: Any, caller: Any = None, **kwargs: Any) -> str:
        if caller is not None:
            notebook.statements[str(name)] = _sql(caller())
        return ""

    return {
        "execute": True,
        "log": nothing,
        "print": nothing,
        "debug": nothing,
        "store_result": nothing,
        "statement": statement,
        "load_result": load_result,
        "run_query": lambda sql="", *args, **kwargs: session.query(sql),
        "tojson": tojson,
        "fromjson": fromjson,
        "toyaml": tojson,
        "fromyaml": fromjson,
        "set": lambda value=(), default=None: set(value),
        "set_strict": lambda value=(): set(value),
        "zip": lambda *args, default=None: list(zip(*(list(value) for value in args), strict=False)),
        "zip_strict": lambda *args: list(zip(*(list(value) for value in args), strict=False)),
        "local_md5": lambda value="": "0" * 32,
        "as_number": lambda value=None: value,
        "run_started_at": session.wall(),
        "invocation_id": "invocation",
        "dbt_version": "1.11.0",
        "load_relation": lambda relation=None: relation,
        "should_full_refresh": lambda: False,
        "selected_resources": [],
        "modules": python_modules(session),
        "noop_statement": nothing,
    }
