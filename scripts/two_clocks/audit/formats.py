"""The audit's results as a table, JSON, SARIF 2.1.0 and markdown.

Names, paths and SQL come from a stranger's project. Each format makes them harmless in its own way, so that nothing of them is
taken for a terminal's control sequence, for markdown or for HTML.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from two_clocks import __version__
from two_clocks.audit.judge import Finding, Report
from two_clocks.audit.rules import AT_RISK, LOSES, NOT_JUDGED, RULES, SAFE, VERDICTS
from two_clocks.audit.run import Audit, counts
from two_clocks.console import safe

SARIF_LEVELS = {"high": "error", "medium": "warning", "low": "note"}
SECURITY_LIKE = {"high": "recommendation"}
HELP = "docs/audit.md"


def summary(audits: list[Audit]) -> str:
    """The result in a sentence or two."""
    found = counts(audits)
    total = sum(found.values())
    places = ", ".join(audit.name for audit in audits)
    if total == 0:
        files = sum(audit.files for audit in audits)
        return f"No incremental model, microbatch model or snapshot was found in {safe(places)} ({files} files read), so there was nothing to judge."
    parts = [
        f"{found[LOSES]} lose rows",
        f"{found[AT_RISK]} at risk",
        f"{found[SAFE]} safe",
        f"{found[NOT_JUDGED]} not judged",
    ]
    what = "1 incremental model or snapshot" if total == 1 else f"{total} incremental models and snapshots"
    return f"{what} in {safe(places)}: {', '.join(parts)}."


def worst_first(audits: list[Audit]) -> list[tuple[Audit, Report]]:
    """Every report, the gravest first."""
    pairs = [(audit, report) for audit in audits for report in audit.reports]
    return sorted(
        pairs,
        key=lambda pair: (
            -VERDICTS.index(pair[1].verdict) if pair[1].verdict != NOT_JUDGED else 1,
            pair[1].path,
            pair[1].name,
        ),
    )


# JSON ------------------------------------------------------------------------------------------------------------------


def as_json(audits: list[Audit]) -> dict[str, Any]:
    """The machine's version: everything that is known."""
    return {
        "version": __version__,
        "summary": {verdict.replace(" ", "_"): number for verdict, number in counts(audits).items()},
        "projects": [
            {
                "name": audit.name,
                "path": str(audit.root),
                "dialect": audit.dialect,
                "files_read": audit.files,
                "problems": [{"path": path, "problem": problem} for path, problem in audit.problems],
                "models": [report.as_dict() for report in audit.reports],
            }
            for audit in audits
        ],
    }


# table -----------------------------------------------------------------------------------------------------------------


def details(audit: Audit, report: Report) -> list[str]:
    """The lines that say what is wrong with one model and what would mend it."""
    lines = []
    for finding in sorted(report.findings, key=lambda f: (f.line, f.rule)):
        lines.append(
            f"{safe(report.path)}:{finding.line}:{finding.column} {finding.rule} ({finding.severity}, {finding.verdict})"
        )
        lines.append(f"  {safe(finding.message)}")
        lines.append(f"  Change: {safe(finding.change)}")
    for finding in report.silenced:
        lines.append(f"{safe(report.path)}:{finding.line} {finding.rule} silenced: {safe(finding.reason_to_ignore)}")
    lines += [f"{safe(report.path)}: {safe(note)}" for note in report.notes]
    if report.diff:
        lines.append("  A diff that mends it (apply in the project's folder with: patch -p1, or git apply):")
        lines += [f"  {_safe_but_tabs(line)}" for line in report.diff.splitlines()]
    return lines


# SARIF -----------------------------------------------------------------------------------------------------------------


def as_sarif(audits: list[Audit], base: Path) -> dict[str, Any]:
    """SARIF 2.1.0, as code scanning takes it. Paths are relative to `base`, the repository's folder."""
    order = sorted(RULES)
    results = [
        _result(audit, report, finding, order, base)
        for audit in audits
        for report in audit.reports
        for finding in report.findings + report.silenced
    ]
    notifications = []
    for audit in audits:
        for report in audit.reports:
            if report.verdict == NOT_JUDGED:
                notifications.append(_notification(f"{report.name}: {report.reason}", _uri(audit, report.path, base)))
        for path, problem in audit.problems:
            notifications.append(_notification(f"{path}: {problem}", _uri(audit, path, base)))
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "two-clocks audit",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(code) for code in order],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
                "properties": {"summary": summary(audits)},
                "results": results,
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rule.name.split(".")[1].split("_")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title}. {rule.help}"},
        "help": {"text": rule.help, "markdown": f"{rule.help} See `{HELP}`."},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["dbt", "incremental", "data-loss"], "precision": "high"},
    }


