"""One Nagios plug-in answer: the summary and counts on the first line, each problem on a line of its own."""

from __future__ import annotations

from typing import Sequence

from agent.formats.text import printable
from agent.report import Report
from agent.status import BY_SEVERITY, FINE, worst


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    """https://nagios-plugins.org/doc/guidelines.html: text before `|` is for people, after it for graphs."""
    findings = [finding for report in reports for finding in report.findings]
    problems = [finding for finding in findings if finding["status"] not in FINE]
    problems.sort(key=lambda finding: BY_SEVERITY.index(finding["status"]), reverse=True)
    counts = {status: sum(finding["status"] == status for finding in findings) for status in reversed(BY_SEVERITY)}
    first = problems[0]["reason"] if problems else "no problem found"
    status = worst(finding["status"] for finding in findings) if findings else "unknown"
    graph = " ".join(f"{name}={count}" for name, count in counts.items())
    lines = [f"SMOKE {status.upper()} - {len(problems)} of {len(findings)} findings: {clean(first)} | {graph}"]
    lines += [f"{f['status'].upper()} {clean(f['check'])} {clean(f['item'])}: {clean(f['reason'])}" for f in problems]
    return "\n".join(lines)


def clean(text: str) -> str:
    """One printable line without the bar that begins the graph data."""
    return printable(text).replace("|", " ")
