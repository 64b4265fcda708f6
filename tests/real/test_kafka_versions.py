"""The reader against the versions of Kafka that people run: three in CI, all with `scripts/test --kafka`."""

from __future__ import annotations

import pathlib
from contextlib import ExitStack

import pytest

from smoketests.readers import CannotRead
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka.cluster import KafkaFacts
from tests.real.parts import kafka_servers
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import ZooKeeper

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
CI = (("2.8.2", "zookeeper"), ("3.6.2", "kraft"), ("4.1.1", "kraft"))
ALL = (
    *((version, "zookeeper") for version in ("2.4.1", "3.0.2", "3.3.2", "3.6.2", "3.7.2", "3.9.1")),
    *((version, "kraft") for version in ("3.3.2", "3.7.2", "3.9.1")),
)


@pytest.mark.parametrize(
    ("version", "mode"), [*CI, *(pytest.param(*one, marks=pytest.mark.kafka) for one in ALL)]
)  # fmt: skip
def test_every_kafka_that_people_run_is_read_whole(version: str, mode: str, tmp_path: pathlib.Path) -> None:
    with ExitStack() as running:
        if mode == "zookeeper":
            server = running.enter_context(ZooKeeper(tmp_path / "zk"))
            at = f"127.0.0.1:{server.port}/kafka"
            broker = kafka_servers.with_zookeeper(tmp_path / "b", 1, at, version=version)
        else:
            broker = kafka_servers.with_kraft(tmp_path / "b", version=version)
        running.enter_context(broker)
        wait_for("a broker", lambda: read(broker.address), 60)
        client = kafka.connect([broker.address], {})
        client.create_topics({"orders": {"num_partitions": 3, "replication_factor": 1,
                                         "configs": {"min.insync.replicas": "1"}}}, timeout_ms=30_000)  # fmt: skip
        client.close()
        facts = wait_for("leaders", lambda: led(read(broker.address)), 60)

    assert facts.untold == () and facts.version == ".".join(version.split(".")[:2]) and facts.controller == 1
    assert [(row.id, row.port) for row in facts.brokers] == [(1, broker.port)]
    rows = [(row.replicas, row.isr, row.min_isr, row.unclean) for row in facts.partitions]
    assert rows == [((1,), (1,), 1, False)] * 3
    assert facts.throttled == () and facts.tells_moves
    if mode == "kraft":
        assert facts.quorum.leader == 1 and [(row.id, row.behind_ms) for row in facts.quorum.voters] == [(1, 0)]
    else:
        assert facts.quorum is None


def read(server: str) -> KafkaFacts | None:
    """None while it is not registered yet."""
    try:
        facts = kafka.read([server], {})
    except CannotRead as error:
        assert "Unable to bootstrap" in str(error) or "connection refused" in str(error), error
        return None
    return facts if facts.brokers else None


def led(facts: KafkaFacts | None) -> KafkaFacts | None:
    rows = (facts.partitions if facts else None) or ()
    kept = [row.replicas for row in (facts.log_dirs if facts else None) or ()]
    return facts if len(rows) == 3 and all(row.leader == 1 for row in rows) and kept == [3] else None
