"""The last act of the demo: what the wall clock lost is found, brought back, and proven to be back."""

from __future__ import annotations

from typing import Any

from two_clocks import console
from two_clocks.commands.reconcile import SHOWN_KEYS, show
from two_clocks.commands.repair import carry_out, plan, show_plan
from two_clocks.dbt_session import DbtSession
from two_clocks.recovery.backfilling import check_sink
from two_clocks.recovery.dbt import find_models
from two_clocks.recovery.reconciling import pairs_of_model, reconcile

VICTIM, WATERMARK = "crm_grades_wall_clock", "timemodified"


def play(session: DbtSession, now: str) -> dict[str, Any]:
    """Reconciles and repairs the demo's victim at the wall clock `now`; what came of it, for the demo's JSON."""
    session.vars["two_clocks_now"] = now
    console.heading("The night after: what fell into the gap is found, brought back, and proven to be back")

    console.note(f"\n$ two-clocks reconcile --select {VICTIM} --watermark {WATERMARK}")
    unique_id = find_models(session, [VICTIM])[0]
    pair = pairs_of_model(session, unique_id, {"watermark": WATERMARK})[0]
    repair = plan(session, reconcile(session, pair), by_key=False)
    show(repair.before, SHOWN_KEYS)

    console.note(f"\n$ two-clocks repair --select {VICTIM} --watermark {WATERMARK} --yes")
    check_sink(session, pair.name, pair.target, pair.unique_key)
    show_plan(repair, deletes_orphans=False)
    if repair.lost:
        carry_out(session, [repair], deletes_orphans=False)

    console.note(f"\n$ two-clocks reconcile --select {VICTIM} --watermark {WATERMARK}")
    after = reconcile(session, pair)
    show(after, SHOWN_KEYS)
    return {"model": VICTIM, "before": repair.before.as_json(), "after": after.as_json()}
