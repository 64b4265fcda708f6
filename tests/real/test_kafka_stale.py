"""Brokers that tell old metadata or have other settings: real clusters, asked again and again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from inventory.model import Cluster
from smoketests.cluster import services
from smoketests.gate import rules
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka.cluster import KafkaFacts
from tests.real.parts import kafka_cluster
from tests.real.parts.kafka_cluster import KafkaCluster
from tests.real.parts.kafka_situations import asked_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LOOKS = 8


def answers(facts: KafkaFacts, *leaving: int) -> dict[str, str]:
    """What the rules say that read Kafka alone, when these brokers leave; their hosts are well."""
    names = ("availability", "brokers", "metadata", "offline", "unreplicated", "min_isr", "unclean")
    return {name: rules.judged(asked_of(facts, *leaving), name).status for name in names}


@pytest.fixture(scope="module", params=["zookeeper", "kraft"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Broker 2 has another file than the others, and reaches controllers or ZooKeeper through a relay."""
    of_two = {"min.insync.replicas": 2, "unclean.leader.election.enable": "true"}
    with kafka_cluster.MODES[request.param](
        tmp_path_factory.mktemp(request.param), relayed=(2,), settings={2: of_two}
    ) as running:
        running.create("pair", (1, 2), (2, 1), min_insync_replicas=1, unclean_leader_election_enable="false")
        running.settle()
        yield running


def test_a_configuration_that_is_rolled_half_gives_the_same_answer_each_time(cluster: KafkaCluster) -> None:
    """W3: broker 2 has min.insync.replicas=2 in its file, the others 1; the one that leads takes its own."""
    cluster.create("mixed", (1, 2))
    cluster.create("other", (1, 3))
    cluster.settle()
    looks = [kafka.read(cluster.servers, {}) for _ in range(LOOKS)]
    cluster.delete("mixed")
    cluster.delete("other")

    for facts in looks:
        rows = {row.topic: (row.min_isr, row.unclean) for row in facts.partitions or ()}
        assert rows == {"mixed": (2, True), "other": (1, False), "pair": (1, False)}, facts
        assert answers(facts, 1)["min_isr"] == "failed"


def test_zookeeper_tells_of_a_shrunk_isr_that_no_broker_tells_yet(cluster: KafkaCluster) -> None:
    """The znode is written by hand, as a leader before Kafka 2.7 writes it; the brokers do not hear of it."""
    from kazoo.client import KazooClient

    if not cluster.ensemble:
        pytest.skip("KRaft has no znodes")
    whole = Cluster("prod-a", (), tuple(f"{one}/kafka" for one in cluster.ensemble.servers), tuple(cluster.servers))
    healthy = services.look(whole, {})
    client = KazooClient(hosts=",".join(cluster.ensemble.servers))
    client.start()
    where = "/kafka/brokers/topics/pair/partitions/0/state"
    state = client.get(where)[0]
    client.set(where, json.dumps({**json.loads(state), "isr": [1]}).encode())
    shrunk = services.look(whole, {})
    client.set(where, state)
    client.stop()
    client.close()

    told = (healthy.zookeeper.in_sync if healthy.zookeeper else None) or {}
    assert {key: isr for key, isr in told.items() if key[0] == "pair"} == {("pair", 0): (1, 2), ("pair", 1): (2, 1)}
    assert shrunk.kafka and [row.isr for row in shrunk.kafka.partitions or ()] == [(1,), (1, 2)]


def test_a_broker_that_is_cut_off_never_gives_a_go(cluster: KafkaCluster) -> None:
    """W2: cut off from controllers or ZooKeeper it still answers, and tells of the time when all was well."""
    cluster.relays[2].freeze()
    try:
        cluster.until("2 is missed", lambda facts: any(row.isr == (1,) for row in facts.partitions or ()))
        later = [kafka.read(cluster.servers, {}) for _ in range(LOOKS)]
    finally:
        cluster.relays[2].thaw()
    cluster.settle()
    healed = answers(kafka.read(cluster.servers, {}), 1)

    for facts in later:
        said = answers(facts, 1)
        assert said["availability"] == "failed" and all(row.isr == (1,) for row in facts.partitions or ()), (
            said,
            facts,
        )
        assert 2 not in {row.id for row in facts.brokers if not row.fenced}
        assert {one.broker for one in facts.doubts} <= {2}, "asked at all only where it is who names the others"
    assert "failed" not in healed.values() and "cannot tell" not in healed.values(), healed
