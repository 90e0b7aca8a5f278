"""`two-clocks reconcile`: what is in the source and not in the target, what is older there, and what is gone from the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import EXIT_CANNOT_RUN, EXIT_FINE, EXIT_FOUND, CannotRun
from two_clocks.recovery.dbt import find_models, find_windowed_models, open_session, options_for_dbt
from two_clocks.recovery.reconciling import (
    LOST,
    Difference,
    NotBuilt,
    Pair,
    Reconciliation,
    pairs_of_model,
    reconcile,
    tidy,
)

SHOWN_KEYS = 20

NOT_COMPARED = {
    "later_than_compared": "later than what was compared",
    "null_watermark": "with a NULL watermark",
    "future": "dated in the future",
    "null_key": "with a NULL in their key",
    "in_quarantine": "in quarantine",
}


def comparison_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to compare; `repair` takes the same."""
    for option in (
        click.option(
            "--epoch",
            type=click.Choice(["s", "ms", "us", "id"]),
            help="The unit of an integer watermark. Default: told from a sample.",
        ),
        click.option(
            "--time-zone", help="The zone of timestamps that are stored without one. Default: UTC, or the model's own."
        ),
        click.option(
            "--until", metavar="MOMENT", help="Compare up to this watermark, or 'now'. Default: up to the target's own."
        ),
        click.option(
            "--settle",
            metavar="DURATION",
            help="Leave out what is later than the target's watermark minus this, such as '2h'.",
        ),
        click.option(
            "--column",
            "columns",
            multiple=True,
            help="Compare this column too, to find updates that kept their watermark. May be repeated.",
        ),
        click.option(
            "--map",
            "names",
            multiple=True,
            metavar="TARGET=SOURCE",
            help="A column that is called otherwise in the source, or SQL for it. May be repeated.",
        ),
        click.option("--target-watermark", help="The watermark's column in the target. Default: as in the source."),
        click.option(
            "--watermark", help="The column of the source that says when a row was last changed, or SQL for it."
        ),
        click.option("--unique-key", multiple=True, help="A column of the target's key. May be repeated."),
        click.option("--target-relation", help="Two relations: the one that should hold the rows."),
        click.option(
            "--source",
            help="Two relations, or a model: the relation that the rows come from, such as ods.grade_grades.",
        ),
        click.option(
            "--select",
            "select",
            multiple=True,
            help="Models, as dbt selects them. Default: every windowed model. May be repeated.",
        ),
    ):
        command = option(command)
    return command


@click.command(name="reconcile")
@comparison_options
@click.option(
    "--keys",
    "shown_keys",
    type=click.IntRange(min=0),
    default=SHOWN_KEYS,
    show_default=True,
    help="How many keys to print; --json has all.",
)
@options_for_dbt
@common_options
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    shown_keys: int,
    **asked: Any,
) -> None:
    """Compare source and target by key and watermark: rows missing, stale (older in the target) and orphaned.

    For models, the source is the model's own SQL as a full refresh would run it. Two relations need --source,
    --target-relation, --unique-key and --watermark, and no model at all.

    Exit status: 0 equal; 1 differences; 2 it, or one of the models that are built, could not be compared.
    """
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    not_compared: list[CannotRun] = []
    found = [reconcile(session, pair) for pair in pairs_asked_for(session, not_compared=not_compared, **asked)]
    for one in found:
        show(one, shown_keys)
    if as_json:
        console.write_json(as_document(found))
    if not all(one.is_equal for one in found):
        raise SystemExit(EXIT_FOUND)
    raise SystemExit(EXIT_CANNOT_RUN if not_compared else EXIT_FINE)


def pairs_asked_for(
    session: DbtSession,
    select: Sequence[str],
    source: str | None,
    target_relation: str | None,
    unique_key: Sequence[str],
    watermark: str | None,
    names: Sequence[str],
    columns: Sequence[str],
    not_compared: list[CannotRun] | None = None,
    **others: Any,
) -> list[Pair]:
    """The comparisons that a command line means.

    Args:
        not_compared: takes up why models among all of them could not be compared, though they are built.

    Raises:
        CannotRun: it does not say what to compare.
    """
    overrides = {
        **others,
        "unique_key": list(unique_key) or None,
        "watermark": watermark,
        "columns": list(columns) or None,
        "source_columns": _mapping(names),
        **({"source": _relation(session, source), "source_is_name": True} if source else {}),
    }
    if target_relation:
        return [_pair_of_relations(session, target_relation, select, source, unique_key, watermark, overrides)]
    if select:
        return [
            pair for one in find_models(session, _words(select)) for pair in pairs_of_model(session, one, overrides)
        ]
    pairs, failures = _pairs_of_all_models(session, overrides)
    if failures and not_compared is not None:
        not_compared += failures
    return pairs


