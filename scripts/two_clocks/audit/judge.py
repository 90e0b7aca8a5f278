"""Judges one model: what its window is, whether it loses rows, on which line, and what would mend it."""

from __future__ import annotations

import ast
import re
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from two_clocks.audit.project import Node
from two_clocks.audit.render import Rendered, Session, Surroundings, line_and_column, render
from two_clocks.audit.rules import AT_RISK, LOSES, NOT_JUDGED, RULES, SAFE, SEVERITIES, VERDICTS, as_span
from two_clocks.audit.sql_reader import Bound, Reader, Reading, Term, Value
from two_clocks.audit.symbols import TOKEN, Notebook, Symbol, Unknown, without_marks

DAY = 86400.0
HALF_A_YEAR = 180 * DAY
KEYLESS_STRATEGIES = {"insert_overwrite", "microbatch", "replace_where", "insert+replace", "dynamic_overwrite"}
# An empty table's maximum is a value there, not NULL.
NO_NULL_MAXIMUM = {"clickhouse"}

_IGNORE = re.compile(
    r"two_clocks[ \t]*:[ \t]*ignore[ \t]+(?P<codes>TC\d\d(?:[ \t]*,[ \t]*TC\d\d)*)"
    r"(?:[ \t]*(?:because|:|-+)?[ \t]*(?P<reason>[^\n]*?))?[ \t]*(?:\*/|#\}|$)",
    re.M | re.I,
)

_BARE_CLOCK = re.compile(
    r"\s*(?:<=|>=|<|>|=)\s*(?:current_\w+|localtime\w*|sysdate|systimestamp)\b(?:\s*\(\s*\))?(?=\s|$)", re.I
)


@dataclass
class Finding:
    """One thing that is wrong with a model, and where."""

    rule: str
    severity: str
    verdict: str
    message: str
    change: str
    offset: int = 0
    line: int = 1
    column: int = 1
    path: str = ""
    reason_to_ignore: str = ""
    operator: int = -1  # the offset of a `>` that may safely become `>=`


@dataclass
class Report:
    """What the audit says of one model."""

    name: str
    path: str
    kind: str
    strategy: str = ""
    unique_key: list[str] = field(default_factory=list)
    watermark: str = ""
    lower_bound: str = ""
    upper_bound: str = ""
    lookback: str = ""
    verdict: str = SAFE
    severity: str = ""
    line: int = 1
    reason: str = ""
    change: str = ""
    findings: list[Finding] = field(default_factory=list)
    silenced: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    diff: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        out = asdict(self)
        for finding in out["findings"] + out["silenced"]:
            del finding["offset"], finding["operator"]
        return out


def as_bool(value: Any, default: bool = False) -> bool:
    """A setting that is yes or no, however it is written."""
    if isinstance(value, bool):
        return value
    known = {
        "true": True,
        "yes": True,
        "1": True,
        "on": True,
        "false": False,
        "no": False,
        "0": False,
        "off": False,
        "": False,
    }
    return known.get(value.strip().lower(), default) if isinstance(value, str) else default


def as_list(value: Any) -> list[Any]:
    """A setting that is one value or several."""
    if value is None or isinstance(value, Unknown):
        return []
    if isinstance(value, (list, tuple, set)):
        return list(value)
    if isinstance(value, str) and re.match(r"^\s*[\[(].*[\])]\s*$", value, re.S):
        try:
            return list(ast.literal_eval(value))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return [value]
    return [value] if value != "" else []


