"""Who is in sync by ZooKeeper, beside what the brokers say: the worse of both counts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.readers.kafka import in_sync
from smoketests.readers.kafka.model import KafkaFacts, Partition, Quorum
from smoketests.readers.zookeeper import partitions as zookeeper_partitions

ROWS = (Partition("t", 0, 1, (1, 2, 3), (1, 2, 3), 2), Partition("t", 1, 2, (2, 3), (2, 3), 1))
FACTS = KafkaFacts("c1", 1, (), ROWS, None)


def test_a_replica_that_zookeeper_does_not_call_in_sync_is_not() -> None:
    """Before Kafka 2.7 the brokers are told of a shrunk ISR 5 s to a minute later."""
    worst = in_sync.worst_of(FACTS, {("t", 0): (1,)})

    assert [row.isr for row in worst.partitions or ()] == [(1,), (2, 3)]
    assert in_sync.worst_of(FACTS, None) is FACTS


def test_what_a_cluster_left_in_zookeeper_when_it_moved_to_kraft_does_not_count() -> None:
    moved = FACTS._replace(quorum=Quorum(11, ()))

    assert in_sync.worst_of(moved, {("t", 0): (1,)}) is moved


@given(st.binary(max_size=60) | st.from_type(type(None)))
def test_rubbish_in_a_znode_is_no_isr(data: bytes | None) -> None:
    said = zookeeper_partitions.parse(data)

    assert said is None or all(isinstance(one, int) for one in said)


@pytest.mark.parametrize("isr", [[], [1], [3, 1, 2]])
def test_the_state_of_a_partition_as_kafka_writes_it(isr: list[int]) -> None:
    state = {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": isr}

    assert zookeeper_partitions.parse(json.dumps(state).encode()) == tuple(isr)