def _result(audit: Audit, report: Report, finding: Finding, order: list[str], base: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": order.index(finding.rule),
        "level": SARIF_LEVELS[finding.severity],
        # code scanning shows messages as markdown of sorts: brackets would be links
        "message": {"text": plain(f"{report.name} {_verb(finding.verdict)}. {finding.message} {finding.change}")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(audit, report.path, base), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(report, finding)},
        "properties": {"verdict": finding.verdict, "severity": finding.severity, "model": report.name},
    }
    if finding.reason_to_ignore:
        result["suppressions"] = [
            {"kind": "inSource", "status": "accepted", "justification": plain(finding.reason_to_ignore)}
        ]
    return result


def _verb(verdict: str) -> str:
    return "loses rows" if verdict == LOSES else "is at risk of losing rows"


def _fingerprint(report: Report, finding: Finding) -> str:
    place = sum(1 for other in report.findings if other.rule == finding.rule and other.line < finding.line)
    return hashlib.sha256(f"{report.path}\0{report.name}\0{finding.rule}\0{place}".encode()).hexdigest()[:32]


def _notification(text: str, uri: str) -> dict[str, Any]:
    return {
        "level": "note",
        "message": {"text": plain(text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}}}],
    }


def _uri(audit: Audit, path: str, base: Path) -> str:
    full = (audit.root / path).resolve()
    try:
        relative = full.relative_to(base.resolve()).as_posix()
    except ValueError:
        relative = path
    return quote(relative)


def plain(text: str) -> str:
    """Text without control characters and without what SARIF viewers take for a link."""
    return safe(" ".join(text.split())).replace("[", "(").replace("]", ")")


# markdown --------------------------------------------------------------------------------------------------------------


def as_markdown(audits: list[Audit]) -> str:
    """For a pull request or a job summary."""
    out = ["# two-clocks audit", "", escaped(summary(audits)), ""]
    rows = worst_first(audits)
    if rows:
        out += [
            "| verdict | model | watermark | lower bound | look-back | reason |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for _, report in rows:
            cells = (
                report.verdict,
                f"{report.name} ({report.path}:{report.line})",
                report.watermark,
                report.lower_bound,
                report.lookback,
                report.reason,
            )
            out.append("| " + " | ".join(escaped(cell) for cell in cells) + " |")
        out.append("")
    for _audit, report in rows:
        if not (report.findings or report.silenced or report.notes):
            continue
        out += [f"## {escaped(report.name)}: {report.verdict}", ""]
        for finding in sorted(report.findings, key=lambda f: (f.line, f.rule)):
            out.append(
                f"- **{finding.rule}** ({finding.severity}) {escaped(report.path)}:{finding.line}: {escaped(finding.message)}"
            )
            out.append(f"  Change: {escaped(finding.change)}")
        for finding in report.silenced:
            out.append(f"- {finding.rule} silenced on line {finding.line}: {escaped(finding.reason_to_ignore)}")
        out += [f"- {escaped(note)}" for note in report.notes]
        out.append("")
        if report.diff:
            out += _fenced(report.diff)
    problems = [(path, problem) for audit in audits for path, problem in audit.problems]
    if problems:
        out += (
            ["## Files that could not be read", ""]
            + [f"- {escaped(path)}: {escaped(problem)}" for path, problem in problems]
            + [""]
        )
    return "\n".join(out)


def _fenced(text: str) -> list[str]:
    lines = [_safe_but_tabs(line) for line in text.splitlines()]
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *lines, fence, ""]


def _safe_but_tabs(line: str) -> str:
    return "\t".join(safe(part) for part in line.split("\t"))


def escaped(text: object) -> str:
    """Text from data, fit to stand in markdown: no markup, no HTML, no link, no mention."""
    line = html.escape(safe(" ".join(str(text).split())), quote=False)
    line = re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", line)
    line = re.sub(r"^([-=>]|\d+\.)", r"\\\1", line)
    line = re.sub(r"\b(https?|ftp|mailto|javascript|data):", lambda found: f"{found.group(1)}&#58;", line, flags=re.I)
    return re.sub(r"\bwww\.", "www&#46;", line.replace("@", "&#64;"), flags=re.I)


def dumped(value: Any) -> str:
    """JSON that no page would take for HTML and no terminal for a control sequence."""
    return json.dumps(value, indent=2, ensure_ascii=True, default=str).replace("<", "\\u003c").replace(">", "\\u003e")
