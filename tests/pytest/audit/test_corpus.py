"""Every model of the corpus gets the verdict and the rules of its label."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from two_clocks.audit.rules import RULES
from two_clocks.audit.run import Audit, audit_project
from two_clocks.audit.score import LABEL, score

CORPUS = Path(__file__).parent / "corpus"
PROJECTS = sorted(path.parent for path in CORPUS.glob("*/dbt_project.yml"))
MODELS = sorted(
    path for path in CORPUS.rglob("*") if path.suffix in {".sql", ".py"} and {"models", "snapshots"} & set(path.parts)
)


@lru_cache
def audited(root: Path) -> Audit:
    return audit_project(root, workers=1)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.relative_to(CORPUS).as_posix())
def test_label(path: Path) -> None:
    root = next(project for project in PROJECTS if project in path.parents)
    label = LABEL.search(path.read_text(encoding="utf-8"))
    assert label, "the model has no label"
    report = next((r for r in audited(root).reports if r.path == path.relative_to(root).as_posix()), None)
    verdict = report.verdict if report else "nothing"
    codes = " ".join(sorted({finding.rule for finding in report.findings})) if report else ""
    assert f"{verdict} {codes}".strip() == f"{label['verdict']} {' '.join(sorted(label['codes'].split()))}".strip()


@pytest.mark.parametrize("root", PROJECTS, ids=lambda path: path.name)
def test_dialect_is_told_from_the_files(root: Path) -> None:
    assert audited(root).dialect == root.name


def test_corpus_is_what_it_should_be() -> None:
    result = score(CORPUS)
    assert result.models >= 60
    assert len(result.dialects) >= 6
    assert {code for code in RULES if not result.right[code]} == set(), "a rule without an example"
    assert result.precision() == 1 and result.recall() == 1, result.wrong


def test_findings_stand_on_the_line_that_is_wrong() -> None:
    for root in PROJECTS:
        for report in audited(root).reports:
            lines = (root / report.path).read_text(encoding="utf-8").splitlines()
            for finding in report.findings:
                if finding.rule in {"TC01", "TC02", "TC03", "TC10", "TC11"} and report.kind != "snapshot":
                    text = "\n".join(lines[finding.line - 1 : finding.line + 2])
                    assert any(sign in text for sign in "<>=") or "between" in text or "{{" in text, (
                        f"{report.path}:{finding.line} is {text!r}"
                    )