def _pairs_of_all_models(session: DbtSession, overrides: dict[str, Any]) -> tuple[list[Pair], list[CannotRun]]:
    """Every windowed model that can be compared; the others are named, and do not keep these from being compared.

    Raises:
        CannotRun: there is none.
    """
    unique_ids = find_windowed_models(session)
    if not unique_ids:
        raise CannotRun(
            "The project has no windowed incremental model: name a model with --select, or two relations with --source and --target-relation."
        )
    pairs, left_out = [], []
    for unique_id in unique_ids:
        try:
            pairs += pairs_of_model(session, unique_id, overrides)
        except CannotRun as error:
            console.note(f"Not compared: {session.manifest.nodes[unique_id].name}. {error.message}")
            left_out.append(error)
    if not pairs:
        raise left_out[0]
    return pairs, [error for error in left_out if not isinstance(error, NotBuilt)]


def _pair_of_relations(
    session: DbtSession,
    target_relation: str,
    select: Sequence[str],
    source: str | None,
    unique_key: Sequence[str],
    watermark: str | None,
    overrides: dict[str, Any],
) -> Pair:
    if select:
        raise CannotRun("--select and --target-relation exclude each other: a model has a target of its own.")
    for option, value in (("--source", source), ("--unique-key", unique_key), ("--watermark", watermark)):
        if not value:
            raise CannotRun(
                f"Two relations are compared by key and watermark, so --target-relation needs {option} too."
            )
    arguments = {**overrides, "target": _relation(session, target_relation), "target_is_name": True}
    return Pair(
        f"{source} -> {target_relation}", {name: value for name, value in arguments.items() if value is not None}
    )


def _words(select: Sequence[str]) -> list[str]:
    return [word for text in select for word in text.split()]


def _mapping(names: Sequence[str]) -> dict[str, str] | None:
    pairs = [name.partition("=") for name in names]
    for target_name, equals, source_name in pairs:
        if not (target_name.strip() and equals and source_name.strip()):
            raise CannotRun(
                f"--map is {target_name + equals + source_name!r}; write TARGET=SOURCE, such as grade_id=id."
            )
    return {target_name.strip(): source_name.strip() for target_name, _, source_name in pairs} or None


def _relation(session: DbtSession, name: str) -> str:
    """A dbt source ('source.table') or model by its name, else the name of a relation as it stands."""
    for one in session.manifest.sources.values():
        if name == f"{one.source_name}.{one.name}":
            return one.relation_name
    for one in session.manifest.nodes.values():
        if one.resource_type in ("model", "seed", "snapshot") and name == one.name and one.relation_name:
            return one.relation_name
    return name


# --- showing ---------------------------------------------------------------------------------------------------------


def as_document(found: Sequence[Reconciliation]) -> dict[str, Any]:
    return {"equal": all(one.is_equal for one in found), "comparisons": [one.as_json() for one in found]}


def show(found: Reconciliation, shown_keys: int) -> None:
    counts = found.counts()
    verdict = (
        "equal"
        if found.is_equal
        else ", ".join(
            f"{count:,} {what}" for what, count in counts.items() if count or what in ("missing", "stale", "orphaned")
        )
    )
    console.heading(f"{console.safe(found.pair.name)}: {verdict}")
    compared = found.totals["source_compared"], found.totals["target_compared"]
    upto = tidy(found.clocks["upto_utc"] or found.clocks["upto"])
    console.note(
        f"Compared {compared[0]:,} rows of the source with {compared[1]:,} of the target"
        + (f", up to {upto}." if upto else ", all that are eligible now.")
    )
    for name, count in found.not_compared().items():
        if count:
            console.note(
                f"Not compared: {count:,} {'row' if count == 1 else 'rows'} of the source {NOT_COMPARED[name]}."
            )
    if found.is_equal:
        return
    _show_windows(found)
    _show_keys(found, shown_keys)


def _show_windows(found: Reconciliation) -> None:
    if not found.pair.window:
        return
    console.print_table(
        ["Why", "Last read by the window", "of the run at", "Keys", "Earliest", "Latest"],
        [
            [
                reason,
                f"[{tidy(window['window_from']) or 'the beginning'}, {tidy(window['window_to'])}]"
                if window
                else "none",
                tidy(window.get("wall_clock")) or "",
                f"{len(group):,}",
                min(difference.spoken for difference in group),
                max(difference.spoken for difference in group),
            ]
            for reason, window, group in found.by_window()
        ],
        right=["Keys"],
    )


def _show_keys(found: Reconciliation, shown_keys: int) -> None:
    shown = found.differences[:shown_keys]
    why = ["Why"] if any(difference.reason for difference in shown) else []
    console.print_table(
        ["What", *found.pair.unique_key, "In the source", "In the target", *why],
        [
            [difference.what, *difference.key, *_watermarks(difference), *([difference.reason or ""] if why else [])]
            for difference in shown
        ],
    )
    if len(found.differences) > len(shown):
        console.note(f"{len(found.differences) - len(shown):,} more keys; --keys shows more, --json has all.")


def _watermarks(difference: Difference) -> tuple[str, str]:
    """What the source and the target hold of a key, in words."""
    in_source = tidy(difference.source_utc or difference.source_watermark) if difference.what in LOST else None
    in_target = tidy(difference.target_utc or difference.target_watermark)
    return in_source or "nothing", in_target or ("nothing" if difference.what == "missing" else "NULL")
