"""The same rows for machines: one JSON document with headers, findings and a summary."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent.report import SCHEMA, Report
from agent.status import BY_SEVERITY, EXIT_CODES, FINE, UNKNOWN, worst


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    findings = [finding for report in reports for finding in report.findings]
    counts = {status: sum(finding["status"] == status for finding in findings) for status in reversed(BY_SEVERITY)}
    overall = worst(finding["status"] for finding in findings) if findings else UNKNOWN
    return json.dumps(
        {
            "schema": SCHEMA,
            "summary": {"status": overall, "exit_code": EXIT_CODES[overall], **counts},
            "reports": [report.header for report in reports],
            "findings": [finding for finding in findings if not only_problems or finding["status"] not in FINE],
            "bad_lines": [line for report in reports for line in report.bad_lines],
        },
        indent=1,
    )
