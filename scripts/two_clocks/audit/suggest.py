"""Writes the change as a diff, where the model is simple enough.

Simple enough: one window, on one plain time column, written out in the file, and a key (or a strategy) that makes repeats
harmless. The diff stays plain dbt: it works without this package. No diff is shown whose result the audit would not call safe.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import replace

from sqlglot import exp

from two_clocks.audit.judge import DAY, Judge, judge
from two_clocks.audit.rules import SAFE
from two_clocks.audit.sql_reader import Bound
from two_clocks.console import safe

MENDED = {"TC01", "TC02", "TC03", "TC10"}
LEAST_DAYS = 2
# dbt's dateadd changes the type of the column there, or an empty table's maximum is no NULL
_OTHER_TYPES = {"bigquery", "clickhouse"}
_NO_TIME = re.compile(
    r"(?:^|_)(?:id|ids|seq|sequence|no|number|num|epoch|unix|unixtime|ms|millis|block|slot|version|offset|lsn|scn|suffix|key)$",
    re.I,
)

_PLAIN = re.compile(r"(?:this|var|run_started_at|current_timestamp|(?:dbt|dbt_utils|dbt_date|modules)\.[\w.]+)$")


def suggest(worker: Judge) -> str:
    """A unified diff for a model that was judged; empty where the model is not simple enough."""
    report, reading, rendered = worker.report, worker.reading, worker.rendered
    if (
        not report.findings
        or reading is None
        or rendered is None
        or report.kind != "incremental"
        or not worker.node.as_is
    ):
        return ""
    if (
        {finding.rule for finding in report.findings} - MENDED
        or not worker.has_key
        or reading.dialect in _OTHER_TYPES
        or reading.fragments
    ):
        return ""
    lowers = [
        b
        for b in reading.bounds
        if b.side == "lower" and (b.terms("target") or (b.terms("wall") and worker._counts(b)))
    ]
    if len(lowers) != 1:
        return ""
    changed = _changed(worker, lowers[0])
    if not changed or changed == worker.node.text:
        return ""
    again = judge(replace(worker.node, text=changed), worker.surroundings, worker.dialect)
    if again is None or again.verdict != SAFE:
        return ""
    return as_diff(worker.node.text, changed, worker.node.path)


def _changed(worker: Judge, bound: Bound) -> str:
    place = worker.place_of(bound)
    row = bound.node.this if isinstance(bound.node, (exp.GT, exp.GTE)) else None
    if place is None or not isinstance(row, exp.Column) or bound.alternatives or bound.equality or bound.in_join:
        return ""
    # what a macro writes may be more than the comparison: only dbt's own are replaced
    written = re.findall(r"\{\{[-+]?\s*([\w.]+)", worker.node.text[place[0] : place[1]])
    assert worker.rendered is not None
    if not worker.rendered.is_literal(bound.position) or any(not _PLAIN.match(name) for name in written):
        return ""
    column = _stored_name(worker, bound)
    if not column or _NO_TIME.search(column):
        return ""
    start, end = place
    text = worker.node.text
    shown = row.sql(dialect=worker.reading.dialect or None) if worker.reading else row.sql()
    maximum = f"(select max({column}) from {{{{ this }}}})"
    term = (bound.terms("target") or bound.terms("wall"))[0]
    if term.kind == "target" and (term.offset is None or term.offset < 0):
        lower = text[start:end]
    else:
        days = LEAST_DAYS
        if term.kind == "wall":
            if term.offset is None:
                return ""
            days = max(LEAST_DAYS, math.ceil(-term.offset / DAY))
        lower = f"{shown} >= (select {{{{ dbt.dateadd('day', -{days}, 'max({column})') }}}} from {{{{ this }}}})"
    indent = re.match(r"[ \t]*", text[text.rfind("\n", 0, start) + 1 :]).group(0)  # type: ignore[union-attr]
    condition = f"(\n{indent}    {lower}\n{indent}    or {maximum} is null\n{indent})"
    return text[:start] + condition + text[end:]


def _stored_name(worker: Judge, bound: Bound) -> str:
    """The target's column that holds the filtered one; only plain names are taken."""
    target = bound.terms("target")
    if target:
        name = target[0].name if not target[0].table else ""
    else:
        name = bound.node.this.name
        assert worker.reader is not None and worker.reading is not None
        outputs = worker.reader.outputs(worker.reading.trees[-1])
        if outputs is not None and name.lower() not in outputs:
            name = next(
                (
                    output
                    for output, value in outputs.items()
                    if {t.name.lower() for t in value} == {name.lower()} and len(value) == 1
                ),
                "",
            )
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else ""


def as_diff(before: str, after: str, path: str) -> str:
    """A unified diff that `patch -p1` and `git apply` take; none of a file whose name could pass for a line of one."""
    if safe(path) != path:
        return ""
    out = []
    end = "\t" if " " in path else ""  # how patch and git tell where such a name ends
    lines = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    for line in difflib.unified_diff(*lines, f"a/{path}{end}", f"b/{path}{end}"):
        out.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(out)
