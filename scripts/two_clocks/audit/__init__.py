"""Reads any dbt project from its files alone and tells which incremental models lose rows, and why."""
