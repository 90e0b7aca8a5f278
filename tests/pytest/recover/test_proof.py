"""Smaller versions of benchmarks/recover.py: the same program, so that it cannot rot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.project import REPOSITORY

PROOF = Path(REPOSITORY) / "benchmarks" / "recover.py"


def prove(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(PROOF), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_backfill_killed_at_random_moments_ends_where_an_unbroken_one_does(engine: str) -> None:
    if engine != "postgres":
        pytest.skip("by hand: python benchmarks/recover.py kills --target duckdb")
    said = prove("kills", "--target", engine, "--days", "4", "--kills", "2", "--rows", "4000")
    assert "no chunk was repeated: True" in said


def test_every_injected_loss_is_named_and_repaired_and_no_other(engine: str) -> None:
    if engine != "duckdb":
        pytest.skip("by hand: python benchmarks/recover.py losses --target postgres")
    said = prove("losses", "--target", engine, "--rows", "30000", "--losses", "30")
    assert "exactly the injected keys: True" in said
    assert "target equals the source, row by row: True" in said
