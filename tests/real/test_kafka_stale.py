"""Brokers that tell old metadata or have other settings: real clusters, asked again and again."""

from __future__ import annotations

import pathlib

import pytest

from smoketests.gate import rules
from smoketests.readers import kafka
from smoketests.readers.kafka import KafkaFacts
from tests.real import kafka_cluster
from tests.real.kafka_situations import asked_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LOOKS = 8


def answers(facts: KafkaFacts, *leaving: int) -> dict[str, str]:
    """What the rules say that read Kafka alone, when these brokers leave; their hosts are well."""
    names = ("availability", "brokers", "metadata", "offline", "single_copies", "no_spare_copy", "unclean")
    return {name: rules.judged(asked_of(facts, *leaving), name).status for name in names}


@pytest.mark.parametrize("mode", ["zookeeper", "kraft"])
def test_a_broker_that_is_cut_off_never_gives_a_go(mode: str, tmp_path: pathlib.Path) -> None:
    """W2: cut off from controllers or ZooKeeper it still answers, and tells of the time when all was well."""
    with kafka_cluster.MODES[mode](tmp_path, relayed=(2,)) as cluster:
        cluster.create("pair", (1, 2), (2, 1), min_insync_replicas=1)
        cluster.settle()
        cluster.relays[2].freeze()
        at_once = answers(kafka.read(cluster.servers, {}), 1)
        cluster.until("2 is missed", lambda facts: any(row.isr == (1,) for row in facts.partitions or ()))
        later = [kafka.read(cluster.servers, {}) for _ in range(LOOKS)]
        cluster.relays[2].thaw()
        cluster.settle()
        healed = answers(kafka.read(cluster.servers, {}), 1)

    assert {"failed", "cannot tell"} & set(at_once.values()) or at_once["metadata"] == "passed", at_once
    for facts in later:
        said = answers(facts, 1)
        assert said["availability"] == "failed" and all(row.isr == (1,) for row in facts.partitions or ()), (
            said,
            facts,
        )
        assert 2 not in {row.id for row in facts.brokers if not row.fenced}
        assert {one.broker for one in facts.doubts} <= {2}, "asked at all only where it is who names the others"
    assert "failed" not in healed.values() and "cannot tell" not in healed.values(), healed


@pytest.mark.parametrize("mode", ["zookeeper", "kraft"])
def test_a_configuration_that_is_rolled_half_gives_the_same_answer_each_time(mode: str, tmp_path: pathlib.Path) -> None:
    """W3: broker 2 has min.insync.replicas=2 in its file, the others 1; the one that leads takes its own."""
    of_two = {"min.insync.replicas": 2, "unclean.leader.election.enable": "true"}
    with kafka_cluster.MODES[mode](tmp_path, settings={2: of_two}) as cluster:
        cluster.create("pair", (1, 2))
        cluster.create("other", (1, 3))
        cluster.create("own", (1, 2), min_insync_replicas=1, unclean_leader_election_enable="false")
        cluster.settle()
        looks = [kafka.read(cluster.servers, {}) for _ in range(LOOKS)]

    for facts in looks:
        rows = {row.topic: (row.min_isr, row.unclean) for row in facts.partitions or ()}
        assert rows == {"pair": (2, True), "other": (1, False), "own": (1, False)}, facts
        assert answers(facts, 1)["no_spare_copy"] == "failed"
