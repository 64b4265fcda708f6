"""Our reader and `partitions` against real clusters of three brokers, in ZooKeeper mode and in KRaft mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from inventory.model import Cluster
from placement import questions, reading, rules
from placement import snapshot as snapshots
from smoketests.cluster import services
from smoketests.cluster.view import ClusterView
from tests.real.parts import kafka_cluster
from tests.real.parts.kafka_cluster import KafkaCluster
from tests.smoketests.cluster.views import host, judged

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
HOSTS = tuple(replace(host(number), name=f"kafka-a0{number}", address="127.0.0.1") for number in (1, 2, 3))


@pytest.fixture(scope="module", params=["zookeeper", "kraft"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with kafka_cluster.MODES[request.param](tmp_path_factory.mktemp(request.param)) as running:
        running.create("orders", (1, 2, 3), (2, 3, 1), (3, 1, 2), min_insync_replicas=2)
        running.settle()
        yield running


def seen(cluster: KafkaCluster) -> ClusterView:
    zookeeper = tuple(f"{server}/kafka" for server in cluster.ensemble.servers) if cluster.ensemble else ()
    return services.look(Cluster("prod-a", HOSTS, zookeeper, tuple(cluster.servers)), {})


def found(cluster: KafkaCluster) -> dict[str, dict[str, Any]]:
    return judged(seen(cluster), "partitions")


def test_a_healthy_cluster_is_read_whole_and_nothing_is_wrong(cluster: KafkaCluster) -> None:
    cluster.produce("orders", 640)
    view = seen(cluster)
    facts = view.kafka

    assert facts and facts.untold == () and facts.throttled == () and facts.version == "3.9"
    assert len({row.broker for row in facts.log_dirs or ()}) == 3 and not any(row.error for row in facts.log_dirs or ())
    assert max(row.size_bytes or 0 for row in facts.partitions or ()) >= 640 << 10
    assert (facts.controller in cluster.controllers) if cluster.controllers else (facts.controller in cluster.brokers)
    assert bool(facts.quorum) == bool(cluster.controllers)
    for check in ("partitions", "topology", "broker_ids", "zk_quorum"):
        assert {row["status"] for row in judged(view, check).values()} == {"ok"}, check


def test_a_stopped_broker_and_its_way_back(cluster: KafkaCluster) -> None:
    cluster.kill(3)
    rows = found(cluster)

    assert rows["under_replicated"]["status"] == "warning"
    assert "missing are broker 3 (kafka-a03) 3 times" in rows["under_replicated"]["reason"]
    assert rows["offline"]["status"] == rows["min_isr"]["status"] == "ok"

    cluster.brokers[3].start()
    cluster.settle()
    cluster.elect()
    cluster.until("leaders at home", lambda facts: all(r.leader == r.replicas[0] for r in facts.partitions or ()))
    assert {row["status"] for row in found(cluster).values()} == {"ok"}


def test_a_reassignment_that_does_not_end_and_the_throttle_it_leaves(cluster: KafkaCluster) -> None:
    cluster.create("moving", (1, 2), min_insync_replicas=1)
    cluster.produce("moving", 2048)
    cluster.move("moving", (1, 3))
    facts = cluster.facts()
    (row,) = [one for one in (facts.partitions if facts else None) or () if one.topic == "moving"]
    under_way = found(cluster)

    assert facts and (row.adding, row.removing) == ((3,), (2,))
    assert facts.throttled == ("topic moving", "broker 1", "broker 2", "broker 3")
    assert under_way["reassignments"]["status"] == under_way["under_replicated"]["status"] == "ok"
    assert under_way["reassignments"]["reason"].endswith("being reassigned to broker 3 (kafka-a03)")

    cluster.cancel("moving")
    assert found(cluster)["reassignments"]["status"] == "warning", "the throttle is still there"
    cluster.throttle("moving", None)
    assert found(cluster)["reassignments"]["status"] == "ok"
    cluster.delete("moving")


def test_a_topic_with_one_replica_is_told_before_its_broker_goes(cluster: KafkaCluster) -> None:
    cluster.create("alone", (2,))
    try:
        assert found(cluster)["spare_replicas"]["status"] == "warning"
    finally:
        cluster.delete("alone")


WELL = {host.name: reading.Hardware(unknown=()) for host in HOSTS}


def test_a_plan_of_placement_is_taken_by_kafka_and_lies_as_planned(cluster: KafkaCluster) -> None:
    cluster.create("placed", (1, 2), min_insync_replicas=1)
    cluster.produce("placed", 640)
    kafka = cluster.facts()
    assert kafka
    snapshot = reading.snapshot_of(Cluster("prod-a", HOSTS), kafka, WELL, "2026-01-01T00:00:00Z")
    plan = questions.drain(snapshot, [2], "drain", questions.Options(topics="placed"))
    try:
        (change,) = plan.changes
        assert (change.after, rules.broken(snapshot, plan)) == ((1, 3), [])
        assert change.size_bytes >= 640 << 10 and snapshots.loads(snapshots.dumps(snapshot)) == snapshot
        cluster.move("placed", change.after)
        cluster.throttle("placed", None)
        cluster.until("the move", lambda _: [row.replicas for row in cluster.partitions("placed")] == [change.after])
        assert not cluster.partitions("placed")[0].adding
    finally:
        cluster.delete("placed")


def test_a_quorum_without_majority_is_no_cluster_with_zookeeper(cluster: KafkaCluster) -> None:
    """Last: the quorum goes away. A KRaft broker still tells what it knew, and passes on the rest to nobody."""
    if not cluster.controllers:
        pytest.skip("the ensemble's own tests are in test_gate_kafka.py and test_zookeeper.py")
    for controller in list(cluster.controllers.values())[:2]:
        controller.stop()
    # the last one leads until it has missed the others for a while
    cluster.until("no quorum", lambda facts: any(why.startswith("quorum cannot be read") for why in facts.untold))
    view = seen(cluster)
    facts = view.kafka

    assert facts and facts.quorum is None and facts.controller is None
    assert facts.log_dirs and facts.partitions, "what brokers know themselves is read all the same"
    assert judged(view, "partitions")["asked"]["status"] == "unknown"
