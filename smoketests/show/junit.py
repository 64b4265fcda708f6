"""JUnit XML for Jenkins and GitLab: a test suite per host, a test case per check and item.

Critical and warning are failures (the type says which), unknown is an error, skipped is skipped: nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from agent.formats.text import printable
from agent.report import Report
from agent.status import CRITICAL, FINE, SKIPPED, UNKNOWN, WARNING

if TYPE_CHECKING:
    from smoketests.results.run_results import Survey

# what a host may claim that one finding took
LONGEST_MS = 86_400_000
OUTCOMES = {CRITICAL: "failure", WARNING: "failure", UNKNOWN: "error", SKIPPED: "skipped"}


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    root = ElementTree.Element("testsuites", name="smoke")
    for report in reports:
        root.append(_suite(report, only_problems))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def many(seen: Survey, only_problems: bool = False) -> Iterator[str]:
    """Suite by suite; one for each host, then one for each cluster as a whole."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<testsuites name="smoke">'
    for report in seen.reports():
        suite = _suite(report, only_problems)
        ElementTree.indent(suite)
        yield ElementTree.tostring(suite, encoding="unicode")
    yield "</testsuites>"


def _suite(report: Report, only_problems: bool) -> ElementTree.Element:
    outcomes = [OUTCOMES.get(finding["status"], "") for finding in report.findings]
    suite = ElementTree.Element(
        "testsuite",
        name=printable(str(report.header.get("host") or report.header.get("cluster", ""))),
        timestamp=printable(str(report.header.get("at", ""))).removesuffix("Z"),
        tests=str(len(outcomes)),
        failures=str(outcomes.count("failure")),
        errors=str(outcomes.count("error")),
        skipped=str(outcomes.count("skipped")),
        time=_seconds(sum(min(finding["duration_ms"], LONGEST_MS) for finding in report.findings)),
    )
    suite.extend(_case(f) for f in report.findings if not only_problems or f["status"] not in FINE)
    return suite


def _case(finding: Mapping[str, Any]) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=printable(f"{finding['host'] or finding['cluster']}.{finding['check']}"),
        name=printable(finding["item"]),
        time=_seconds(finding["duration_ms"]),
    )
    reason = printable(finding["reason"])
    outcome = OUTCOMES.get(finding["status"])
    if outcome:
        detail = ElementTree.SubElement(case, outcome, type=finding["status"], message=reason)
        if finding["playbook"]:
            detail.text = printable(f"next step: smoke explain {finding['check']} (playbook {finding['playbook']})")
    else:
        ElementTree.SubElement(case, "system-out").text = reason
    return case


def _seconds(milliseconds: float) -> str:
    return f"{min(max(milliseconds, 0), LONGEST_MS) / 1000:.3f}"
