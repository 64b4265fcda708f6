"""Does every partition stay writable while these hosts are down?

Strimzi's rule, for all hosts that leave at once: a partition whose replicas outnumber min.insync.replicas must keep
that many in sync. Those that cannot even when all brokers are healthy are covered by min_isr and unreplicated.

Failed: a partition would have fewer replicas in sync than min.insync.replicas, or none at all.

Cannot tell: no partition data from Kafka, or the min.insync.replicas of a topic on these brokers is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from agent.status import count_of, critical, unknown
from inventory.names import some
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import CANNOT_TELL, RuleResult, ruled

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import Partition

LIMITS: Mapping[str, Any] = {"named": 5}
WHEN = ("before",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    rows = formatting.held(situation)
    leaving = situation.leaving_ids
    short = [row for row in rows if blocks(row, leaving) and set(row.isr) - leaving]
    gone = [row for row in rows if blocks(row, leaving) and not set(row.isr) - leaving]
    untold = sorted({row.topic for row in rows if row.min_isr is None and len(row.replicas) > 1 and row not in gone})
    who = formatting.brokers(situation, leaving)
    verdicts = []
    if gone:
        verdicts.append(critical(f"{formatting.listed(gone, limits)} would have no replica in sync without {who}"))
    if short:
        said = f"{formatting.listed(short, limits)} would be below min.insync.replicas without {who}"
        alone = len(leaving) > 1 and not any(blocks(row, {one}) for row in rows for one in leaving)
        verdicts.append(critical(f"{said}; one broker at a time could go" if alone else said))
    if untold:
        verdicts.append(unknown(f"min.insync.replicas is unknown for {len(untold)} topics: {some(untold, 3)}"))
    healthy = f"{count_of(len(rows), 'partition')} of {who}: enough replicas in sync are left"
    evidence = {"partitions": len(rows), "blocked": formatting.rows([*gone, *short]), "untold": untold[:100]}
    findings = formatting.by_topic(situation, gone, "no replica in sync would be left")
    findings += formatting.by_topic(situation, short, "below min.insync.replicas")
    unread = [row for row in rows if row.topic in set(untold)]
    findings += formatting.by_topic(situation, unread, "min.insync.replicas is unknown", CANNOT_TELL)
    return ruled(verdicts, healthy, findings, **evidence)


def blocks(row: Partition, leaving: Collection[int]) -> bool:
    """Whether this partition forbids that the brokers leave."""
    here = set(leaving) & set(row.replicas)
    if not here or len(row.replicas) < 2:
        return False
    left = set(row.isr) - here
    if not left:
        return True
    if row.min_isr is None or len(row.replicas) <= row.min_isr:
        return False
    return len(row.isr) < row.min_isr or (len(left) < row.min_isr and bool(here & set(row.isr)))
