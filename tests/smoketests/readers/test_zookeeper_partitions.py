"""Who is in sync by ZooKeeper, beside what the brokers say: the worse of both counts."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model import Cluster
from smoketests import readers
from smoketests.readers import zookeeper_partitions
from smoketests.readers.kafka_facts import KafkaFacts, Partition, Quorum
from tests.real import kafka_cluster

ROWS = (Partition("t", 0, 1, (1, 2, 3), (1, 2, 3), 2), Partition("t", 1, 2, (2, 3), (2, 3), 1))
FACTS = KafkaFacts("c1", 1, (), ROWS, None)


def test_a_replica_that_zookeeper_does_not_call_in_sync_is_not() -> None:
    """Before Kafka 2.7 the brokers are told of a shrunk ISR 5 s to a minute later."""
    worst = zookeeper_partitions.worst_of(FACTS, {("t", 0): (1,)})

    assert [row.isr for row in worst.partitions or ()] == [(1,), (2, 3)]
    assert zookeeper_partitions.worst_of(FACTS, None) is FACTS


def test_what_a_cluster_left_in_zookeeper_when_it_moved_to_kraft_does_not_count() -> None:
    moved = FACTS._replace(quorum=Quorum(11, ()))

    assert zookeeper_partitions.worst_of(moved, {("t", 0): (1,)}) is moved


@given(st.binary(max_size=60) | st.from_type(type(None)))
def test_rubbish_in_a_znode_is_no_isr(data: bytes | None) -> None:
    said = zookeeper_partitions.parse(data)

    assert said is None or all(isinstance(one, int) for one in said)


@pytest.mark.parametrize("isr", [[], [1], [3, 1, 2]])
def test_the_state_of_a_partition_as_kafka_writes_it(isr: list[int]) -> None:
    state = {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": isr}

    assert zookeeper_partitions.parse(json.dumps(state).encode()) == tuple(isr)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_real_ensemble_tells_of_a_shrunk_isr_that_no_broker_tells_yet(tmp_path: pathlib.Path) -> None:
    """The znode is written by hand, as a leader before Kafka 2.7 writes it; the brokers do not hear of it."""
    from kazoo.client import KazooClient

    with kafka_cluster.with_zookeeper(tmp_path) as cluster:
        cluster.create("pair", (1, 2), (2, 1))
        cluster.settle()
        assert cluster.ensemble
        servers = tuple(f"{server}/kafka" for server in cluster.ensemble.servers)
        whole = Cluster("prod-a", (), servers, tuple(cluster.servers))
        healthy = readers.look(whole, {})
        client = KazooClient(hosts=",".join(cluster.ensemble.servers))
        client.start()
        where = "/kafka/brokers/topics/pair/partitions/0/state"
        state = json.loads(client.get(where)[0])
        client.set(where, json.dumps({**state, "isr": [1]}).encode())
        client.stop()
        client.close()
        shrunk = readers.look(whole, {})

    assert healthy.zookeeper and healthy.zookeeper.in_sync == {("pair", 0): (1, 2), ("pair", 1): (2, 1)}
    assert shrunk.kafka and [row.isr for row in shrunk.kafka.partitions or ()] == [(1,), (1, 2)]
