"""Does no reassignment of partitions run?

It moves replicas while a broker that it needs goes away, and its load comes on top.

Failed: a partition of these hosts is being reassigned, to them or away from them.

Warned: only partitions without a replica on these hosts are.

Cannot tell: Kafka did not tell its partitions or its reassignments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import critical, warning
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
    here, others = wording.apart(situation, moving) if moving else ([], [])
    verdicts = []
    if here:
        verdicts.append(critical(f"being reassigned: {wording.listed(here, limits)}; wait for it or cancel it"))
    if others:
        verdicts.append(warning(f"being reassigned: {wording.listed(others, limits)}, {wording.elsewhere(situation)}"))
    findings = wording.by_topic(situation, here, "being reassigned")
    return ruled(verdicts, "no reassignment runs", findings, moving=wording.rows(moving))
