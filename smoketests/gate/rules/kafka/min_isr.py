"""Does every topic on these hosts have more replicas than min.insync.replicas?

With as many (2 of 2), one broker that is down stops every write with acks=all, however healthy the others are.
Strimzi's rule silently allows it, because such a topic could never be rolled at all.

Failed: a topic with min.insync.replicas replicas or fewer has one here. Accept it where its writers can wait.

Warned: the broker is decommissioned: its replicas are moved before it is stopped.

Cannot tell: no partition data from Kafka. (For an unknown min.insync.replicas see availability.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import count_of, critical, warning
from inventory.names import some
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION

LIMITS: Mapping[str, Any] = {"named": 5}
WHEN = ("before",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    rows = formatting.held(situation)
    tight = [row for row in rows if row.min_isr is not None and 1 < len(row.replicas) <= row.min_isr]
    kinds = sorted({f"{row.topic[:80]} ({len(row.replicas)} of {row.min_isr})" for row in tight})
    said = f"writes with acks=all stop meanwhile: as many replicas as min.insync.replicas have {some(kinds)}"
    healthy = f"{count_of(len(rows), 'partition')} there, of topics that can spare one"
    if tight and situation.purpose == DECOMMISSION:
        said = f"as many replicas as min.insync.replicas have {some(kinds)}: {formatting.DRAINED}"
        return ruled([warning(said)], healthy, tight=formatting.rows(tight))
    findings = formatting.by_topic(situation, tight, "as many replicas as min.insync.replicas")
    return ruled([critical(said)] if tight else [], healthy, findings, tight=formatting.rows(tight))
