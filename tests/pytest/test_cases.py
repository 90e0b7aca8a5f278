"""docs/cases.md lists every case that a test holds, and no other."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from support.project import REPOSITORY

TESTS = REPOSITORY / "tests/pytest"
IDS_IN_A_NAME = re.compile(r"test_((?:C\d\d_)+)")
LISTED = re.compile(r"^\| (C\d\d) \| (.+) \| (.+) \|$", re.M)
LINKED = re.compile(r"\[(\w+)\]\(\.\./tests/pytest/([\w/]+\.py)\)")


def cases_of_tests() -> dict[str, set[tuple[str, str]]]:
    """id -> (file, name of the test without its `test_`)"""
    found = defaultdict(set)
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            ids = IDS_IN_A_NAME.match(node.name) if isinstance(node, ast.FunctionDef) else None
            for case in ids[1].strip("_").split("_") if ids else ():
                found[case].add((file.relative_to(TESTS).as_posix(), node.name.removeprefix("test_")))
    return found


def test_every_case_is_listed_with_its_tests_and_no_other() -> None:
    page = (REPOSITORY / "docs/cases.md").read_text()
    listed = {case: tests for case, _, tests in LISTED.findall(page)}
    held = cases_of_tests()
    assert len(listed) == page.count("\n| C")
    assert sorted(listed) == sorted(held)
    for case, tests in listed.items():
        named = {(file, name) for name, file in LINKED.findall(tests)}
        assert named, f"{case} names no test"
        assert named <= held[case], f"{case} names a test that is not there or does not hold it"
        assert {Path(file) for file, _ in named} == {Path(file) for file, _ in held[case]}, f"{case} leaves a file out"
