"""Is every partition fully replicated?

Replicas that a reassignment is still filling do not count here (see reassignments), and before a maintenance
neither do those of the brokers that leave: they may be the reason for it.

Failed: afterwards, a partition of these hosts lacks a replica that should be in sync.

Warned: before, a partition of these hosts lacks one (see availability for whether that is too few); at any time, a
partition that has no replica on these hosts.

Cannot tell: no partition data from Kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.status import count_of, critical, warning
from smoketests.cluster.checks.partitions import missing
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import Partition

LIMITS: Mapping[str, Any] = {"named": 5}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    partitions = situation.partitions
    lacking = [row for row in partitions if missing(row)]
    ours = frozenset() if situation.after else situation.leaving_ids
    rows = [row for row in lacking if missing(row) - ours]
    here, others = formatting.apart(situation, rows) if rows else ([], [])
    verdicts = []
    if here:
        said = _said(situation, here, ours, limits)
        verdicts.append(critical(said) if situation.after else warning(f"{said}; enough are left (see availability)"))
    if others:
        verdicts.append(warning(f"{_said(situation, others, ours, limits)}, {formatting.elsewhere(situation)}"))
    healthy = f"{count_of(len(partitions), 'partition')}, all fully replicated"
    if lacking:
        healthy = (
            f"{formatting.listed(lacking, limits)} lack only {formatting.brokers(situation, ours)}, which leaves anyway"
        )
    findings = formatting.by_topic(situation, here, "under-replicated") if situation.after else []
    absent = Counter(broker for row in rows for broker in missing(row) - ours)
    return ruled(verdicts, healthy, findings, missing=dict(absent), partitions=formatting.rows(rows))


def _said(situation: GateContext, rows: Sequence[Partition], ours: frozenset[int], limits: Mapping[str, Any]) -> str:
    absent = Counter(broker for row in rows for broker in missing(row) - ours)
    who = ", ".join(f"{situation.broker(broker)} {count} times" for broker, count in absent.most_common(4))
    return f"{formatting.listed(rows, limits)} under-replicated; missing are {who}"
