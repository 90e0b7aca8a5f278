"""Proves what docs/backfill.md and docs/reconcile.md promise, on real databases and with real kills.

    python benchmarks/recover.py kills  [--target postgres|duckdb] [--days 90] [--kills 10] [--seed 1]
    python benchmarks/recover.py losses [--target postgres|duckdb] [--rows 5000000] [--losses 1000] [--seed 1]

`kills` backfills 90 days in chunks of one day, kills the process with SIGKILL at ten random moments, resumes each time, and
compares the target with that of a backfill which nobody disturbed.

`losses` injects missing, stale and orphaned rows into one of two equal tables, lets `reconcile` name them, checks that it
names every one of them and none else, and lets `repair` bring them back.

Exit status: 0 all promises hold; 1 one does not.
"""

# ruff: noqa: T201  what it prints is its product

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from two_clocks.postgres_server import PostgresServer  # noqa: E402

NOW = "2024-12-31T00:00:00Z"
FIRST_DAY = "2024-06-01"

PROJECT = """\
name: recovered
version: 1.0.0
config-version: 2
profile: recovered
models:
  recovered:
    +materialized: incremental
    +incremental_strategy: newest_wins
    +post-hook: "{{ two_clocks.record_window() }}"
on-run-end: "{{ two_clocks.record_failed_windows(results) }}"
"""
WRAPPER = """\
{% macro get_incremental_newest_wins_sql(arg_dict) %}
  {{ return(two_clocks.get_incremental_newest_wins_sql(arg_dict)) }}
{% endmacro %}
"""
SOURCES = "{version: 2, sources: [{name: ods, schema: ods, tables: [{name: events}]}]}\n"
MODEL = """\
{{ config(unique_key='id') }}
select id, payload, changed_at from {{ two_clocks.windowed(source('ods', 'events'), 'changed_at') }} as events
"""


class Lab:
    """A consumer's project on a private database, and its own eyes on that database."""

    def __init__(self, target: str, directory: Path, stack: ExitStack) -> None:
        self.target, self.directory = target, directory
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY / "scripts"),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }
        if target == "postgres":
            server = stack.enter_context(PostgresServer(durable=False))
            self.environment |= server.environment
            os.environ.update(server.environment)
            output = {
                "type": "postgres",
                "host": server.environment["PGHOST"],
                "port": int(server.environment["PGPORT"]),
            }
            output |= {
                "user": server.environment["PGUSER"],
                "password": "none",
                "dbname": server.environment["PGDATABASE"],
            }
        else:
            output = {"type": "duckdb", "path": str(directory / "lab.duckdb")}
        output |= {"schema": "sync", "threads": 1}
        for path, text in {
            "dbt_project.yml": PROJECT,
            "packages.yml": json.dumps({"packages": [{"local": str(REPOSITORY)}]}),
            "profiles.yml": json.dumps({"recovered": {"target": target, "outputs": {target: output}}}),
            "macros/wrapper.sql": WRAPPER,
            "models/sources.yml": SOURCES,
            "models/sink.sql": MODEL,
        }.items():
            (directory / path).parent.mkdir(exist_ok=True)
            (directory / path).write_text(text)
        self.dbt("deps")

    def dbt(self, *arguments: str) -> None:
        program = "import sys; from dbt.cli.main import cli; cli(sys.argv[1:])"
        command = [sys.executable, "-c", program, *arguments, "--profiles-dir", "."]
        done = subprocess.run(command, cwd=self.directory, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)

    def command(self, *arguments: str) -> list[str]:
        now = json.dumps({"two_clocks_now": NOW})
        return [sys.executable, "-m", "two_clocks", *arguments, "--profiles-dir", ".", "--vars", now]

    def two_clocks(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            self.command(*arguments, "--json"), cwd=self.directory, env=self.environment, capture_output=True, text=True
        )
        if done.returncode == 2:
            sys.exit(done.stderr)
        return done.returncode, json.loads(done.stdout), done.stderr

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        if self.target == "duckdb":
            import duckdb

            with duckdb.connect(str(self.directory / "lab.duckdb")) as connection:
                return connection.execute(statement).fetchall()
        import psycopg2

        with closing(psycopg2.connect("")) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def series(self, rows: int) -> str:
        return f"range(1, {rows + 1}) as t(i)" if self.target == "duckdb" else f"generate_series(1, {rows}) as t(i)"

    def fill(self, rows: int, days: int) -> None:
        """Events evenly over the days, every 100 of them on one instant, so that chunks have ties at their ends."""
        seconds = days * 86400 // max(rows // 100, 1)
        self.sql("create schema ods")
        self.sql(
            f"create table ods.events as select i as id, 'payload of ' || i as payload, "
            f"timestamp '{FIRST_DAY}' + (i / 100) * interval '{seconds} seconds' as changed_at from {self.series(rows)}".replace(
                "i / 100", "i // 100" if self.target == "duckdb" else "i / 100"
            )
        )

    def run(self) -> None:
        self.dbt("run", "--vars", json.dumps({"two_clocks_now": NOW}))


