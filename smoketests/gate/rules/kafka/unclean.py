"""Is no message lost because a follower that is behind becomes leader?

With unclean.leader.election.enable, Kafka elects an out-of-sync replica once the last one in sync leaves.

Failed: a topic with unclean elections has a partition whose only replicas in sync leave.

Cannot tell: such a partition, and whether its topic allows unclean elections is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import critical, unknown
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import CANNOT_TELL, RuleResult, ruled

LIMITS: Mapping[str, Any] = {"named": 5}
WHEN = ("before",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    rows = formatting.held(situation)
    leaving = situation.leaving_ids
    last = [row for row in rows if row.isr and set(row.isr) <= leaving and set(row.replicas) - leaving]
    losing, untold = [row for row in last if row.unclean], [row for row in last if row.unclean is None]
    verdicts = []
    if losing:
        verdicts.append(critical(f"{formatting.listed(losing, limits)} would be led by a replica that lacks messages"))
    if untold:
        verdicts.append(
            unknown(f"unclean elections unknown for {formatting.listed(untold, limits)}, no replica is left")
        )
    findings = formatting.by_topic(situation, losing, "led by a replica that lacks messages")
    findings += formatting.by_topic(situation, untold, "unclean elections unknown", CANNOT_TELL)
    healthy = "no partition's last replica in sync leaves while others are behind"
    return ruled(verdicts, healthy, findings, last=formatting.rows(last))
