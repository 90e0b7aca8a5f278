"""Source against target: which rows are missing, stale or orphaned, and what the ledger knows about why."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun
from two_clocks.recovery.dbt import Model, Window, ask, open_model, target_exists

LOST = ("missing", "stale", "differs")
WHATS = (*LOST, "orphaned")

# names come as vars: in the template itself a quote in one would end the text that it stands in
LEDGER_WINDOWS = "{{ two_clocks.ledger_windows_query(var('two_clocks_model', '')) }}"
OPEN_RANGES = "{{ two_clocks.open_ranges_sql(var('two_clocks_models', []), settled=true) }}"

# A list of buckets longer than this is no shorter a way than looking at every key.
LISTED_BUCKETS = 4096

BEYOND_LOOKBACK = "late beyond the look-back"
NO_WINDOW = "in no window"
WRITTEN_OFF = "in a range that a person has written off"
LEFT_OUT = "in a range that windows leave out because nothing in it could be read"
WITHIN_REACH = "within the look-back: the next run reads it"
GONE = "gone from the source"


@dataclass(frozen=True)
class Pair:
    """What is compared with what: the arguments of the macro comparison(), and where they came from."""

    name: str
    arguments: Mapping[str, Any]
    model: Model | None = None
    window: Window | None = None

    @property
    def unique_key(self) -> list[str]:
        key = self.arguments["unique_key"]
        return [key] if isinstance(key, str) else list(key)

    @property
    def target(self) -> str:
        return self.arguments["target"]


@dataclass(frozen=True)
class Difference:
    """One key that is not in the target as it should be."""

    what: str
    key: tuple[str, ...]
    source_watermark: str | None  # exact, in the watermark's own type
    target_watermark: str | None
    source_utc: str | None
    target_utc: str | None
    reason: str | None = None
    window_id: str | None = None

    @property
    def watermark(self) -> str | None:
        """The watermark at which the source and the target part: the source's, or of an orphan the target's."""
        return self.target_watermark if self.what == "orphaned" else self.source_watermark

    @property
    def spoken(self) -> str:
        utc, value = (
            (self.target_utc, self.target_watermark)
            if self.what == "orphaned"
            else (self.source_utc, self.source_watermark)
        )
        return tidy(utc or value) or "none"


@dataclass(frozen=True)
class Reconciliation:
    pair: Pair
    clocks: Mapping[str, Any]
    arguments: Mapping[str, Any]  # those of the pair, with the watermark up to which this comparison looked
    totals: Mapping[str, int]
    buckets: Sequence[int]  # that differ
    differences: Sequence[Difference]
    windows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # those named by differences
    uneligible: Mapping[str, Any] = field(default_factory=dict)
    in_quarantine: int = 0  # rows that the model's own SQL leaves out, by its rules

    @property
    def is_equal(self) -> bool:
        return not self.differences

    def of(self, *whats: str) -> list[Difference]:
        return [difference for difference in self.differences if difference.what in whats]

    def counts(self) -> dict[str, int]:
        counted = Counter(difference.what for difference in self.differences)
        return {what: counted[what] for what in WHATS}

    def as_json(self) -> dict[str, Any]:
        ordered = sorted(
            self.differences,
            key=lambda difference: comparable(difference.source_utc or difference.target_utc, difference.watermark),
        )
        return {
            "name": self.pair.name,
            "model": self.pair.model.unique_id if self.pair.model else None,
            "stream": self.pair.window.stream or None if self.pair.window else None,
            "unique_key": self.pair.unique_key,
            "wall_clock": self.clocks["wall_clock"],
            "source_watermark": self.clocks["source_watermark"],
            "target_watermark": self.clocks["target_watermark"],
            "compared_up_to": self.clocks["upto"],
            "rows_compared": {"source": self.totals["source_compared"], "target": self.totals["target_compared"]},
            "buckets_differing": len(self.buckets),
            "counts": self.counts(),
            "earliest": ordered[0].watermark if ordered else None,
            "latest": ordered[-1].watermark if ordered else None,
            "not_compared": self.not_compared(),
            "windows": [
                {
                    "reason": reason,
                    **{name: window.get(name) for name in ("window_id", "window_from", "window_to", "wall_clock")},
                    "keys": len(group),
                }
                for reason, window, group in self.by_window()
            ],
            "keys": [
                {
                    "what": difference.what,
                    "key": dict(zip(self.pair.unique_key, difference.key, strict=True)),
                    "source_watermark": difference.source_watermark,
                    "target_watermark": difference.target_watermark,
                    "reason": difference.reason,
                    "window_id": difference.window_id,
                }
                for difference in ordered
            ],
        }

    def not_compared(self) -> dict[str, int]:
        """Rows of the source that were left out, by reason."""
        later, unmarked, future, keyless = (
            self.totals[f"source_{name}"] for name in ("later", "unmarked", "future", "keyless")
        )
        if self.uneligible:
            unmarked, future = int(self.uneligible["unmarked"]), int(self.uneligible["future"])
        return {
            "later_than_compared": later,
            "null_watermark": unmarked,
            "future": future,
            "null_key": keyless,
            "in_quarantine": self.in_quarantine,
        }

    def by_window(self) -> list[tuple[str, Mapping[str, Any], list[Difference]]]:
        """(reason, the last window that held these watermarks or an empty mapping, the differences), in order of time."""
        groups: dict[tuple[str, str], list[Difference]] = {}
        for difference in self.differences:
            groups.setdefault((difference.reason or "", difference.window_id or ""), []).append(difference)
        return [(reason, self.windows.get(window_id, {}), group) for (reason, window_id), group in groups.items()]


class NotBuilt(CannotRun):
    """The model has no table yet."""


def pairs_of_model(session: DbtSession, unique_id: str, overrides: Mapping[str, Any]) -> list[Pair]:
    """One pair for each stream of a model: the model's own SQL, as a full refresh would run it, against its table.

    So a row that the model filters out is not lost, and no column needs to be told what it is called in the source.

    Raises:
        CannotRun: there is nothing to compare, or no key or watermark is known.
    """
    node = session.manifest.nodes[unique_id]
    # asked first: a model that was never built may not compile either, since its source may not be there yet
    if str(node.config.materialized) in ("incremental", "table") and not target_exists(session, unique_id):
        raise NotBuilt(
            f"The table of model {node.name}, {plain(node.relation_name)}, does not exist yet: run the model first."
        )
    model = open_model(session, unique_id)
    given = {name: value for name, value in overrides.items() if value is not None and value != ()}
    if model.materialized not in ("incremental", "table"):
        raise CannotRun(
            f"Model {model.name} is a {model.materialized} and keeps no rows of its own: there is nothing that could be lost."
        )
    if not model.unique_key and "unique_key" not in given:
        raise CannotRun(
            f"Model {model.name} declares no unique_key: name the column that tells one row from another with --unique-key."
        )
    if "source" not in given and not model.reads_everything:
        raise CannotRun(
            f"Model {model.name} is set to full_refresh: false, so dbt never shows the SQL that reads everything: "
            "name its source with --source."
        )
    own = {"source": f"({model.sql}\n)", "target": model.relation, "unique_key": list(model.unique_key)}
    if not model.is_windowed:
        if "watermark" not in given:
            raise CannotRun(
                f"Model {model.name} reads its source through no window of this package, so nothing says which column is its "
                "watermark: name it with --watermark."
            )
        return [Pair(model.name, {**own, **given}, model)]
    pairs = []
    for window in model.windows:
        arguments = {
            **own,
            # the model's SQL has the target's names; a source named by hand has its own
            "watermark": window.watermark if "source" in given else window.target_watermark,
            "target_watermark": window.target_watermark,
            "time_zone": window.time_zone,
            "epoch": window.epoch,
            "lookback_amount": window.lookback,
            "source_filter": window.target_filter,
            "target_filter": window.target_filter,
        }
        name = f"{model.name} ({window.stream})" if window.stream else model.name
        pairs.append(Pair(name, {**arguments, **given}, model, window))
    return pairs


def reconcile(session: DbtSession, pair: Pair) -> Reconciliation:
    """Two passes over checksums, and the keys of the buckets that differ. Writes nothing."""
    arguments = dict(pair.arguments)
    clocks = _step(session, "clocks", arguments)[0]
    # both steps look at the same rows, even if the target's watermark moves on in between
    arguments |= {"epoch": clocks["epoch"] or None}
    if clocks["upto"] is not None:
        exact = clocks["upto"] + ("+00" if clocks["kind"] == "timestamptz" else "")
        arguments |= {"upto": exact, "until": None, "settle": None}
    buckets = _step(session, "buckets", arguments)
    totals = _totals(buckets)
    differing = [int(row["bucket"]) for row in buckets if row["differs"]]
    differences: list[Difference] = []
    if differing:
        looked_at = {**arguments, "in_buckets": differing if len(differing) <= LISTED_BUCKETS else "all"}
        differences = [_difference(row, len(pair.unique_key)) for row in _step(session, "keys", looked_at)]
    found = Reconciliation(pair, clocks, arguments, totals, differing, differences)
    if pair.window and "source" not in _overridden(pair):
        found = replace(
            found, uneligible=_uneligible(session, pair.window), in_quarantine=_in_quarantine(session, pair)
        )
    return explain(session, found)


def _overridden(pair: Pair) -> set[str]:
    return {"source"} if pair.arguments.get("source_is_name") else set()


def _step(session: DbtSession, step: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    return ask(session, "{{ two_clocks.reconcile_query('" + step + "') }}", {"two_clocks_reconcile": dict(arguments)})


def _totals(buckets: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    names = [
        f"{side}_{name}"
        for side in ("source", "target")
        for name in ("compared", "later", "future", "unmarked", "keyless")
    ]
    return {name: int(buckets[0][name]) if buckets else 0 for name in names}


def _difference(row: Mapping[str, Any], members: int) -> Difference:
    return Difference(
        what=row["what"],
        key=tuple(str(row[f"key_{number}"]) for number in range(1, members + 1)),
        source_watermark=row["source_watermark"],
        target_watermark=row["target_watermark"],
        source_utc=row["source_watermark_utc"],
        target_utc=row["target_watermark_utc"],
    )


def _uneligible(session: DbtSession, window: Window) -> dict[str, Any]:
    arguments = {
        "relation": window.source_relation,
        "watermark": window.watermark_sql,
        "kind": window.kind,
        "units": window.units_per_second,
        "type": window.watermark_type,
        "time_zone": window.time_zone,
    }
    return ask(session, "{{ two_clocks.uneligible_query() }}", {"two_clocks_uneligible": arguments})[0]


def _in_quarantine(session: DbtSession, pair: Pair) -> int:
    given = {"two_clocks_model": pair.model.unique_id, "two_clocks_stream": pair.window.stream}
    question = "{{ two_clocks.held_rows_query(var('two_clocks_model', ''), var('two_clocks_stream', '')) }}"
    return int(ask(session, question, given)[0]["held"])


def explain(session: DbtSession, found: Reconciliation) -> Reconciliation:
    """Adds to every difference what the ledger knows: which window read its watermark last, if any did."""
    pair = found.pair
    if not pair.window or not found.differences:
        return found
    rows = ask(session, LEDGER_WINDOWS, {"two_clocks_model": pair.model.unique_id})
    history = [row for row in rows if row["stream"] == pair.window.stream and row["window_to_value"] is not None]
    is_id = found.clocks["epoch"] == "id"
    reach = found.clocks["next_from"] if is_id else found.clocks["next_from_utc"]

    lost = sorted(
        (_mark(difference, is_id), place)
        for place, difference in enumerate(found.differences)
        if difference.what != "orphaned"
    )
    marks = [mark for mark, _ in lost]
    last_window: dict[int, Mapping[str, Any]] = {}
    unexplained = len(lost)
    for window in history:  # newest first: the first window that holds a watermark is the last that read it
        if not unexplained:
            break
        lower, upper = (_end(window, name, is_id) for name in ("window_from", "window_to"))
        first = bisect_left(marks, lower) if lower is not None else 0
        for _, place in lost[first : bisect_right(marks, upper)]:
            if place not in last_window:
                last_window[place] = window
                unexplained -= 1

    left_out = _left_out(session, pair)
    explained = []
    for place, difference in enumerate(found.differences):
        window = last_window.get(place)
        mark = None if difference.what == "orphaned" else _mark(difference, is_id)
        own = None if mark is None else _in_order(difference.source_watermark)
        if difference.what == "orphaned":
            reason = GONE
        elif why := _why_left_out(left_out, own):
            reason = why
        elif reach is not None and mark >= (int(reach) if is_id else reach):
            reason = WITHIN_REACH
        else:
            reason = BEYOND_LOOKBACK if window else NO_WINDOW
        explained.append(replace(difference, reason=reason, window_id=window["window_id"] if window else None))
    named = {window["window_id"]: window for window in last_window.values()}
    return replace(found, differences=explained, windows=named)


def _left_out(session: DbtSession, pair: Pair) -> list[tuple[str, Any, Any, bool]]:
    """(why, lower, upper, whether the lower end is left out too) of every range that windows of this stream leave out."""
    rows = ask(session, OPEN_RANGES, {"two_clocks_models": [pair.model.unique_id]})
    return [
        (
            WRITTEN_OFF if row["state"] == "written_off" else LEFT_OUT,
            None if row["lower_value"] is None else _in_order(row["lower_value"]),
            _in_order(row["upper_value"]),
            row["state"] != "searching",
        )
        for row in rows
        if (row["stream"] or "") == pair.window.stream and row["state"] != "closed"
    ]


def _why_left_out(ranges: list[tuple[str, Any, Any, bool]], own: Any) -> str | None:
    for why, lower, upper, with_lower in ranges:
        if own <= upper and (lower is None or lower < own or (with_lower and lower == own)):
            return why
    return None


def _in_order(exact: str) -> Any:
    """An exact watermark of one type as something that sorts as it does."""
    return int(exact) if exact.lstrip("-").isdigit() else tidy(exact.removesuffix("+00"))


def _mark(difference: Difference, is_id: bool) -> Any:
    return int(difference.source_watermark) if is_id else difference.source_utc


def _end(window: Mapping[str, Any], name: str, is_id: bool) -> Any:
    value = window[f"{name}_value"] if is_id else window[name]
    return None if value is None else (int(value) if is_id else value)


def comparable(utc: str | None, value: str | None) -> tuple[str, int]:
    """Watermarks in order: moments by their text, ids by their number."""
    return (utc, 0) if utc is not None else ("", int(value or 0))


def tidy(moment: str | None) -> str | None:
    """A moment without the zeros that say nothing."""
    return moment.rstrip("0").rstrip(".") if moment and "." in moment else moment


def plain(relation: str) -> str:
    return relation.replace('"', "").replace("`", "")
