"""Precision and recall of the audit over a corpus of labelled models.

`python -m two_clocks.audit.score PATH`, where PATH holds dbt projects whose models begin with a label:

    -- expect: at risk TC01 TC04      (or: safe, loses rows, not judged, nothing)
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import click

from two_clocks.audit.project import projects_below
from two_clocks.audit.rules import RULES, VERDICTS
from two_clocks.audit.run import audit_project
from two_clocks.errors import CannotRun

LABEL = re.compile(
    r"^(?:--|#)\s*expect:\s*(?P<verdict>safe|at risk|loses rows|not judged|nothing)(?P<codes>(?:\s+TC\d\d)*)\s*$", re.M
)


@dataclass
class Score:
    """How often the audit was right."""

    models: int = 0
    dialects: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def precision(self, code: str | None = None) -> float:
        """The part of the findings that are right."""
        right, false = self._sum(self.right, code), self._sum(self.false, code)
        return right / (right + false) if right + false else 1.0

    def recall(self, code: str | None = None) -> float:
        """The part of what is wrong that is found."""
        right, missed = self._sum(self.right, code), self._sum(self.missed, code)
        return right / (right + missed) if right + missed else 1.0

    def _sum(self, counter: Counter[str], code: str | None) -> int:
        return counter[code] if code else sum(counter.values())


def score(corpus: Path) -> Score:
    """Audits every project of the corpus and compares with the labels."""
    out = Score()
    roots = projects_below(corpus)
    if not roots:
        raise CannotRun(f"There is no dbt project below {corpus}.")
    for root in roots:
        audit = audit_project(root, workers=1)
        told = {report.path: report for report in audit.reports}
        for path in sorted(
            [*root.rglob("models/**/*.sql"), *root.rglob("models/**/*.py"), *root.rglob("snapshots/**/*.sql")]
        ):
            label = LABEL.search(path.read_text(encoding="utf-8"))
            shown = path.relative_to(root).as_posix()
            if label is None:
                raise CannotRun(f"{path} has no label.")
            out.models += 1
            out.dialects[audit.dialect] += 1
            report = told.get(shown)
            verdict = report.verdict if report else "nothing"
            expected, found = (
                set(label.group("codes").split()),
                {finding.rule for finding in report.findings} if report else set(),
            )
            out.right.update(expected & found)
            out.false.update(found - expected)
            out.missed.update(expected - found)
            out.verdicts[label.group("verdict"), verdict] += 1
            if expected != found or label.group("verdict") != verdict:
                out.wrong.append(
                    f"{root.name}/{shown}: expected {label.group('verdict')} {' '.join(sorted(expected))}, got {verdict} {' '.join(sorted(found))}"
                )
    return out


@click.command()
@click.argument("corpus", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(corpus: Path) -> None:
    """Prints precision and recall over a labelled corpus; exits with 1 where a label and a verdict differ."""
    result = score(corpus)
    spoken = ", ".join(f"{dialect} {count}" for dialect, count in sorted(result.dialects.items()))
    click.echo(f"{result.models} labelled models: {spoken}\n")
    click.echo(f"{'rule':<6}{'right':>7}{'false':>7}{'missed':>8}{'precision':>11}{'recall':>8}  what")
    for code, rule in RULES.items():
        numbers = (result.right[code], result.false[code], result.missed[code])
        click.echo(
            f"{code:<6}{numbers[0]:>7}{numbers[1]:>7}{numbers[2]:>8}{result.precision(code):>11.2f}{result.recall(code):>8.2f}  {rule.title}"
        )
    numbers = (sum(result.right.values()), sum(result.false.values()), sum(result.missed.values()))
    click.echo(
        f"{'all':<6}{numbers[0]:>7}{numbers[1]:>7}{numbers[2]:>8}{result.precision():>11.2f}{result.recall():>8.2f}\n"
    )
    names = [*VERDICTS, "nothing"]
    click.echo(f"{'verdict expected / given':<26}" + "".join(f"{name:>12}" for name in names))
    for expected in names:
        click.echo(f"{expected:<26}" + "".join(f"{result.verdicts[expected, given]:>12}" for given in names))
    for line in result.wrong:
        click.echo(f"wrong: {line}")
    sys.exit(1 if result.wrong else 0)


if __name__ == "__main__":
    main()
