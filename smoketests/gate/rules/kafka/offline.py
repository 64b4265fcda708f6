"""Has every partition of the cluster a leader?

Failed: a partition with a replica on these hosts has no leader, or no replica in sync. Where the hosts that leave are
what keeps it from coming back, accept it: the maintenance repairs it.

Warned: a partition that has no replica on these hosts, or has all of them there: before a maintenance it has nothing
left to lose (see unreplicated).

Cannot tell: no partition data from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.status import count_of, critical, warning
from smoketests.cluster.checks.partitions import is_offline
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import Partition

LIMITS: Mapping[str, Any] = {"named": 5}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    partitions = situation.partitions
    rows = [row for row in partitions if is_offline(row)]
    here, others = formatting.apart(situation, rows) if rows else ([], [])
    lost = [] if situation.after else [row for row in here if set(row.replicas) <= situation.leaving_ids]
    here = [row for row in here if row not in lost]
    verdicts = [critical(_said(situation, here, limits))] if here else []
    if lost:
        verdicts.append(warning(f"{_said(situation, lost, limits)}; all of them leave, nothing more is lost"))
    if others:
        verdicts.append(warning(f"{_said(situation, others, limits)}; {formatting.elsewhere(situation)}"))
    healthy = f"{count_of(len(partitions), 'partition')}, all with a leader"
    return ruled(verdicts, healthy, formatting.by_topic(situation, here, "no leader"), offline=formatting.rows(rows))


def _said(situation: GateContext, rows: Sequence[Partition], limits: Mapping[str, Any]) -> str:
    on = sorted({broker for row in rows for broker in row.replicas})
    return f"{formatting.listed(rows, limits)} without a leader; replicas on {formatting.brokers(situation, on)}"
