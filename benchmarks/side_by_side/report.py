"""The figures as Markdown tables: on the console as they are, and between the markers of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from side_by_side.aims import aims
from side_by_side.plots import write_plots

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
LIMIT, STOCK = "hand_written", "stock_merge"
Row = list[str]


def console(result: dict[str, Any]) -> None:
    print("\n\n".join(sections(result)))  # noqa: T201


def write_page(result: dict[str, Any], page: Path) -> None:
    """Raises ValueError where the page has no markers."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page} has no lines {BEGIN} and {END}")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    plots = write_plots(result, page.parent)
    page.write_text(head + BEGIN + "\n\n" + "\n\n".join([*sections(result), *plots]) + "\n\n" + END + tail)


def sections(result: dict[str, Any]) -> Iterable[str]:
    yield "### The machine and the versions"
    yield from _environment(result)
    if aimed := aims(result):
        yield "### What was aimed at"
        yield _table(
            ["aim", "measured", ""],
            [[one.text, one.measured, "reached" if one.reached else "**missed**"] for one in aimed],
        )
    for engine, runs in result.get("steady", {}).items():
        for one in runs:
            yield from _steady(engine, one)
    if len(result.get("steady", {}).get("postgres", [])) > 1:
        yield "### PostgreSQL: the same window, a larger table"
        yield _by_size(result["steady"]["postgres"])
    if "losses" in result:
        yield from _losses(result["losses"])
    if "models" in result:
        yield "### Many models in one project"
        yield _models(result["models"])
    if "load_log" in result:
        yield from _load_log(result["load_log"])


def _environment(result: dict[str, Any]) -> Iterable[str]:
    servers = dict.fromkeys(one["server"] for runs in result.get("steady", {}).values() for one in runs)
    yield "; ".join([result["machine"], *servers]) + "."
    yield "PostgreSQL: " + ", ".join(f"`{name}={value}`" for name, value in result["settings"].items()) + "."
    yield _table(["contender", "version"], [[f"`{name}`", version] for name, version in result["versions"].items()])


def _steady(engine: str, one: dict[str, Any]) -> Iterable[str]:
    contenders = one["contenders"]
    medians = {name: c["medians"] for name, c in contenders.items()}
    engine_name = {"postgres": "PostgreSQL", "duckdb": "DuckDB"}[engine]
    yield f"### {engine_name}, {one['rows']:,} rows: one run"
    yield (
        f"Medians of {one['runs']} interleaved runs. The look-back of 48 hours reads about {2 * one['rows_per_day']:,} rows again, of which "
        f"{one['rows_per_run']:,} are new or changed."
    )
    if engine == "postgres":
        header = [
            "",
            "database, s",
            "x hand-written",
            "x merge",
            "command, s",
            "x merge",
            "rows written",
            "WAL, MB",
            "x merge",
        ]
        rows = [
            [
                c["title"],
                f"{m['database_seconds']:.3f}",
                _ratio(medians, name, LIMIT, "database_seconds"),
                _ratio(medians, name, STOCK, "database_seconds"),
                f"{m['seconds']:.1f}",
                _ratio(medians, name, STOCK, "seconds"),
                f"{m['database_rows_written']:,.0f}",
                _megabytes(m["database_wal_bytes"]),
                _ratio(medians, name, STOCK, "database_wal_bytes", "{:.1%}"),
            ]
            for name, c in contenders.items()
            for m in [c["medians"]]
        ]
    else:
        header = ["", "command, s", "x hand-written", "x merge", "processor, s", "x merge"]
        rows = [
            [
                c["title"],
                f"{m['seconds']:.2f}",
                _ratio(medians, name, LIMIT, "seconds"),
                _ratio(medians, name, STOCK, "seconds"),
                f"{m['cpu_seconds']:.2f}",
                _ratio(medians, name, STOCK, "cpu_seconds"),
            ]
            for name, c in contenders.items()
            for m in [c["medians"]]
        ]
    yield _table(header, rows)
    yield f"### {engine_name}, {one['rows']:,} rows: after {one['runs']} runs"
    grown = ["dead rows", "table grew, MB", "indexes grew, MB"] if engine == "postgres" else ["file grew, MB"]
    yield _table(
        ["", *grown, "client's memory, MB", "rows lost", "of them out of reach", "rows doubled"],
        [
            [
                c["title"],
                *(
                    [f"{c['dead_rows']:,}", _megabytes(c["table_growth"]), _megabytes(c["index_growth"])]
                    if engine == "postgres"
                    else [_megabytes(c["table_growth"])]
                ),
                _megabytes(c["peak_bytes"], 0),
                f"{c['verdict']['lost']:,}",
                f"{c['verdict']['out_of_reach']:,}",
                f"{c['verdict']['doubled']:,}",
            ]
            for c in contenders.values()
        ],
    )
    caught = {name: c for name, c in contenders.items() if "catch_up" in c}
    if caught:
        yield f"### {engine_name}, {one['rows']:,} rows: catching up after {one['outage_days']} days"
        yield _table(
            [
                "",
                *(["database, s"] if engine == "postgres" else []),
                "command, s",
                "client's memory, MB",
                *(["WAL, MB"] if engine == "postgres" else []),
                "rows lost",
            ],
            [
                [
                    c["title"],
                    *([f"{c['catch_up']['database_seconds']:.1f}"] if engine == "postgres" else []),
                    f"{c['catch_up']['seconds']:.1f}",
                    _megabytes(c["catch_up"]["peak_bytes"], 0),
                    *([_megabytes(c["catch_up"]["database_wal_bytes"])] if engine == "postgres" else []),
                    f"{c['catch_up']['verdict']['lost']:,}",
                ]
                for c in caught.values()
            ],
        )
    yield from _skipped(one["skipped"])