class Judge:
    """Judges one node."""

    def __init__(self, node: Node, surroundings: Surroundings, dialect: str) -> None:
        self.node = node
        self.surroundings = surroundings
        self.dialect = dialect
        self.report = Report(node.name, node.path, "incremental" if node.kind == "model" else node.kind)
        self.config: dict[str, Any] = dict(node.config)
        self.rendered: Rendered | None = None
        self.reader: Reader | None = None
        self.reading: Reading | None = None
        self.unjudged: list[str] = []
        self._full_refresh: set[str] | None = None
        self._carried_ones: set[str] = set()
        self._foreign_ones: list[tuple[Bound, Term, set[str]]] = []

    # what the node is ------------------------------------------------------------------------------------------------

    def judge(self) -> Report | None:
        """The report, or None where the node is no incremental model, microbatch model or snapshot."""
        node = self.node
        if node.trouble:
            return self._not_judged(node.trouble) if node.kind == "snapshot" or self._looks_incremental("") else None
        if node.kind == "python":
            return self._python()
        if node.kind == "snapshot" and "_relation" in self.config:
            return self._snapshot_of_relation()
        if node.kind == "model" and not self._looks_incremental(node.text):
            return None
        self.rendered = render(node.text, self.surroundings, self.config, node.name)
        self._merge_config(self.rendered.notebook.config)
        if not as_bool(self.config.get("enabled", True), True):
            return None
        if node.kind == "model" and not self._is_incremental():
            return None
        self._describe_config()
        self.reader = Reader(self.rendered, self.dialect, node.name)
        self.reading = self.reader.read()
        if self.report.kind == "microbatch":
            self._microbatch()
        elif node.kind == "snapshot":
            self._snapshot()
        else:
            self._incremental()
        self._predicates()
        return self._finish()

    def _looks_incremental(self, text: str) -> bool:
        materialized = self.config.get("materialized")
        if isinstance(materialized, str) and ("incremental" in materialized or "{{" in materialized):
            return True
        return bool(re.search(r"is_incremental|incremental|two_clocks\.window", text)) or bool(
            re.search(r"materialized\s*=\s*[^'\"\s]", text)
        )

    def _merge_config(self, given: dict[str, Any]) -> None:
        meta = {**_dict(self.config.get("meta")), **_dict(given.get("meta"))}
        self.config.update(given)
        if meta:
            self.config["meta"] = meta

    def _is_incremental(self) -> bool:
        materialized = self.config.get("materialized")
        if isinstance(materialized, (Unknown, Symbol)) or (isinstance(materialized, str) and "{" in materialized):
            return self.rendered is not None and self.rendered.notebook.asked_incremental
        if materialized is None:
            return False
        return "incremental" in str(materialized) or str(materialized) == "microbatch"

    def _describe_config(self) -> None:
        report = self.report
        strategy = self.config.get("incremental_strategy")
        report.strategy = self._text(strategy) if strategy is not None else ""
        if str(strategy) == "microbatch":
            report.kind = "microbatch"
        report.unique_key = [self._text(key) for key in as_list(self.config.get("unique_key"))]
        if isinstance(self.config.get("unique_key"), Unknown):
            report.unique_key = [self._text(self.config["unique_key"])]

    def _text(self, value: Any) -> str:
        return show(without_marks(value), self.rendered.notebook if self.rendered else None)

    @property
    def has_key(self) -> bool:
        """Whether what is read twice is stored once."""
        if self.report.strategy in KEYLESS_STRATEGIES or "Replacing" in str(self.config.get("engine", "")):
            return True
        return bool(self.report.unique_key) and self.report.strategy != "append"

    # judgements --------------------------------------------------------------------------------------------------------

    def _python(self) -> Report | None:
        text = self.node.text
        in_file = re.search(r"materialized\s*=\s*['\"]incremental", text)
        if not in_file and str(self.config.get("materialized")) != "incremental":
            return None
        if not re.search(r"def\s+model\s*\(", text) or not as_bool(self.config.get("enabled", True), True):
            return None
        self.report.kind = "python"
        return self._not_judged("it is a Python model: the audit reads SQL only")

    def _not_judged(self, why: str) -> Report:
        self.report.verdict = NOT_JUDGED
        self.report.reason = f"Could not judge: {why}."
        return self.report

    def _microbatch(self) -> None:
        report = self.report
        batch = str(self.config.get("batch_size") or "day").lower()
        sizes = {"hour": 3600.0, "day": DAY, "month": 30 * DAY, "year": 365 * DAY}
        try:
            lookback = int(str(self.config.get("lookback", 1)))
        except ValueError:
            lookback = 1
        report.strategy = "microbatch"
        report.watermark = self._text(self.config.get("event_time") or "")
        spans = f"{lookback} {batch}{'' if lookback == 1 else 's'}"
        report.lookback = f"{spans}, counted from the wall clock"
        report.lower_bound = f"the start of this {batch} by the wall clock, minus {spans}"
        report.upper_bound = "the wall clock"
        reach = lookback * sizes.get(batch, DAY)
        missing = [name for name in ("event_time", "begin", "batch_size") if not self.config.get(name)]
        if missing:
            report.notes.append(f"dbt refuses a microbatch model without {' and '.join(missing)}.")
        self._add(
            "TC09",
            "medium" if reach < 7 * DAY else "low",
            AT_RISK,
            f"Each run reads this {batch} and the {spans} before it, counted from the wall clock. A pause of the runs or a "
            f"lag of the source that is longer leaves a hole that no later run fills.",
            f"Set `lookback` above the longest pause you must survive, and after a longer one run "
            f"`dbt run --select {report.name} --event-time-start ... --event-time-end ...` over the gap.",
            self._place("lookback", "microbatch", "config"),
        )

    def _snapshot_of_relation(self) -> Report | None:
        if not as_bool(self.config.get("enabled", True), True):
            return None
        self.report.kind = "snapshot"
        self._describe_snapshot()
        return self._finish()

    def _describe_snapshot(self) -> None:
        report = self.report
        report.strategy = self._text(self.config.get("strategy") or "")
        report.watermark = self._text(self.config.get("updated_at") or "")
        report.lower_bound = "none: every row is compared with its last version"
        report.upper_bound = "none"
        report.lookback = "the whole source"
        report.reason = "Every run compares the whole source with what is stored, so nothing is skipped."

    def _snapshot(self) -> None:
        self._describe_snapshot()
        assert self.reading is not None
        if not self.reading.trees:
            self.unjudged.append(self.reading.trouble or "it holds no query")
        deletes = str(self.config.get("hard_deletes") or "") in {"invalidate", "new_record"} or as_bool(
            self.config.get("invalidate_hard_deletes")
        )
        for bound in self.reading.bounds:
            if bound.side == "lower" and not bound.in_join:
                self._wall_lower(
                    bound,
                    " Rows that left the window are taken for deleted ones." if deletes else "",
                    LOSES if deletes else "",
                )

    def _incremental(self) -> None:
        reading, report = self.reading, self.report
        assert reading is not None and self.rendered is not None
        windowed = [m for m in self.rendered.notebook.meanings if m.kind in {"windowed", "window_end"}]
        if not reading.trees:
            only_macro = re.fullmatch(r"\s*__tc_\d+__\s*", self.rendered.text)
            why = (
                f"all of its SQL comes from {show(self.rendered.text.strip(), self.rendered.notebook)}"
                if only_macro
                else reading.trouble
            )
            self.unjudged.append(why or "its SQL could not be read")
        elif self._is_one_macro():
            self.unjudged.append(
                f"all of its SQL comes from {show(self.rendered.text.strip(), self.rendered.notebook)[:80]}, which is not in these files"
            )
        lowers = [b for b in reading.bounds if b.side == "lower"]
        target = [b for b in lowers if b.terms("target")]
        for bound in target:
            self._target_lower(bound)
        self._foreign()
        counted = [b for b in lowers if b.terms("wall") and self._counts(b)]
        for bound in counted:
            if not bound.terms("target") or any(term.how == "greatest" for term in bound.terms("wall")):
                self._wall_lower(bound)
        if any(f.rule == "TC01" for f in report.findings):
            self._rereads_without_key([b for b in counted if b.terms("wall") and not b.equality])
        self._wall_upper(target, counted)
        self._source_lower(lowers)
        self._several_sources(target)
        if windowed:
            self._windowed(windowed)
        self._describe_window(lowers, windowed)

    def _is_one_macro(self) -> bool:
        assert self.reading is not None and self.rendered is not None
        text = self.rendered.text.strip().rstrip(";")
        return bool(TOKEN.fullmatch(text)) or (
            not self.reading.bounds
            and bool(re.fullmatch(r"select\s+\*\s+from\s+__tc_\d+__", text, re.I))
            and self._token_is_unknown(text)
        )

    def _token_is_unknown(self, text: str) -> bool:
        assert self.rendered is not None
        meaning = self.rendered.notebook.meaning(text)
        return bool(meaning and meaning.kind == "unknown")

    # bounds ------------------------------------------------------------------------------------------------------------

    def _counts(self, bound: Bound) -> bool:
        """Whether a comparison belongs to the incremental logic, and is no fixed condition of the model."""
        assert self.reading is not None and self.rendered is not None
        if bound.incremental:
            return True
        has_logic = (
            bool(self.rendered.incremental_spans) or self.reading.uses_this or self.rendered.notebook.asked_incremental
        )
        if not has_logic and not any(m.kind in {"windowed", "window_end"} for m in self.rendered.notebook.meanings):
            return not bound.in_join
        return show(bound.node.sql(), self.rendered.notebook) not in self._conditions_of_full_refresh()

    def _conditions_of_full_refresh(self) -> set[str]:
        if self._full_refresh is None:
            self._full_refresh = set()
            if self.rendered is not None and self.rendered.notebook.asked_incremental and self.reading is not None:
                other = render(self.node.text, self.surroundings, self.config, self.node.name, incremental=False)
                reading = Reader(other, self.reading.dialect, self.node.name).read()
                self._full_refresh = {show(bound.node.sql(), other.notebook) for bound in reading.bounds}
            elif self.reading is not None:
                assert self.rendered is not None
                self._full_refresh = {
                    show(b.node.sql(), self.rendered.notebook) for b in self.reading.bounds if not b.incremental
                }
        return self._full_refresh

    def _wall_lower(self, bound: Bound, more: str = "", verdict: str = "") -> None:
        walls = bound.terms("wall")
        if not walls:
            return
        term = max(walls, key=lambda t: t.offset if t.offset is not None else -1.0)
        reach = None if term.offset is None else -term.offset
        if reach is not None and reach >= HALF_A_YEAR:
            return
        column = self._row_name(bound)
        if (reach is not None and reach < DAY) or (bound.equality and reach is not None):
            verdict, severity = LOSES, "high"
        else:
            verdict = verdict or AT_RISK
            severity = "high" if reach is None or reach < 30 * DAY else "medium"
        back = "" if reach == 0 else f" minus {as_span(reach)}"
        if bound.equality:
            message = (
                f"Each run reads only the rows whose {column} is the wall clock's day{back}. A row that becomes visible a day later, "
                f"or a day on which no run came through, is never read."
            )
        else:
            message = (
                f"The window starts at the wall clock{back}, not where the target ends. If the source lags or no run comes through "
                f"for longer than that, the rows in between are never read."
            )
        change = f"Start from what the target holds: `{column} >= (select max({column}) from {{{{ this }}}})` minus a look-back, with a guard for the empty target."
        self._add("TC01", severity, verdict, message + more, change, self._source(bound))

    def _wall_upper(self, target: list[Bound], counted: list[Bound]) -> None:
        assert self.reading is not None
        for bound in self.reading.bounds:
            walls = [term for term in bound.terms("wall") if term.how != "least"]
            if bound.side != "upper" or not walls or bound.equality:
                continue
            mine = [
                b
                for b in self.reading.bounds
                if b.side == "lower" and b.select is bound.select and self._same_column(b, bound)
            ]
            made = [f for f in self.report.findings if f.rule == "TC05"] if any(b.terms("target") for b in mine) else []
            if made:
                self._add(
                    "TC01",
                    made[0].severity,
                    made[0].verdict,
                    "The window ends at the wall clock, and the next one starts at that moment: a row that was not yet visible when the window closed is before the start "
                    "of every later one.",
                    made[0].change,
                    self._source(bound),
                )
                continue
            if not bound.incremental or not self._counts(bound):
                continue
            if any(b.terms("wall") for b in mine):
                continue  # told at its lower bound
            held = [b for b in mine if b.terms("target")]
            column = self._row_name(bound)
            if held:
                if all(_looks_back(b) or not b.strict for b in held):
                    continue
                self._add(
                    "TC01",
                    "medium",
                    AT_RISK,
                    "The window ends at the wall clock, and the next one starts where this one ended: a row that becomes visible later with an "
                    "earlier time is in neither.",
                    f"Leave the upper end open, or end it at the greatest {column} that the source shows, and start the next window a look-back earlier.",
                    self._source(bound),
                )
            elif mine and not all(term.kind == "literal" for b in mine for term in b.value):
                self._add(
                    "TC01",
                    "high",
                    LOSES,
                    "The window ends at the wall clock, and its start is remembered elsewhere: rows that were not yet visible when a window closed "
                    "are before the start of the next one, and are never read.",
                    f"End the window at the greatest {column} that the source shows, and start the next one a look-back before what the target holds.",
                    self._source(bound),
                )

    def _same_column(self, one: Bound, other: Bound) -> bool:
        names = {term.name.lower() for term in one.row if term.kind == "column"}
        return bool(names & {term.name.lower() for term in other.row if term.kind == "column"})

    def _target_lower(self, bound: Bound) -> None:
        assert self.reading is not None and self.reader is not None and self.rendered is not None
        terms = bound.terms("target")
        term = terms[0]
        column = self._row_name(bound)
        source = self._source(bound)
        partition = term.name.lower() == "_dbt_max_partition"
        looks_back = _looks_back(bound)
        maximum = f"(select max({term.name}) from {{{{ this }}}})"
        if not partition and self._self_made(term, bound, source):
            pass
        elif not partition and not term.table:
            self._carried(term, bound, source)
        guarded = all(t.guarded for t in terms) or bound.guarded_by_or or self._guarded_in_template(terms)
        if not guarded and self.reading.dialect not in NO_NULL_MAXIMUM:
            self._add(
                "TC02",
                "medium",
                AT_RISK,
                "While the target is empty its maximum is NULL and no comparison with NULL is true: a first run that found nothing makes every later run find nothing.",
                f"Add `or {maximum} is null`, or coalesce the maximum to a value before all data.",
                source,
            )
        if not looks_back and bound.strict and not self._wall_made_target(term):
            self._add(
                "TC03",
                "medium",
                AT_RISK,
                f"Only rows whose {column} is after the greatest one stored are read. A row with the same {column}, or one that becomes visible late, is skipped for good.",
                f"Use `>=` and start a look-back before the maximum, with a unique key: `{column} >= {maximum}` minus two days.",
                source,
                self._operator(bound) if self.has_key else -1,
            )
        elif not looks_back and not bound.strict and not partition and not self._wall_made_target(term):
            self._add(
                "TC10",
                "low",
                AT_RISK,
                f"Rows with the greatest {column} are read again, but a row that becomes visible after a newer one was stored is not: there is no look-back.",
                f"Start a look-back before the maximum: `{column} >= {maximum}` minus as long as rows may be late.",
                source,
            )
        if (looks_back or not bound.strict) and not partition:
            self._rereads_without_key([bound])

    def _rereads_without_key(self, bounds: list[Bound]) -> None:
        assert self.reading is not None
        if self.has_key or self.reading.anti_joins or not bounds or any(f.rule == "TC04" for f in self.report.findings):
            return
        hooks = " ".join(
            str(part) for part in as_list(self.config.get("pre_hook")) + as_list(self.config.get("pre-hook"))
        )
        if re.search(r"\b(delete|truncate)\b", hooks, re.I):
            return
        why = (
            "strategy append ignores the unique key"
            if self.report.strategy == "append" and self.report.unique_key
            else "there is no unique key"
        )
        self._add(
            "TC04",
            "medium",
            AT_RISK,
            f"Every run reads rows again that are already stored, and {why}: they are stored twice.",
            "Set `unique_key` and a strategy that uses it (newest_wins, merge, delete+insert).",
            self._source(bounds[0]),
        )

    def _self_made(self, term: Term, bound: Bound, source: int) -> bool:
        made = self._output(term.name)
        walls = [t for t in made if t.kind == "wall" and t.how != "least"]
        if not walls:
            return False
        whole = not any(t.kind in {"column", "source_max"} for t in made)
        if not whole and not any(t.how in {"fallback", "greatest"} or t.guarded for t in walls):
            return False
        reach = max((-t.offset if t.offset is not None else DAY) for t in bound.terms("target"))
        if reach > 0:
            message = (
                f"The model fills {term.name} from the wall clock and then asks for rows from {as_span(reach)} before its greatest value. The window starts at the "
                f"time of the last run, not at the last row seen: what becomes visible later than {as_span(reach)} is never read."
            )
        elif whole:
            message = (
                f"The model fills {term.name} from the wall clock and then asks for rows after its greatest value. The window's start is the time of the "
                f"last run, not the last row seen: whatever became visible later with an earlier time is never read."
            )
        else:
            message = (
                f"The model fills {term.name} from the wall clock where the source has no value. One such row moves the window's start to the time of a "
                f"run, past rows that are not yet visible."
            )
        change = "Keep the source's own change time in the model under its own name, and take the maximum of that, minus a look-back."
        loses = whole and reach <= 0
        self._add(
            "TC05",
            "high" if loses or (whole and reach < DAY) else "medium",
            LOSES if loses else AT_RISK,
            message,
            change,
            source,
        )
        return True

    def _wall_made_target(self, term: Term) -> bool:
        return any(t.kind == "wall" and t.how != "least" for t in self._output(term.name))

    def _output(self, name: str) -> Value:
        assert self.reading is not None and self.reader is not None
        if self.reading.fragments or not self.reading.trees:
            return ()
        return self.reader.output(self.reading.trees[-1], name)

    def _carried(self, term: Term, bound: Bound, source: int) -> None:
        assert self.reading is not None and self.reader is not None
        if self.reading.fragments or not self.reading.trees:
            return
        outputs = self.reader.outputs(self.reading.trees[-1])
        filtered = {t.name.lower() for t in bound.row if t.kind == "column"}
        if outputs is not None and term.name.lower() not in outputs:
            if self._macro_in_output():
                return
            self._add(
                "TC08",
                "medium",
                AT_RISK,
                f"The window starts at the target's greatest {term.name}, a column that the model does not carry: the second run fails, or reads a column of an "
                f"older build that no longer moves.",
                f"Carry {term.name} into the model.",
                source,
            )
            return
        made = self._output(term.name)
        bases = self.reader.base_columns(made)
        if not made or not bases or any(t.kind in {"unknown", "wall", "window"} for t in made):
            return
        if any(t.table == "a macro" for t in (*made, *bound.row)):
            return
        read = {t.table for t in bound.row if t.kind == "column"}
        if not read & {t.table for t in made} and not any(t.kind == "source_max" for t in made):
            return  # columns of two tables: their names say nothing about each other
        same_day = any(t.trunc >= DAY for t in made) and any("date" in name or "day" in name for name in filtered)
        if bases & filtered or term.name.lower() in filtered or same_day:
            self._carried_ones.add(term.name.lower())
            return
        self._foreign_ones.append((bound, term, bases))

    def _foreign(self) -> None:
        for bound, term, bases in self._foreign_ones:
            if self._carried_ones:
                continue  # another filter continues the window; this one spares reading of a table beside it
            self._add_foreign(bound, term, bases)

    def _add_foreign(self, bound: Bound, term: Term, bases: set[str]) -> None:
        shown = self._row_name(bound)
        self._add(
            "TC08",
            "medium",
            AT_RISK,
            f"Rows are filtered by {shown}, but the window starts at the greatest {term.name}, which is another column ({', '.join(sorted(bases))}): the two clocks "
            f"need not agree, and rows between them are skipped.",
            f"Carry {shown} into the model and compare it with its own maximum.",
            self._source(bound),
        )

    def _macro_in_output(self) -> bool:
        assert self.rendered is not None
        return any(m.kind == "unknown" and m.name.endswith("()") for m in self.rendered.notebook.meanings)

    def _source_lower(self, lowers: list[Bound]) -> None:
        for bound in lowers:
            terms = bound.terms("source_max")
            if not terms or bound.terms("target") or not bound.incremental or bound.equality or bound.in_join:
                continue
            if any(t.kind in {"wall"} for t in bound.value):
                continue
            self._add(
                "TC11",
                "medium",
                AT_RISK,
                "The window starts at the greatest value that the source shows, whatever the target holds: after a pause longer than its reach the rows before it are "
                "never read.",
                RULES["TC11"].help,
                self._source(bound),
            )

    def _several_sources(self, target: list[Bound]) -> None:
        assert self.reader is not None and self.reading is not None
        plain = [b for b in target if not any(t.filtered for t in b.terms("target"))]
        branches: dict[int, list[tuple[Bound, frozenset[str]]]] = {}
        for bound in plain:
            union = _union_above(bound.select)
            if union is None:
                continue
            branch = _branch_of(bound.select, union)
            branches.setdefault(id(union), []).append((bound, frozenset(self.reader.tables_of(branch))))
        places: list[tuple[Bound, int]] = []
        for found in branches.values():
            if len({tables for _, tables in found}) > 1:
                places.append((found[-1][0], len({tables for _, tables in found})))
        if not places:
            for bound in plain:
                tables = {t.table for t in bound.row if t.kind == "column" and t.table}
                if len(tables) > 1 and self._through_union(bound):
                    places.append((bound, len(tables)))
        for bound, count in places[:1]:
            self._add(
                "TC07",
                "high" if bound.strict and not _looks_back(bound) else "medium",
                AT_RISK,
                f"One maximum serves {count} sources: the source that is furthest ahead moves it, and rows of the slower ones that are still to come lie before it.",
                RULES["TC07"].help,
                self._source(bound),
            )

    def _through_union(self, bound: Bound) -> bool:
        assert self.rendered is not None and self.reading is not None
        if any(m.kind == "union" for m in self.rendered.notebook.meanings):
            return True
        column = next((node for node in bound.node.find_all(exp.Column)), None)
        select = bound.select
        if column is None or not isinstance(select, exp.Select) or self.reader is None:
            return False
        seen: set[int] = set()
        stack = list(self.reader._sources(select).values())
        while stack:
            source = stack.pop()
            if id(source) in seen or not isinstance(source, exp.Expression):
                continue
            seen.add(id(source))
            if isinstance(source, exp.SetOperation):
                return True
            if isinstance(source, exp.Select):
                stack += list(self.reader._sources(source).values())
            elif isinstance(source, exp.Subquery):
                stack.append(source.unnest())
        return False

    def _windowed(self, meanings: list[Any]) -> None:
        report, reading = self.report, self.reading
        assert reading is not None
        given = meanings[0].details
        place = self._place("two_clocks.windowed", "two_clocks.window", "config")
        newest = bool(self.config.get("two_clocks_newest_wins"))
        if not report.unique_key and report.strategy != "microbatch":
            self._add(
                "TC04",
                "medium",
                AT_RISK,
                "The window starts again a look-back before the watermark, and there is no unique key: the rows in it are stored twice.",
                "Set `unique_key`, and the strategy newest_wins.",
                place,
            )
        elif report.strategy != "newest_wins" and not newest:
            report.notes.append("Strategy newest_wins would also keep an older version from replacing a newer one.")
        if str(given.get("lookback", self.surroundings.variables.get("two_clocks_lookback", "48 hours"))).strip() in {
            "0",
            "0.0",
            "0 hours",
            "0 days",
            "0 seconds",
        }:
            self._add(
                "TC10",
                "low",
                AT_RISK,
                "The look-back is 0: a row that becomes visible after a newer one was stored is not read.",
                RULES["TC10"].help,
                place,
            )
        without_stream = [m for m in meanings if m.kind == "windowed" and "stream" not in m.details]
        if (
            len({m.details.get("relation") for m in without_stream}) > 1
            and reading.trees
            and any(tree.find(exp.SetOperation) for tree in reading.trees)
        ):
            self._add(
                "TC07",
                "high",
                AT_RISK,
                "One maximum serves several sources: the fast one moves the window past rows of the slow one.",
                "Give each source a `stream` and a `target_filter`.",
                place,
            )

    def _guarded_in_template(self, terms: list[Term]) -> bool:
        """A watermark that the template asked for with run_query can be guarded there, too."""
        if not all(term.through_query for term in terms):
            return False
        return bool(
            re.search(
                r"\bis (?:not )?none\b|\bdefault\(|\bor\s+['\"(\d]|\{%-?\s*if\s+\w+\s*(?:and\b|[-+]?%\})",
                self.node.text,
            )
        )

    # predicates --------------------------------------------------------------------------------------------------------

    def _predicates(self) -> None:
        given = self.config.get("incremental_predicates") or self.config.get("predicates")
        if self.rendered is None or given is None or self.report.kind == "snapshot":
            return
        place = self._place("incremental_predicates", "predicates", "config")
        for predicate in as_list(given):
            text = without_marks(predicate)
            if "{{" in text:
                session = Session(self.surroundings, self.config, self.node.name)
                session.notebook = self.rendered.notebook
                text = without_marks(session.evaluate(text))
            tree = self._parsed(text)
            if tree is None:
                continue
            condition = tree.args["where"].this
            if isinstance(condition, exp.Or):
                deletes = self.report.strategy == "delete+insert" or (
                    not self.report.strategy and self.dialect in {"postgres", "duckdb", "redshift"}
                )
                self._add(
                    "TC06",
                    "high" if deletes else "medium",
                    LOSES if deletes else AT_RISK,
                    "A predicate holds an OR without parentheses. dbt joins predicates to the key's condition with AND, so what follows the OR applies to rows with any key"
                    + (": delete+insert deletes them." if deletes else "."),
                    "Put parentheses around the whole predicate.",
                    place,
                )
            reader = Reader(self.rendered, self.dialect, self.node.name)
            reader._shift = -(10**9)
            reading = Reading([tree], self.dialect)
            reader._collect(reading, tree)
            for bound in reading.bounds:
                walls = bound.terms("wall")
                if bound.side != "lower" or not walls:
                    continue
                reach = walls[0].offset
                self._add(
                    "TC06",
                    "medium",
                    AT_RISK,
                    f"The merge looks for stored rows only back to the wall clock minus {as_span(reach)}: a row whose stored version is older is not found and is stored a second time.",
                    "Bound the predicate by the data that the run brings, or leave it out.",
                    place,
                )

    def _parsed(self, text: str) -> exp.Expression | None:
        for dialect in (self.dialect, "snowflake", "bigquery", "postgres"):
            try:
                return sqlglot.parse_one(f"select 1 from tc_target where {text}", read=dialect or None)
            except (SqlglotError, RecursionError, ValueError, TypeError):
                continue
        return None

    # words -------------------------------------------------------------------------------------------------------------

    def _row_name(self, bound: Bound) -> str:
        names = [term.name for term in bound.row if term.kind == "column"]
        return names[0] if names else "the watermark"

    def _source(self, bound: Bound) -> int:
        assert self.rendered is not None
        position = bound.position
        if position < 0:
            return self._place("is_incremental", "config")
        return self.rendered.source_offset(position)

    def _place(self, *words: str) -> int:
        for word in words:
            at = self.node.text.find(word)
            if at >= 0:
                return at
        return 0

    def _operator(self, bound: Bound) -> int:
        """Where the comparison's own `>` or `<` stands in the file; -1 where that cannot be told for sure."""
        assert self.rendered is not None
        sign = "<" if isinstance(bound.node, exp.LT) else ">"
        if not isinstance(bound.node, (exp.LT, exp.GT)) or bound.position < 0 or self.rendered.trouble:
            return -1
        ends = [part.meta["end"] for part in bound.node.this.walk() if part.meta.get("end") is not None]
        starts = [part.meta["start"] for part in bound.node.expression.walk() if part.meta.get("start") is not None]
        if not ends or not starts or max(ends) >= min(starts):
            return -1
        between = self.rendered.text[max(ends) + 1 : min(starts)]
        found = list(re.finditer(rf"(?<![-=<>!]){sign}(?![=<>])", between))
        position = max(ends) + 1 + found[0].start() if len(found) == 1 else -1
        if position < 0 or not self.rendered.is_literal(position):
            return -1
        offset = self.rendered.source_offset(position)
        return offset if self.node.text[offset : offset + 1] == sign else -1

    def _add(
        self, rule: str, severity: str, verdict: str, message: str, change: str, offset: int, operator: int = -1
    ) -> None:
        line, column = line_and_column(self.node.text, offset)
        same = next((f for f in self.report.findings if f.rule == rule and f.line == line), None)
        if same is None:
            self.report.findings.append(
                Finding(
                    rule, severity, verdict, message, change, offset, line, column, self.node.path, operator=operator
                )
            )
        elif VERDICTS.index(verdict) > VERDICTS.index(same.verdict):
            same.severity, same.verdict, same.message, same.change = severity, verdict, message, change

    def _describe_window(self, lowers: list[Bound], windowed: list[Any]) -> None:
        report, reading, rendered = self.report, self.reading, self.rendered
        assert reading is not None and rendered is not None
        if windowed:
            given = windowed[0].details
            report.watermark = show(given.get("watermark", ""), rendered.notebook)
            report.lookback = str(
                given.get("lookback") or self.surroundings.variables.get("two_clocks_lookback") or "48 hours"
            )
            report.lower_bound = "what the target holds, minus the look-back"
            report.upper_bound = "the greatest watermark that the source shows"
            report.reason = "The window is cut by two_clocks on the data's own clock."
            return
        lowers = sorted(lowers, key=lambda b: b.in_join)  # the first that is a filter, rather than a join
        chosen = next((b for b in lowers if b.terms("target")), None)
        chosen = chosen or next((b for b in lowers if b.terms("wall") and self._counts(b)), None)
        chosen = chosen or next((b for b in lowers if b.incremental), None)
        uppers = [
            b
            for b in reading.bounds
            if b.side == "upper"
            and (b.incremental or b.terms("wall"))
            and (self._counts(b) or (chosen is not None and self._same_column(b, chosen)))
        ]
        report.upper_bound = self._shown(uppers[0]) if uppers else "none: all that is visible"
        if chosen is not None:
            report.watermark = self._row_name(chosen)
            report.lower_bound = self._shown(chosen)
            term = next((t for t in chosen.value if t.kind in {"target", "wall", "source_max"}), None)
            if term is not None and term.kind != "wall":
                report.lookback = (
                    "none"
                    if not _looks_back(chosen)
                    else as_span(term.offset)
                    if term.offset != 0
                    else "to the start of its period"
                )
            elif term is not None:
                report.lookback = f"{as_span(term.offset)}, counted from the wall clock" if term.offset != 0 else "none"
            if not report.findings and term is not None:
                report.reason = (
                    "The window starts where the target ends, a look-back earlier." if term.kind == "target" else ""
                )
            if not report.findings and any(t.kind == "target_min" for t in chosen.value):
                report.reason = (
                    "The window starts at the smallest stored value, so every run reads everything after it."
                )
            kept = next((t.table for t in chosen.value if t.kind == "elsewhere"), "")
            if kept and term is None and not report.findings:
                self.unjudged.append(
                    f"its window starts at a value that is kept in {kept}, and nothing here says what moves it"
                )
        if reading.unknown_conditions and not any(b.terms("target") for b in lowers):
            names = sorted({name for _, name in reading.unknown_conditions})
            self.unjudged.append(f"its window depends on {', '.join(names[:3])}, which these files do not explain")
            return
        if chosen is not None or report.reason:
            return
        if reading.anti_joins:
            report.lower_bound = "rows whose key the target does not hold"
            report.lookback = "the whole source"
            report.reason = "It looks for keys that the target does not hold, so no new key is skipped; a change to a stored row is not read."
        elif reading.fixed_lower and not reading.other_conditions:
            report.lower_bound = "a fixed value"
            report.reason = "The window starts at a fixed value, so every run reads everything after it."
        elif reading.other_conditions and rendered.incremental_spans:
            conditions = show(reading.other_conditions[0][1], rendered.notebook)
            self.unjudged.append(
                f"its incremental filter compares neither with a clock nor with the target ({conditions[:100]})"
            )
        elif rendered.notebook.asked_incremental and (rendered.trouble or reading.fragments):
            self.unjudged.append(rendered.trouble or "its SQL could not be read")
        elif self._unknown_in_incremental_block():
            self.unjudged.append(
                f"its incremental block comes from {self._unknown_in_incremental_block()}, which these files do not explain"
            )
        elif reading.trees:
            report.lower_bound = "none"
            report.lookback = "the whole source"
            report.reason = "It has no incremental filter: every run reads the whole source, so nothing is skipped."
            if not self.has_key:
                report.notes.append("It has no unique key either, so what is read again is stored again.")

    def _unknown_in_incremental_block(self) -> str:
        assert self.rendered is not None
        for start, end in self.rendered.incremental_spans:
            for found in TOKEN.finditer(self.rendered.text[start:end]):
                meaning = self.rendered.notebook.meaning(found.group(0))
                if meaning and meaning.kind == "unknown":
                    return meaning.name
        return ""

    def _shown(self, bound: Bound) -> str:
        assert self.rendered is not None and self.reading is not None
        written = self._written(bound)
        if written:
            return written
        try:
            text = bound.node.sql(dialect=self.reading.dialect or None)
        except (SqlglotError, RecursionError, ValueError):
            text = bound.node.sql()
        return show(text, self.rendered.notebook)[:200]

    def place_of(self, bound: Bound) -> tuple[int, int] | None:
        """Where the comparison stands in the file, if it is one piece of text there."""
        assert self.rendered is not None
        ends = [part.meta["end"] for part in bound.node.walk() if part.meta.get("end") is not None]
        if not ends or bound.position < 0 or self.rendered.trouble:
            return None
        start, last = self.rendered.source_offset(bound.position), max(ends)
        end = self.rendered.source_offset(last) + 1
        closing = bound.node.args.get("high") or bound.node.args.get("expression")
        if closing is not None and all(part.meta.get("end") is None for part in closing.walk()):
            bare = _BARE_CLOCK.match(self.node.text[end:])  # a keyword such as current_date has no place of its own
            if bare is None or isinstance(bound.node, exp.Between):
                return None
            end += bare.end()
        if not self.rendered.is_literal(last):
            closed = self.node.text.find("}}", end)
            end = closed + 2 if closed >= 0 else end
        text = self.node.text[start:end]
        # what has no place of its own: closing parentheses, an alias of a subquery, an empty list of arguments
        while text.count("(") > text.count(")") or self.node.text[end : end + 1] == "(":
            rest = re.match(r"\s*\)|\(\s*\)|\s+as\s+\w+|\s+\w+(?=\s*\))", self.node.text[end:], re.I)
            if rest is None:
                return None
            end += rest.end()
            text = self.node.text[start:end]
        return (start, end) if 0 < end - start < 400 and text.count("(") == text.count(")") else None

    def _written(self, bound: Bound) -> str:
        """The comparison as it stands in the file; empty where that is not one piece of text."""
        place = self.place_of(bound)
        return " ".join(self.node.text[place[0] : place[1]].split()) if place else ""

    # the end -----------------------------------------------------------------------------------------------------------

    def _finish(self) -> Report:
        report = self.report
        self._silence()
        if report.findings:
            worst = max(
                report.findings, key=lambda f: (VERDICTS.index(f.verdict), SEVERITIES.index(f.severity), -f.line)
            )
            report.verdict, report.reason, report.change, report.line = (
                worst.verdict,
                worst.message,
                worst.change,
                worst.line,
            )
            report.severity = max((f.severity for f in report.findings), key=SEVERITIES.index)
            report.notes += [f"Not judged: {why}." for why in self.unjudged]
        elif self.unjudged:
            self._not_judged(self.unjudged[0])
        else:
            report.verdict = SAFE
            report.reason = report.reason or "Nothing was found that loses rows."
        return report

    def _silence(self) -> None:
        reasons: dict[str, str] = {}
        bare: set[str] = set()
        for found in _IGNORE.finditer(self.node.text):
            reason = (found.group("reason") or "").strip()
            for code in re.findall(r"TC\d\d", found.group("codes").upper()):
                if reason:
                    reasons[code] = reason
                else:
                    bare.add(code)
        for code, reason in _dict(_dict(self.config.get("meta")).get("two_clocks_ignore")).items():
            if str(reason).strip():
                reasons[str(code).upper()] = str(reason)
        kept = []
        for finding in self.report.findings:
            if finding.rule in reasons:
                finding.reason_to_ignore = reasons[finding.rule]
                self.report.silenced.append(finding)
            else:
                kept.append(finding)
        self.report.findings = kept
        for code in sorted(bare - set(reasons)):
            self.report.notes.append(f"{code} is not silenced: the comment gives no reason.")


