"""Checkmk local checks: one service per check, `status name metrics text`."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from agent.formats.nagios import clean
from agent.report import Report
from agent.status import EXIT_CODES, SKIPPED, worst


def render(reports: Sequence[Report], only_problems: bool = False) -> str:
    """https://docs.checkmk.com/latest/en/localchecks.html; a check that had nothing to look at is no service."""
    services: Dict[str, List[Mapping[str, Any]]] = {}
    for report in reports:
        for finding in report.findings:
            if finding["status"] != SKIPPED:
                services.setdefault(finding["check"], []).append(finding)
    return "\n".join(_service(check, findings) for check, findings in sorted(services.items()))


def _service(check: str, findings: Sequence[Mapping[str, Any]]) -> str:
    status = worst(finding["status"] for finding in findings)
    worst_ones = [finding for finding in findings if finding["status"] == status]
    text = "; ".join(f"{clean(finding['item'])}: {clean(finding['reason'])}" for finding in worst_ones)
    return f'{EXIT_CODES[status]} "Smoke {clean(check)}" items={len(findings)} {text}'
