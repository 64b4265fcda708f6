"""Partitions and brokers as the rules name them in a sentence, and as evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.host import NotApplicable
from agent.status import count_of
from inventory.names import some
from smoketests.cluster.checks.partitions import counted
from smoketests.gate.context import GateContext
from smoketests.gate.decision import FAILED, Finding

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import Partition

MOST_ROWS = 200
DRAINED = "move them before it is stopped (playbook decommission-broker does)"


def held(situation: GateContext) -> list[Partition]:
    """The partitions with a replica on the brokers that leave; NotApplicable where none leaves."""
    if situation.stays_up:
        raise NotApplicable(situation.stays_up)
    partitions, leaving = situation.partitions, situation.leaving_ids
    if not leaving:
        raise NotApplicable(f"no broker runs on {some(sorted(situation.names))}")
    return [row for row in partitions if leaving & set(row.replicas)]


def listed(rows: Sequence[Partition], limits: Mapping[str, Any]) -> str:
    """7 partitions of 2 topics (a-0, a-1, b-3 and 4 more)"""
    return f"{counted(rows)} ({some([row.name[:80] for row in rows], limits['named'])})"


def by_topic(situation: GateContext, rows: Sequence[Partition], what: str, status: str = FAILED) -> list[Finding]:
    """A finding for each topic, of the hosts in question; another number of its partitions is the same finding."""
    hosts = ",".join(sorted(situation.names))
    topics: dict[str, int] = {}
    for row in rows:
        topics[row.topic] = topics.get(row.topic, 0) + 1
    return [
        Finding(hosts, f"topic {topic}", f"{count_of(count, 'partition')} of {topic[:80]}: {what}", status, what)
        for topic, count in sorted(topics.items())
    ]


def apart(situation: GateContext, rows: Sequence[Partition]) -> tuple[list[Partition], list[Partition]]:
    """The partitions with a replica on the hosts in question, coming and going ones too, and all others."""
    ours = situation.leaving_ids
    here: list[Partition] = []
    others: list[Partition] = []
    for row in rows:
        (here if ours & {*row.replicas, *row.adding, *row.removing} else others).append(row)
    return here, others


def elsewhere(situation: GateContext) -> str:
    return f"on none of {some(sorted(situation.names), 3)}, so it does not count"


def brokers(situation: GateContext, ids: Collection[int]) -> str:
    return some([situation.broker(number) for number in sorted(ids)])


def rows(partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    """For evidence; the first of many."""
    found = list(partitions)[:MOST_ROWS]
    return [
        {"partition": row.name, "leader": row.leader, "replicas": list(row.replicas), "isr": list(row.isr),
         "min_isr": row.min_isr} for row in found
    ]  # fmt: skip