def _dict(value: Any) -> dict[Any, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _looks_back(bound: Bound) -> bool:
    for term in bound.terms("target"):
        if term.offset is None or term.offset < 0:
            return True
        row_trunc = max((t.trunc for t in bound.row), default=0.0)
        if (term.trunc > row_trunc or (term.trunc and not bound.strict)) and term.name.lower() != "_dbt_max_partition":
            return True
    return False


def _union_above(select: exp.Expression) -> exp.Expression | None:
    place = select.parent
    found = None
    while place is not None and isinstance(place, (exp.SetOperation, exp.Subquery, exp.Paren)):
        if isinstance(place, exp.SetOperation):
            found = place
        place = place.parent
    if found is None and place is not None:
        return None
    return found


def _branch_of(select: exp.Expression, union: exp.Expression) -> exp.Expression:
    return select


def show(text: str, notebook: Notebook | None) -> str:
    """SQL with its tokens as a person would write them."""
    if notebook is None:
        return text

    def written(found: re.Match[str]) -> str:
        meaning = notebook.meaning(found.group(0))
        if meaning is None:
            return found.group(0)
        if meaning.kind == "this":
            return "{{ this }}"
        if meaning.kind == "wall":
            return "{{ now }}"
        if meaning.kind == "query":
            return f"({show(meaning.sql, notebook)})"
        if meaning.kind == "unknown":
            return f"{{{{ {meaning.name} }}}}"
        return meaning.name

    return re.sub(
        r"\btc_(dateadd|date_trunc|datediff|now)\b", r"dbt.\1", TOKEN.sub(written, " ".join(text.split())), flags=re.I
    )


def judge(node: Node, surroundings: Surroundings, dialect: str) -> Report | None:
    """The report on one node."""
    return judge_with(Judge(node, surroundings, dialect))


def judge_with(worker: Judge) -> Report | None:
    """The report of a judge; a fault of the audit itself becomes a model that was not judged."""
    try:
        return worker.judge()
    except (RecursionError, MemoryError) as error:
        return worker._not_judged(f"it is too deep or too large to read ({type(error).__name__})")
    except Exception as error:  # one model must not end the audit of a thousand
        return worker._not_judged(
            f"the audit itself failed on it ({type(error).__name__}: {' '.join(str(error).split())[:120]})"
        )
