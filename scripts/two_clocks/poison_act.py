"""An act of the demo: one poison row in a thousand, and then four hundred."""

from __future__ import annotations

from typing import Any

from two_clocks import console
from two_clocks.commands.quarantine import read_letters, show
from two_clocks.dbt_session import DbtSession
from two_clocks.recovery.dbt import find_models, refusal

FEED, SYNC = "exam_export", "crm_exams"
LAST_WINDOW = """
    select status, rows_inserted, rows_quarantined
    from {{ two_clocks.ledger_relation() }} where model like '%.crm_exams' order by started_at desc
"""
DELIVERED = "select count(*) as found from {{ ref('crm_exams') }}"


def play(session: DbtSession, now: str) -> dict[str, Any]:
    """Runs the sync over both batches at the wall clock `now`; what came of it, for the demo's JSON."""
    session.vars["two_clocks_now"] = now
    console.heading("Poison: one bad row in a thousand, and then four hundred")

    console.note(f"\n$ dbt run --select {FEED} {SYNC}")
    session.invoke(["run", "--select", FEED, SYNC], check=True)
    window = session.query(LAST_WINDOW)[0]
    delivered = int(session.query(DELIVERED)[0]["found"])
    quarantined = int(window["rows_quarantined"])
    console.note(
        f"{SYNC}: {delivered} of {delivered + quarantined} rows delivered, {quarantined} in quarantine, exit 0"
    )

    console.note(f"\n$ two-clocks quarantine list --select {SYNC}")
    letters = read_letters(session, find_models(session, [SYNC]))
    show(letters, released=False)

    console.note(f"\n$ dbt run --select {FEED} {SYNC}    # the exporter has changed its decimal point")
    result = session.invoke(["run", "--select", FEED, SYNC], vars={"two_clocks_demo_poison": True})
    (message,) = [str(one.message) for one in result.result.results if str(one.status) == "error"]
    sentence = refusal(message).message
    status = session.query(LAST_WINDOW)[0]["status"]
    delivered_after = int(session.query(DELIVERED)[0]["found"])
    console.note(console.safe(sentence))
    console.note(f"{SYNC}: {delivered_after} rows as before, the ledger says {status}, exit 1")
    return {
        "rows_delivered": delivered,
        "rows_quarantined": quarantined,
        "keys_quarantined": [letter["key"] for letter in letters],
        "breaker": {"rows_delivered": delivered_after, "status": status, "message": sentence},
    }
