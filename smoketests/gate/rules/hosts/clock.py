"""Do the clocks of the cluster agree?

Kafka's retention, ZooKeeper's sessions and every later log analysis depend on it.

Failed: a clock is off by a critical amount (checks clock and clock_skew) on a machine that these hosts depend on
(afterwards also on the hosts themselves).

Warned, cannot tell: as those checks do; a critical clock elsewhere is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smoketests.gate import host_findings
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult
from smoketests.gate.rules import judged_in

CHECKS = ("clock",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    skews = [
        host_findings.Trouble(finding.host, finding.verdict.status, finding.verdict.reason, "clock_skew")
        for finding in judged_in(situation.view, "clock_skew")
        if _counts(situation, finding.host) and finding.verdict.status in host_findings.OF_STATUS
    ]
    return host_findings.without_trouble(situation, CHECKS, "clocks", skews)


def _counts(situation: GateContext, name: str) -> bool:
    leaves = name in situation.names and not situation.is_back
    return bool(name) and not leaves and "clock" not in _skips(situation, name)


def _skips(situation: GateContext, name: str) -> Mapping[str, str]:
    return next((host.skip for host in situation.view.cluster.hosts if host.name == name), {})
