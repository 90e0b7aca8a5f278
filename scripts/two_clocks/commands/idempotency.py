"""`two-clocks idempotency`: one window run twice, and whether the second run changed anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from two_clocks import console
from two_clocks.cli_options import common_options
from two_clocks.errors import EXIT_FINE, EXIT_FOUND, CannotRun
from two_clocks.idempotency import Proof, prove
from two_clocks.recovery.dbt import find_models, open_session, options_for_dbt


@click.command(name="idempotency")
@click.option("--select", "select", multiple=True, required=True, help="Models, as dbt selects them. May be repeated.")
@options_for_dbt
@common_options
def command(
    project_dir: Path,
    profiles_dir: Path | None,
    target: str | None,
    as_json: bool,
    dbt_vars: dict[str, Any],
    select: Sequence[str],
) -> None:
    """Run one window twice in a scratch schema, and prove that the second run changed nothing.

    Finds models that append, keys that are not unique, and columns that get another value each time (now(), random(), a sequence).
    Reads all that a first build reads, so choose a target with a source of bearable size that stands still. The model's own table
    is not touched.

    Exit status: 0 proven; 1 something changed; 2 it could not run.
    """
    session = open_session(project_dir, profiles_dir, target, dbt_vars)
    words = [word for text in select for word in text.split()]
    chosen = find_models(session, words)
    models = [one for one in chosen if str(session.manifest.nodes[one].config.materialized) == "incremental"]
    if not models:
        raise CannotRun(
            f"{' '.join(words)} selects no incremental model: every run makes the others anew, so there is no window to repeat."
        )
    proofs = []
    with console.progress("Running twice", total=len(models)) as advance:
        for unique_id in models:
            proofs.append(prove(session, unique_id))
            advance(unique_id)
    if as_json:
        console.write_json([proof.as_json() for proof in proofs])
    else:
        for proof in proofs:
            show(proof)
    raise SystemExit(EXIT_FOUND if any(proof.findings for proof in proofs) else EXIT_FINE)


def show(proof: Proof) -> None:
    name = console.safe(proof.name)
    for finding in proof.findings:
        console.note(f"{name}: NOT idempotent: {console.safe(finding)}.")
    if not proof.findings:
        written = "" if proof.rows_written is None else f", {proof.rows_written:,} written again"
        console.note(
            f"{name}: idempotent. The same window twice: {proof.rows:,} rows, not one of them changed{written}."
        )
