"""Do the clocks of the cluster agree?

Kafka's retention, ZooKeeper's sessions and every log that is read afterwards depend on it.

Failed: a clock is off by as much as the checks clock and clock_skew call critical, on a machine that must carry the
load (afterwards also on the hosts themselves).

Warned, cannot tell: as those checks do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smoketests.gate import machines
from smoketests.gate.decision import BY_SEVERITY, OF_VERDICT, RuleResult
from smoketests.gate.maintenance import PURPOSES as ALL
from smoketests.gate.rules import judged_in
from smoketests.gate.situation import Situation

LIMITS: Mapping[str, Any] = {}
PURPOSES = ALL
WHEN = ("before", "after")
CHECKS = ("clock",)
FINAL = ""


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    own = machines.without_trouble(situation, CHECKS, "clocks")
    for finding in judged_in(situation.view, "clock_skew"):
        skipped = "clock" in _skips(situation, finding.host)
        status = OF_VERDICT[finding.verdict.status]
        leaves = finding.host in situation.names and not situation.is_back
        if finding.host and not leaves and not skipped and BY_SEVERITY.index(status) > BY_SEVERITY.index(own.status):
            own = own._replace(status=status, reason=f"{finding.verdict.reason}; {own.reason}")
    return own


def _skips(situation: Situation, name: str) -> Mapping[str, str]:
    return next((host.skip for host in situation.view.cluster.hosts if host.name == name), {})
