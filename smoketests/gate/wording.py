"""Partitions and brokers as the rules name them in a sentence, and as evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smoketests.cluster.partitions import counted
from smoketests.cluster.view import NotAsked, some
from smoketests.gate.situation import Situation

if TYPE_CHECKING:
    from smoketests.readers.kafka import Partition

MOST_ROWS = 200


def held(situation: Situation) -> list[Partition]:
    """The partitions with a replica on the brokers that leave; NotAsked where none leaves."""
    if situation.stays_up:
        raise NotAsked(situation.stays_up)
    partitions, leaving = situation.partitions, situation.leaving_ids
    if not leaving:
        raise NotAsked(f"no broker runs on {some(sorted(situation.names))}")
    return [row for row in partitions if leaving & set(row.replicas)]


def listed(rows: Sequence[Partition], limits: Mapping[str, Any]) -> str:
    """7 partitions of 2 topics (a-0, a-1, b-3 and 4 more)"""
    return f"{counted(rows)} ({some([row.name[:80] for row in rows], limits['named'])})"


def brokers(situation: Situation, ids: Collection[int]) -> str:
    return some([situation.broker(number) for number in sorted(ids)])


def rows(partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    """For evidence; the first of many."""
    found = list(partitions)[:MOST_ROWS]
    return [
        {"partition": row.name, "leader": row.leader, "replicas": list(row.replicas), "isr": list(row.isr),
         "min_isr": row.min_isr} for row in found
    ]  # fmt: skip