def _by_size(runs: list[dict[str, Any]]) -> str:
    sizes = [one["rows"] for one in runs]
    names = [name for name in runs[0]["contenders"] if all(name in one["contenders"] for one in runs)]
    rows = []
    for name in names:
        seconds = [one["contenders"][name]["medians"]["database_seconds"] for one in runs]
        rows.append(
            [
                runs[0]["contenders"][name]["title"],
                *(f"{value:.3f}" for value in seconds),
                f"{seconds[-1] / seconds[0]:.2f}",
            ]
        )
    return _table(["database, s", *(f"{size:,} rows" for size in sizes), "last to first"], rows)


def _losses(one: dict[str, Any]) -> Iterable[str]:
    yield f"### What each loses in {one['nights']} nights"
    yield (
        f"{one['arrived']:,} rows arrive, some late. In three nights the load fails and is made good in the fourth; for five nights nothing runs. "
        "Rows that are missing in the end, or there in an older version, by why:"
    )
    reasons = {
        "too late": "later than any look-back",
        "load failed": "their load had failed",
        "nothing ran": "nothing had run",
        "otherwise": "else",
    }
    yield _table(
        ["", "rows lost", *reasons.values(), "rows doubled"],
        [
            [
                c["title"],
                f"{c['lost']:,}",
                *(f"{c['reasons'][reason]:,}" for reason in reasons),
                f"{c['doubled']:,}",
            ]
            for c in one["contenders"].values()
        ],
    )
    yield from _skipped(one["skipped"])


def _models(results: list[dict[str, Any]]) -> str:
    header = [
        "models",
        "parse, s",
        "x plain",
        "compile, s",
        "x plain",
        "run, s",
        "x plain",
        "database, s",
        "x plain",
        "statements a model",
        "plain",
    ]
    rows = []
    for one in results:
        ours, plain = one["two_clocks"], one["stock_merge"]
        row = [str(one["models"])]
        for key in ("parse", "compile", "run", "database_seconds"):
            row += [f"{ours[key]:.1f}", f"{ours[key] / plain[key]:.2f}"]
        rows.append([*row, f"{ours['statements'] / one['models']:.1f}", f"{plain['statements'] / one['models']:.1f}"])
    return _table(header, rows)


def _load_log(one: dict[str, Any]) -> Iterable[str]:
    yield "### Where a load log has not moved"
    yield (
        f"{one['rows']:,} rows, `data_clock` from a load log that stands still: {one['database_seconds'] * 1000:.0f} ms of the database's work in all, "
        f"{one['seconds']:.1f} s for the command. Statements that name the source, the target or the log:"
    )
    yield _table(
        ["ms", "", "statement"],
        [[f"{each['milliseconds']:.1f}", each["what"], f"`{each['sql'][:100]} …`"] for each in one["named"]],
    )


def _skipped(skipped: dict[str, str]) -> Iterable[str]:
    for name, reason in skipped.items():
        yield f"`{name}` was skipped: {', '.join(reason.splitlines()[-2:])[:300]}"


def _ratio(medians: dict[str, Any], name: str, to: str, key: str, form: str = "{:.2f}") -> str:
    return form.format(medians[name][key] / medians[to][key]) if to in medians and medians[to][key] else ""


def _megabytes(count: float, places: int = 1) -> str:
    return f"{count / 2**20:,.{places}f}"


def _table(header: Row, rows: list[Row]) -> str:
    """Numbers to the right: a column is one of numbers if its first cell begins with one."""
    is_number: Callable[[int], bool] = lambda column: bool(rows) and rows[0][column][:1].isdigit()  # noqa: E731
    rule = ["---:" if is_number(column) else "---" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])