def kills(lab: Lab, days: int, number: int, rows: int) -> bool:
    lab.fill(rows, days)
    lab.run()
    # the gap: every third row is gone, every fifth one older than it should be
    lab.sql("delete from sync.sink where id % 3 = 0")
    lab.sql("update sync.sink set changed_at = changed_at - interval '1 day', payload = 'old' where id % 5 = 0")
    lab.sql("create table ods.broken as select * from sync.sink")
    last_day = lab.sql(f"select cast(timestamp '{FIRST_DAY}' + interval '{days - 1} days' as date)")[0][0]
    arguments = ("backfill", "--select", "sink", "--from", FIRST_DAY, "--to", str(last_day), "--chunk", "1d")

    print(f"kills: {rows:,} rows over {days} days on {lab.target}")
    started = time.monotonic()
    lab.two_clocks(*arguments, "--dry-run")
    before_the_first = time.monotonic() - started  # what every attempt needs before its first chunk
    started = time.monotonic()
    _, unbroken, _ = lab.two_clocks(*arguments, "--restart")
    one_go = time.monotonic() - started
    expected = contents(lab)
    print(f"  unbroken: {unbroken['models'][0]['runs']} chunks in {one_go:.0f} s")

    lab.sql("delete from sync.sink")
    lab.sql("insert into sync.sink select * from ods.broken")
    attempts, killed, history = 0, 0, []
    # an attempt of its own: the backfill above is complete, so nothing of it may be taken for finished
    while True:
        attempts += 1
        process = subprocess.Popen(
            lab.command(*arguments, "--json"),
            cwd=lab.directory,
            env=lab.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            # short enough for every kill to come before the end: each attempt pays for dbt's start again
            share = max(one_go - before_the_first, 1) / number
            timeout = (
                before_the_first * random.uniform(0.5, 1) + random.uniform(0, 1.2 * share) if killed < number else None
            )
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += 1
            history.append(chunks_done(lab))
            wait_for_the_server(lab)
            continue
        if process.returncode:
            print(errors)
            return False
        last = json.loads(output)["models"][0]
        if killed < number:
            print(f"  it ended before kill {killed + 1}: choose more days or fewer kills")
            return False
        break
    resumed = sum(chunk["finished_before"] for chunk in last["chunks"])
    total = chunks_done(lab) - days
    print(
        f"  killed {killed} times; chunks in the ledger after each kill: {', '.join(str(done - days) for done in history)}"
    )
    print(
        f"  the last attempt found {resumed} chunks finished and ran {last['runs']}; {total} chunk runs for {days} chunks in all"
    )
    same = contents(lab) == expected
    print(
        f"  target after {killed} kills {'equals' if same else 'DIFFERS FROM'} the unbroken one; no chunk was repeated: {total == days}"
    )
    return same and total == days


def contents(lab: Lab) -> list[tuple[Any, ...]]:
    return lab.sql(
        "select count(*), sum(id), min(changed_at), max(changed_at), min(payload), max(payload) from sync.sink"
    ) + lab.sql(
        "select s.id from sync.sink as s full outer join ods.events as e on s.id = e.id and s.payload = e.payload and s.changed_at = e.changed_at where s.id is null or e.id is null order by 1"
    )


def chunks_done(lab: Lab) -> int:
    return lab.sql(
        "select count(*) from sync.two_clocks_window_ledger where kind = 'backfill' and status = 'succeeded'"
    )[0][0]


def wait_for_the_server(lab: Lab) -> None:
    """PostgreSQL notices a killed client a moment later; asking for the lock before that is refused, and rightly so."""
    while lab.target == "postgres" and lab.sql(
        "select 1 from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid() limit 1"
    ):
        time.sleep(0.05)


def losses(lab: Lab, rows: int, number: int) -> bool:
    days = 90
    lab.fill(rows, days)
    lab.run()
    keys = random.sample(range(1, rows - rows // 50), number * 3)
    # a third of the missing rows lie close together, as those of one bad night do
    night = range(rows // 2, rows // 2 + number // 3)
    keys = [key for key in keys if key not in night]
    missing = sorted([*night, *keys[: number - len(night)]])
    stale, orphaned = sorted(keys[number : 2 * number]), sorted(keys[2 * number : 3 * number])
    lab.sql(f"delete from sync.sink where id in ({listed(missing)})")
    lab.sql(
        f"update sync.sink set changed_at = changed_at - interval '3 hours', payload = 'old' where id in ({listed(stale)})"
    )
    lab.sql(f"delete from ods.events where id in ({listed(orphaned)})")

    print(
        f"losses: {len(missing):,} missing, {len(stale):,} stale, {len(orphaned):,} orphaned among {rows:,} rows on {lab.target}"
    )
    started = time.monotonic()
    status, document, _ = lab.two_clocks("reconcile", "--select", "sink")
    seconds = time.monotonic() - started
    found = document["comparisons"][0]
    named = {
        what: sorted(int(one["key"]["id"]) for one in found["keys"] if one["what"] == what)
        for what in ("missing", "stale", "orphaned")
    }
    exact = named == {"missing": missing, "stale": stale, "orphaned": orphaned} and status == 1
    print(
        f"  reconcile: {seconds:.1f} s, {found['counts']}, {found['buckets_differing']:,} of 16,384 buckets looked into; exactly the injected keys: {exact}"
    )

    started = time.monotonic()
    status, document, _ = lab.two_clocks("repair", "--select", "sink", "--delete-orphans", "--yes")
    seconds = time.monotonic() - started
    repaired = document["repairs"][0]
    print(
        f"  repair: {seconds:.1f} s, {repaired['rows_lost']:,} rows lost, {repaired['rows_read']:,} read again in {len(repaired['windows'])} windows, "
        f"{repaired['rows_inserted']:,} inserted, {repaired['rows_updated']:,} updated, {repaired['orphans_deleted']:,} orphans deleted"
    )
    started = time.monotonic()
    status_after, document, _ = lab.two_clocks("reconcile", "--select", "sink")
    print(f"  reconcile again: {time.monotonic() - started:.1f} s, equal: {document['equal']}")
    same = contents(lab)[1:] == []
    print(f"  target equals the source, row by row: {same}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"  greatest memory of a command: {peak} MB")
    return exact and status == 0 and status_after == 0 and same


def listed(keys: list[int]) -> str:
    return ", ".join(map(str, keys))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "losses"))
    parser.add_argument("--target", choices=("postgres", "duckdb"), default="postgres")
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--losses", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random.seed(given.seed)
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="two_clocks_"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        lab = Lab(given.target, directory, stack)
        if given.what == "kills":
            held = kills(lab, given.days, given.kills, given.rows or 200_000)
        else:
            held = losses(lab, given.rows or 5_000_000, given.losses)
    print("  all of it holds" if held else "  NOT ALL OF IT HOLDS")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
