"""Is no replica left on the decommissioned brokers?

Failed: a partition still has a replica on a broker that was to be decommissioned.

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

LIMITS: Mapping[str, Any] = {"named": 5}
PURPOSES = (DECOMMISSION,)
WHEN = ("after",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    ours = situation.leaving_ids
    if not ours:
        raise NotApplicable(f"no broker ran on {some(sorted(situation.names))}")
    left = [row for row in situation.partitions if ours & set(row.replicas)]
    who = formatting.brokers(situation, ours)
    verdicts = [critical(f"{formatting.listed(left, limits)} still have a replica on {who}")] if left else []
    return ruled(verdicts, f"no replica is left on {who}", left=formatting.rows(left))
