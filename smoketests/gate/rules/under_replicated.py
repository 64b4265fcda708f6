"""Is every partition fully replicated?

Replicas that a reassignment has only begun to fill do not count here (see reassignments), and before a maintenance
neither do those of the brokers that leave: they may be the reason for it.

Failed: a partition lacks a replica that should be in sync, anywhere in the cluster.

Cannot tell: Kafka did not tell its partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from agent.status import count_of, critical
from smoketests.cluster.partitions import missing
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
    lacking = [row for row in partitions if missing(row)]
    ours = frozenset() if situation.after else situation.leaving_ids
    rows = [row for row in lacking if missing(row) - ours]
    absent = Counter(broker for row in rows for broker in missing(row) - ours)
    who = ", ".join(f"{situation.broker(broker)} {count} times" for broker, count in absent.most_common(4))
    said = f"{wording.listed(rows, limits)} under-replicated; missing are {who}" if rows else ""
    healthy = f"{count_of(len(partitions), 'partition')}, all fully replicated"
    if lacking:
        healthy = f"{wording.listed(lacking, limits)} lack only {wording.brokers(situation, ours)}, which leaves anyway"
    return ruled([critical(said)] if rows else [], healthy, missing=dict(absent), partitions=wording.rows(rows))
