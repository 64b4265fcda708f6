"""Are enough brokers left for as many replicas as every topic has?

Failed: a topic has more replicas than brokers would be left; reduce them first, or add a broker.

Cannot tell: no partition data from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import critical
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION

LIMITS: Mapping[str, Any] = {"named": 5}
PURPOSES = (DECOMMISSION,)
WHEN = ("before",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    rows = formatting.held(situation)
    left = len(situation.living_ids - situation.leaving_ids)
    wide = [row for row in rows if len(row.replicas) > left]
    said = f"{formatting.listed(wide, limits)} have more replicas than the {left} brokers that are left" if wide else ""
    return ruled(
        [critical(said)] if wide else [], f"{left} brokers are left, enough for every topic", brokers_left=left
    )
