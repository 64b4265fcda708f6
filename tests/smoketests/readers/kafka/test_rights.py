"""The Kafka reader under an account with few rights, on a real broker with an authorizer: nothing hidden is a yes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from smoketests.readers import CannotRead
from smoketests.readers.kafka import cluster as kafka
from tests.real.parts import kafka_servers
from tests.real.parts.kafka_servers import Kafka
from tests.real.parts.namespace import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ACCOUNTS = ("boss", "seer", "half", "blind")


def login(name: str) -> dict[str, Any]:
    return {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": name,
            "sasl_plain_password": f"{name}-secret"}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """Topics `orders` and `salaries`. seer may describe all, half all but salaries, blind only topics."""
    users = " ".join(f'user_{name}="{name}-secret"' for name in ACCOUNTS)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    running = kafka_servers.with_kraft(tmp_path_factory.mktemp("rights") / "k", "SASL_PLAINTEXT", **{
        "sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f'{module} username="boss" password="boss-secret" {users};',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:boss;User:ANONYMOUS",
    })  # fmt: skip
    with running:
        admin = wait_for("a login", lambda: connected(running), 60)
        try:
            topics = {name: {"num_partitions": 2, "replication_factor": 1} for name in ("orders", "salaries")}
            admin.create_topics(topics, timeout_ms=30_000)
            allow(admin)
        finally:
            admin.close()
        wait_for("rights", lambda: set_up(running), 60)
        yield running


def connected(server: Kafka) -> Any:
    try:
        return kafka.connect([server.address], login("boss"))
    except CannotRead:
        return None


def allow(admin: Any) -> None:
    from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

    rights = {
        "seer": [(ResourceType.CLUSTER, "kafka-cluster"), (ResourceType.TOPIC, "*")],
        "half": [(ResourceType.CLUSTER, "kafka-cluster"), (ResourceType.TOPIC, "orders")],
        "blind": [(ResourceType.TOPIC, "*")],
    }
    admin.create_acls([
        ACL(f"User:{who}", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
        for who, resources in rights.items() for kind, name in resources
        for operation in (ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS)
    ])  # fmt: skip


def set_up(server: Kafka) -> bool:
    facts = kafka.read([server.address], login("seer"))
    return len(facts.partitions or ()) == 4 and not facts.untold


def test_the_right_to_describe_is_enough_for_everything(server: Kafka) -> None:
    facts = kafka.read([server.address], login("seer"))

    assert {row.topic for row in facts.partitions or ()} == {"orders", "salaries"} and facts.untold == ()
    assert {row.min_isr for row in facts.partitions or ()} == {1} and facts.quorum and facts.log_dirs


def test_a_topic_that_kafka_silently_leaves_out_is_told(server: Kafka) -> None:
    facts = kafka.read([server.address], login("half"))

    assert {row.topic for row in facts.partitions or ()} == {"orders"}
    assert facts.untold == ("topic salaries cannot be read (the client needs DESCRIBE on every topic)",)


def test_without_a_right_to_the_cluster_its_log_dirs_and_quorum_are_untold(server: Kafka) -> None:
    facts = kafka.read([server.address], login("blind"))
    untold = " ".join(facts.untold)

    assert {row.topic for row in facts.partitions or ()} == {"orders", "salaries"}
    assert facts.log_dirs is None and facts.quorum is None and facts.controller is None
    assert (
        "log dirs of broker 1 cannot be read: no log dirs reported; the client needs DESCRIBE on the cluster"
        in facts.untold
    )
    assert "quorum cannot be read: ClusterAuthorizationFailedError" in untold
    assert "reassignments cannot be read: ClusterAuthorizationFailedError" in untold
