"""Does no reassignment of partitions run?

It moves replicas while a broker that it needs goes away, and its load comes on top.

Failed: a reassignment is under way, anywhere in the cluster.

Cannot tell: Kafka did not tell its partitions or its reassignments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import critical
from smoketests.cluster.view import CannotTell
from smoketests.gate import wording
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import PURPOSES as ALL
from smoketests.gate.situation import Situation

LIMITS: Mapping[str, Any] = {"named": 5}
PURPOSES = ALL
WHEN = ("before", "after")
CHECKS = ()
FINAL = ""


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    partitions = situation.partitions
    untold = [why for why in situation.kafka.untold if why.startswith("reassignments")]
    if untold:
        raise CannotTell("; ".join(untold))
    if not situation.kafka.tells_moves:
        raise CannotTell(
            "a Kafka before 2.4 does not tell its reassignments: kafka-reassign-partitions.sh --verify does"
        )
    moving = [row for row in partitions if row.adding or row.removing]
    said = f"being reassigned: {wording.listed(moving, limits)}; wait for it or cancel it" if moving else ""
    return ruled([critical(said)] if moving else [], "no reassignment runs", moving=wording.rows(moving))
