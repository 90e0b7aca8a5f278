"""Runs one window of a model twice in a scratch schema, and says what the second run changed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from two_clocks import console
from two_clocks.concealed import concealed
from two_clocks.dbt_session import DbtSession
from two_clocks.errors import CannotRun, one_line
from two_clocks.one_model import selector_of
from two_clocks.operations import run_operation
from two_clocks.recovery.dbt import ask, refusal
from two_clocks.watched_models import WINDOW_MACROS

PROOF = "{{ two_clocks.proof_query() }}"
COLUMNS = "{{ two_clocks.proof_columns_query() }}"

# A model that reads through a window is given the same window again as a backfill of all time: it is cut to what was read.
ALL_TIME = {"two_clocks_backfill_from": "1000-01-01", "two_clocks_backfill_to": "9998-12-31"}
ALL_NUMBERS = {"two_clocks_backfill_from": "-999999999999999999", "two_clocks_backfill_to": "999999999999999999"}

# Any other model reads what a first build reads: in its own SQL, and only there, is_incremental() is false. A mapping's
# copy() stands in for it, being the one thing in a template that may be called and is false.
READ_ALL = "{% set is_incremental = {}.copy %}"

# What gives another value each time, as far as it can be told from SQL. It explains a finding and never makes one.
CHANGING = re.compile(
    r"\b(now|current_timestamp|clock_timestamp|statement_timestamp|getdate|sysdate|localtimestamp|current_date|today|get_current_timestamp"
    r"|random|rand|nextval|uuid|gen_random_uuid|uuid_generate_v4|newid)\b(?:\s*\(|)",
    re.I,
)


@dataclass
class Proof:
    """What two runs of one window came to. No finding: the second one left the table as it was."""

    model: str
    name: str
    rows: int = 0
    rows_after: int = 0
    rows_written: int | None = None
    findings: list[str] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"idempotent": not self.findings, **asdict(self)}


def prove(session: DbtSession, unique_id: str) -> Proof:
    """Runs the model twice.

    Raises:
        CannotRun: the first run failed, so that there is nothing to repeat.
    """
    node = session.manifest.nodes[unique_id]
    if str(node.config.materialized) != "incremental":
        raise CannotRun(
            f"{node.name} is a {node.config.materialized}: every run makes it anew, so there is no window to repeat."
        )
    if node.language != "sql" or str(node.config.incremental_strategy) == "microbatch":
        raise CannotRun(
            f"{node.name} is {'a python' if node.language != 'sql' else 'a microbatch'} model, whose batches cannot be repeated here."
        )
    proof = Proof(unique_id, node.name)
    key = node.config.unique_key or ()
    keys = [key] if isinstance(key, str) else list(key)

    with scratch(session, unique_id) as (twice, place):
        place = {**place, "unique_key": keys, "name": node.name}
        first = _run(twice, unique_id)
        if first.error:
            raise CannotRun(f"The first run of {node.name} failed, so there is nothing to repeat: {first.error}")
        run_operation(twice, "keep_for_proof", {"two_clocks_proof": place})
        if not int(ask(twice, PROOF, {"two_clocks_proof": place})[0]["rows_once"]):
            proof.findings.append("it read no row, so nothing is proven; run it on a source that holds some")
            return proof
        second = _run_again(twice, unique_id)
        if second.error:
            proof.findings.append(f"the second run of the same window fails: {second.error}")
            return proof
        _judge(proof, twice, place, node, second.sql)
    return proof


def _judge(proof: Proof, session: DbtSession, place: dict[str, Any], node: Any, sql: str) -> None:
    found = ask(session, PROOF, {"two_clocks_proof": place})[0]
    proof.rows, proof.rows_after = int(found["rows_once"]), int(found["rows_again"])
    proof.rows_written = None if found["rows_written"] is None else int(found["rows_written"])
    keys = place["unique_key"]
    if int(found["repeats_once"]):
        proof.findings.append(
            f"unique_key ({', '.join(keys)}) is not unique: {int(found['repeats_once'])} keys stand in more than one row after a single run"
        )
    if proof.rows == proof.rows_after and found["checksum_once"] == found["checksum_again"]:
        return

    # where rows were stored once more, a column that is the same each time has its checksum as many times
    factor = proof.rows_after // proof.rows if proof.rows_after % proof.rows == 0 else None
    for column in ask(session, COLUMNS, {"two_clocks_proof": place}):
        once, again = (int(column[name] or 0) for name in ("checksum_once", "checksum_again"))
        if int(column["rows_changed"]) or (factor is not None and again != once * factor):
            proof.columns[column["column_name"]] = int(column["rows_changed"])
    if proof.rows_after > proof.rows:
        proof.findings.append(_grown(proof, node, keys))
    for name, changed in proof.columns.items():
        many = f"in {changed} of {proof.rows} rows" if changed else "for the same rows"
        proof.findings.append(f"column {name} holds another value after the second run {many}{_called(sql)}")
    if proof.rows_after < proof.rows:
        proof.findings.append(f"the second run of the same window removed rows: {proof.rows} became {proof.rows_after}")
    if not proof.findings:
        proof.findings.append(
            "the second run of the same window left other rows behind, although each column holds the same values"
        )


def _grown(proof: Proof, node: Any, keys: list[str]) -> str:
    grown = f"{proof.rows} rows became {proof.rows_after}"
    strategy = str(node.config.incremental_strategy or "the adapter's default")
    if not keys:
        return f"it appends: the same window was stored again ({grown}); give it a unique_key, and newest_wins or another upsert"
    if strategy == "append":
        return f"it appends: strategy append looks at no key, so the same window was stored again ({grown}); use newest_wins or another upsert"
    if set(proof.columns) & set(keys):
        return f"its unique_key ({', '.join(keys)}) is another one each time, so the same window was stored again ({grown})"
    return f"the same window was stored again ({grown}) in spite of unique_key ({', '.join(keys)}); see whether the key is NULL, or the strategy {strategy} looks at it"


def _called(sql: str) -> str:
    calls = list(dict.fromkeys(match.group(1).lower() for match in CHANGING.finditer(sql)))
    return f"; its SQL asks for {', '.join(calls)}" if calls else ""


# --- the scratch schema ----------------------------------------------------------------------------------------------


@contextmanager
def scratch(session: DbtSession, unique_id: str) -> Iterator[tuple[DbtSession, dict[str, Any]]]:
    """The project with this one model elsewhere: its table, the ledger and all that the runs write go with the schema.

    The project's hooks on run start and end do not run: they are not about this model.
    """
    manifest = session.manifest
    node = manifest.nodes[unique_id]
    as_it_was = {name: getattr(node, name) for name in ("schema", "relation_name", "raw_code")}
    hooks = {name: one for name, one in manifest.nodes.items() if str(one.resource_type) == "operation"}
    schema = f"{node.schema[:30]}_two_clocks_proof_{secrets.token_hex(4)}"
    node.relation_name = (node.relation_name or "").replace(node.schema, schema)
    node.schema = schema
    for name in hooks:
        del manifest.nodes[name]

    twice = DbtSession(
        session.project_dir,
        session.profiles_dir,
        session.target,
        vars={**session.vars, "two_clocks_ledger_schema": schema},
        target_path=session.target_path,
        artifacts=False,
        quiet=session.quiet,
    )
    twice._manifest = manifest
    place = {"database": node.database, "schema": schema, "table": node.alias, "kept": f"{node.alias[:50]}__once"}
    try:
        yield twice, place
    finally:
        for name, value in as_it_was.items():
            setattr(node, name, value)
        manifest.nodes.update(hooks)
        try:
            run_operation(twice, "drop_proof", {"two_clocks_proof": place})
        except CannotRun as error:
            # what the proof found, or why it could not run, must not be hidden by this
            console.note(f"The scratch schema {schema} could not be dropped, please do so by hand: {error.message}")


@dataclass
class _Outcome:
    error: str | None
    sql: str


def _run(session: DbtSession, unique_id: str, vars: dict[str, str] | None = None) -> _Outcome:
    result = session.invoke(["run", "--select", selector_of(session, unique_id)], vars=vars)
    (outcome,) = [one for one in result.result.results if one.node.unique_id == unique_id]
    failed = str(outcome.status) not in ("success", "pass")
    return _Outcome(
        one_line(refusal(concealed(str(outcome.message))).message).rstrip(".") if failed else None,
        outcome.node.compiled_code or "",
    )


def _run_again(session: DbtSession, unique_id: str) -> _Outcome:
    node = session.manifest.nodes[unique_id]
    if not WINDOW_MACROS & set(node.depends_on.macros):
        node.raw_code = READ_ALL + node.raw_code
        return _run(session, unique_id)
    invocations = session.manifest.flat_graph.get("two_clocks", {})
    windows = [cut for books in invocations.values() for cut in books.get(unique_id, {}).get("windows", {}).values()]
    marks = [cut["watermark"] for cut in windows]
    is_id = any(mark["kind"] == "integer" and mark["units_per_second"] is None for mark in marks)
    return _run(session, unique_id, ALL_NUMBERS if is_id else ALL_TIME)
