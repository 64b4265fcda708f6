"""Do these brokers lead their preferred partitions again?

Kafka moves the leaders back by itself every 5 minutes (auto.leader.rebalance.enable), or kafka-leader-election.sh does.

Failed: of the partitions whose preferred leader is on these hosts, more than 10 % are led by another (Kafka's own
leader.imbalance.per.broker.percentage).

Cannot tell: no partition data from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import NotApplicable
from agent.status import critical
from inventory.names import some
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.maintenance import PURPOSES as ALL

LIMITS: Mapping[str, Any] = {"imbalance_percent": 10, "named": 5}
PURPOSES = tuple(purpose for purpose in ALL if purpose != DECOMMISSION)
WHEN = ("after",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    ours = situation.leaving_ids
    if not ours:
        raise NotApplicable(f"no broker runs on {some(sorted(situation.names))}")
    preferred = [row for row in situation.partitions if row.replicas[:1] and row.replicas[0] in ours]
    away = [row for row in preferred if row.leader != row.replicas[0]]
    percent = 100 * len(away) / max(len(preferred), 1)
    evidence = {"preferred": len(preferred), "away": formatting.rows(away)}
    if percent > limits["imbalance_percent"]:
        said = f"{len(away)} of the {len(preferred)} partitions that {formatting.brokers(situation, ours)} should lead"
        return ruled([critical(f"{said} are led by others: {formatting.listed(away, limits)}")], "", **evidence)
    said = f"led by their preferred broker again: {len(preferred) - len(away)} of {len(preferred)} partitions"
    return ruled([], said, **evidence)
