"""Has every partition of the cluster a leader?

Failed: a partition without a leader or without any replica in sync, anywhere in the cluster. Where the hosts that leave
are what keeps it from coming back, accept it: they are mended by the maintenance.

Cannot tell: Kafka did not tell its partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import count_of, critical
from smoketests.cluster.partitions import is_offline
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
    rows = [row for row in partitions if is_offline(row)]
    on = sorted({broker for row in rows for broker in row.replicas})
    said = f"{wording.listed(rows, limits)} without a leader" if rows else ""
    verdicts = [critical(f"{said}; replicas on {wording.brokers(situation, on)}")] if rows else []
    return ruled(verdicts, f"{count_of(len(partitions), 'partition')}, all with a leader", offline=wording.rows(rows))
