"""What the tests of reconcile, backfill and repair share."""

from __future__ import annotations


def close_duckdb() -> None:
    """`dbt show` leaves dbt-duckdb's connection open for the rest of the process; the next test has a file of its own."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager

    if DuckDBConnectionManager._ENV is not None:
        DuckDBConnectionManager._ENV.close()
        DuckDBConnectionManager._ENV = None
