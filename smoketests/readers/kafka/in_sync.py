"""Which replicas count as in sync where both the brokers and ZooKeeper were asked. Pure."""

from __future__ import annotations

from smoketests.readers.kafka.model import KafkaFacts
from smoketests.readers.zookeeper.partitions import InSync


def worst_of(facts: KafkaFacts, in_sync: InSync | None) -> KafkaFacts:
    """In sync is what both the brokers and ZooKeeper call so; a cluster that moved to KRaft left old znodes behind."""
    if not in_sync or facts.partitions is None or facts.quorum is not None:
        return facts
    rows = (row._replace(isr=_both(row.isr, in_sync.get((row.topic, row.number)))) for row in facts.partitions)
    return facts._replace(partitions=tuple(rows))


def _both(isr: tuple[int, ...], written: tuple[int, ...] | None) -> tuple[int, ...]:
    return isr if written is None else tuple(one for one in isr if one in written)
