"""The same rows for machines: one JSON document with headers, findings and a summary."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent.report import SCHEMA, Report
from agent.status import BY_SEVERITY, EXIT_CODES, worst


def render(reports: Sequence[Report]) -> str:
    findings = [finding for report in reports for finding in report.findings]
    counts = {status: sum(finding["status"] == status for finding in findings) for status in reversed(BY_SEVERITY)}
    overall = worst(finding["status"] for finding in findings)
    return json.dumps(
        {
            "schema": SCHEMA,
            "summary": {"status": overall, "exit_code": EXIT_CODES[overall], **counts},
            "reports": [report.header for report in reports],
            "findings": findings,
            "bad_lines": [line for report in reports for line in report.bad_lines],
        },
        indent=1,
    )
