"""Did every machine reply that must carry the load?

Failed: never; a machine without a reply may be healthy or dead.

Cannot tell: no reply, or an incomplete one, from a machine that these hosts depend on. Before a maintenance, the
hosts that leave need not reply: that may be why they are taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import NotApplicable
from agent.status import FINE, UNKNOWN
from smoketests.gate import host_findings
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    hosts = situation.must_be_well
    if not hosts:
        raise NotApplicable("no other machine in the inventory's cluster")
    bad = {host.name: host_findings.why_silent(situation, host) for host in hosts if _is_odd(situation, host.name)}
    troubles = [
        host_findings.Trouble(name, UNKNOWN, f"no complete report from {name} ({why})") for name, why in bad.items()
    ]
    healthy = f"{len(hosts) - len(bad)} of {len(hosts)} answered" if bad else f"all {len(hosts)} answered"
    return host_findings.judged(situation, troubles, healthy, silent=bad)


def _is_odd(situation: GateContext, name: str) -> bool:
    report = situation.view.reports.get(name)
    return report is None or not report.report.findings or report.reach.status not in FINE
