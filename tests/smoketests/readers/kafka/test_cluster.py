"""The Kafka reader and the judges behind it: real brokers with ZooKeeper and with KRaft, and servers that are none."""

from __future__ import annotations

import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model import Cluster
from smoketests.cluster import services
from smoketests.cluster.view import ClusterView
from smoketests.readers import CannotRead
from smoketests.readers.kafka import client_properties, handshake
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka import connection as kafka_connection
from tests.real.parts import kafka_servers
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import ZooKeeper
from tests.smoketests.cluster.views import host, judged

HOSTS = tuple(replace(host(number), name=f"kafka-a0{number}", address="127.0.0.1") for number in (1, 2))


def admin(server: kafka_servers.Kafka) -> Any:
    from kafka import KafkaAdminClient

    return KafkaAdminClient(bootstrap_servers=[server.address], bootstrap_timeout_ms=20_000, request_timeout_ms=20_000)


def create(server: kafka_servers.Kafka, topics: dict[str, dict[str, Any]]) -> None:
    client = admin(server)
    try:
        client.create_topics(topics, timeout_ms=20_000)
    finally:
        client.close()


def led(server: kafka_servers.Kafka, count: int) -> kafka.KafkaFacts | None:
    """What the reader says, once so many partitions have leaders and full replicas."""
    facts = kafka.read([server.address], {})
    well = [row for row in facts.partitions or () if row.leader > 0 and len(row.isr) == len(row.replicas)]
    return facts if len(well) == count else None


def statuses(seen: ClusterView, name: str) -> dict[str, str]:
    return {item: row["status"] for item, row in judged(seen, name).items()}


@pytest.mark.slow
def test_a_real_kraft_broker_is_read_whole(tmp_path: pathlib.Path) -> None:
    with kafka_servers.with_kraft(tmp_path / "kraft") as server:
        create(server, {"orders": {"num_partitions": 3, "replication_factor": 1,
                                   "configs": {"min.insync.replicas": "1"}}})  # fmt: skip
        wait_for("leaders", lambda: led(server, 3), 30)
        one = Cluster("prod-a", HOSTS[:1], kafka=(server.address,))
        seen = services.look(one, {})
        facts = seen.kafka

        assert facts and [(row.id, row.port) for row in facts.brokers] == [(1, server.port)]
        assert facts.quorum and facts.quorum.leader == 1 and [voter.id for voter in facts.quorum.voters] == [1]
        assert [at.partition(":")[0] for at in facts.quorum.voters[0].endpoints] == ["127.0.0.1"]
        assert [row.min_isr for row in facts.partitions or ()] == [1, 1, 1] and facts.untold == ()
        assert {row.unclean for row in facts.partitions or ()} == {False} and facts.throttled == ()
        (kept,) = facts.log_dirs or ()
        assert kept[:3] == (1, str(tmp_path / "kraft/logs"), "") and kept.replicas == 3
        assert kept.total_bytes and kept.usable_bytes and facts.version == "3.9" and facts.controller == 1
        found = statuses(seen, "partitions")
        assert found.pop("spare_replicas") == "warning", "one broker can keep one replica"
        assert set(found.values()) == {"ok"}
        assert set(statuses(seen, "broker_ids").values()) == {"ok"}
        assert statuses(seen, "zk_quorum") == {"controllers": "warning"}, "a quorum of one cannot lose one"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_real_broker_of_two_killed_or_frozen(how: str, tmp_path: pathlib.Path) -> None:
    """Under-replicated, below min.insync.replicas and without a leader: all three, by one dead broker."""
    with ExitStack() as running:
        zookeeper = running.enter_context(ZooKeeper(tmp_path / "zk"))
        at = f"127.0.0.1:{zookeeper.port}"
        brokers = [
            running.enter_context(kafka_servers.with_zookeeper(tmp_path / f"b{number}", number, f"{at}/kafka"))
            for number in (1, 2)
        ]
        create(brokers[0], {
            "both": {"num_partitions": 2, "replication_factor": 2, "configs": {"min.insync.replicas": "1"}},
            "strict": {"num_partitions": 1, "replication_factor": 2, "configs": {"min.insync.replicas": "2"}},
            "alone": {"num_partitions": 2, "replication_factor": 1},
        })  # fmt: skip
        wait_for("leaders", lambda: led(brokers[0], 5), 40)
        whole = Cluster("prod-a", HOSTS, (f"{at}/kafka",), (brokers[0].address, brokers[1].address))
        seen = services.look(whole, {})

        well = statuses(seen, "partitions")
        assert well.pop("spare_replicas") == "warning", "`strict` and `alone` can lose none"
        assert set(well.values()) == {"ok"}
        assert statuses(seen, "broker_ids") == {"broker 1": "ok", "broker 2": "ok", "metadata": "ok"}
        assert seen.kafka and seen.kafka.quorum is None and seen.kafka.untold == ()

        brokers[1].process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        found = wait_for("the controller to notice", lambda: _offline(whole), 60)
        seen = services.look(whole, {})

        assert "alone-" in found["offline"]["reason"] and "broker 2 (kafka-a02)" in found["offline"]["reason"]
        assert found["min_isr"]["status"] == "critical" and "strict-0" in found["min_isr"]["reason"]
        assert found["under_replicated"]["status"] == "warning"
        assert "missing are broker 2 (kafka-a02)" in found["under_replicated"]["reason"]
        assert statuses(seen, "broker_ids") == {"broker 1": "ok", "broker 2": "critical", "metadata": "ok"}


def _offline(whole: Cluster) -> dict[str, Any] | None:
    found = judged(services.look(whole, {}), "partitions")
    ready = all(found.get(item, {}).get("status") == "critical" for item in ("offline", "min_isr"))
    return found if ready else None


LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}"{};'


def client(folder: pathlib.Path, **said: str) -> dict[str, str]:
    """The environment with a client.properties that says this."""
    path = folder / "client-prod-a.properties"
    path.write_text("".join(f"{name.replace('_', '.')}={value}\n" for name, value in said.items()))
    return {client_properties.VARIABLE: str(folder / "client-{cluster}.properties")}


@pytest.mark.slow
def test_a_real_broker_that_wants_a_login(tmp_path: pathlib.Path) -> None:
    server_side = LOGIN.format("broker", "b-secret", ' user_broker="b-secret" user_smoke="s-secret"')
    server = kafka_servers.with_kraft(tmp_path / "sasl", "SASL_PLAINTEXT", **{
        "sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": server_side,
    })  # fmt: skip
    said = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    with server:
        right = client(tmp_path, **said, sasl_jaas_config=LOGIN.format("smoke", "s-secret", ""))
        settings = client_properties.of("prod-a", right)
        facts = wait_for("brokers", lambda: _ready(server, settings), 40)
        wrong = client(tmp_path, **said, sasl_jaas_config=LOGIN.format("smoke", "geheim", ""))
        with pytest.raises(CannotRead, match=r"are the credentials correct\?") as refused:
            kafka.read([server.address], client_properties.of("prod-a", wrong))
        with pytest.raises(CannotRead, match=r"is authentication \(SASL\) required\?"):
            kafka.read([server.address], {})

    assert [broker.id for broker in facts.brokers] == [1] and facts.partitions == ()
    assert "geheim" not in str(refused.value)


def _ready(server: kafka_servers.Kafka, settings: dict[str, Any]) -> kafka.KafkaFacts | None:
    try:
        facts = kafka.read([server.address], settings)
    except CannotRead:
        return None
    return facts if facts.brokers else None


@pytest.mark.slow
def test_a_real_broker_that_speaks_tls(tmp_path: pathlib.Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    if not shutil.which("openssl"):
        pytest.skip("needs openssl (package openssl)")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    stores: dict[str, Any] = {
        "ssl.keystore.type": "PEM", "ssl.keystore.location": both,
        "ssl.truststore.type": "PEM", "ssl.truststore.location": certificate,
    }  # fmt: skip
    server = kafka_servers.with_kraft(tmp_path / "tls", "SSL", **stores)
    with server:
        trusting = {"security_protocol": "SSL", "ssl_truststore_type": "PEM"}
        right = client(tmp_path, **trusting, ssl_truststore_location=str(certificate))
        facts = wait_for("brokers", lambda: _ready(server, client_properties.of("prod-a", right)), 40)
        with pytest.raises(CannotRead, match=r"its TLS certificate is not trusted: self.signed certificate"):
            kafka.read([server.address], {"security_protocol": "SSL"})
        with pytest.raises(CannotRead, match="the port requires TLS"):
            kafka.read([server.address], {})

    assert [broker.id for broker in facts.brokers] == [1]


def test_a_clients_properties_that_cannot_be_used_are_a_problem_and_no_traceback(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(client_properties.VARIABLE, "/nowhere/{cluster}.properties")
    missing = services.look(Cluster("prod-a", HOSTS, kafka=("127.0.0.1:1",)), {})

    assert missing.problems == {"kafka": "SMOKE_KAFKA_CLIENT: /nowhere/prod-a.properties: No such file or directory"}


# --- servers that are none; they stand in for brokers with TLS, logins and failures


class StandIn:
    """A stand-in for a broker: each connection is given to `serve`; nothing here is Kafka."""

    def __init__(self, serve: Any) -> None:
        self._serve = serve
        self._held: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _address = self._listening.accept()
            except OSError:
                return
            self._held.append(connection)
            threading.Thread(target=self._safely, args=(connection,), daemon=True).start()

    def _safely(self, connection: socket.socket) -> None:
        try:
            self._serve(connection)
        except (OSError, struct.error):  # the other side had enough
            connection.close()

    def close(self) -> None:
        self._listening.close()
        for connection in self._held:
            connection.close()


def says(words: bytes) -> Any:
    def serve(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(words)
        connection.close()

    return serve


def request(connection: socket.socket) -> tuple[int, int, bytes]:
    """api key, version, correlation id of the next request."""
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    body = connection.recv(size, socket.MSG_WAITALL)
    key, version = struct.unpack(">hh", body[:4])
    return key, version, body[4:8]


def wants_a_login(connection: socket.socket) -> None:
    """As a SASL listener does: it tells its versions to anyone, then closes on the first real question."""
    while True:
        key, _version, correlation = request(connection)
        if key != 18:
            connection.close()
            return
        keys = [(3, 0, 9), (17, 0, 1), (18, 0, 0), (36, 0, 2), (60, 0, 0)]
        body = correlation + struct.pack(">hi", 0, len(keys)) + b"".join(struct.pack(">hhh", *row) for row in keys)
        connection.sendall(struct.pack(">i", len(body)) + body)


@pytest.fixture
def stand_in() -> Iterator[Any]:
    started: list[StandIn] = []

    def start(serve: Any) -> StandIn:
        started.append(StandIn(serve))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x28", "the port requires TLS"),
        (b"", "connection closed without a reply"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not a Kafka server"),
        (b"\x00\x00\x00", "not a Kafka server"),
        (b"\x00\x00\x00\x0a\x00\x00\x00\x08", "not a Kafka server"),
    ],
)
def test_what_is_no_kafka_is_told_with_its_reason(words: bytes, reason: str, stand_in: Any) -> None:
    server = stand_in(says(words))

    with pytest.raises(CannotRead, match=reason):
        kafka.read([server.address], {})


def test_a_port_where_nothing_listens_and_a_name_nobody_knows() -> None:
    with pytest.raises(CannotRead, match=r"connection refused.*no-such-host.invalid:9092: "):
        kafka.read(["127.0.0.1:1", "no-such-host.invalid"], {})


@pytest.mark.slow
def test_a_listener_that_wants_a_login_is_told_so_within_its_deadline(stand_in: Any) -> None:
    server = stand_in(wants_a_login)
    started = time.monotonic()

    with pytest.raises(CannotRead, match=r"rejects requests.*is authentication \(SASL\) required\?"):
        kafka.read([server.address], {})
    assert time.monotonic() - started < kafka.WHOLE_S


@pytest.mark.slow
def test_a_server_that_says_half_and_falls_silent_costs_its_deadline(stand_in: Any) -> None:
    def half(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"\x00\x00")
        time.sleep(30)

    server = stand_in(half)
    started = time.monotonic()

    with pytest.raises(CannotRead, match="no reply within"):
        kafka.read([server.address], {})
    assert time.monotonic() - started < kafka.WHOLE_S


@pytest.mark.slow
def test_a_wrong_tls_certificate_is_told_and_no_password_ever(stand_in: Any) -> None:
    server = stand_in(says(b"no TLS here"))
    settings = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "smoke",
                "sasl_plain_password": "geheim"}  # fmt: skip

    with pytest.raises(CannotRead) as caught:
        kafka.read([server.address], settings)
    assert "geheim" not in str(caught.value) and server.address in str(caught.value)


def test_settings_that_cannot_be_are_a_reason() -> None:
    with pytest.raises(CannotRead, match=r"Unrecognized configs|no_such_setting"):
        kafka_connection.admin(["127.0.0.1:1"], {"no_such_setting": 1})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("AuthenticationFailedError bad login geheim", "login rejected"),
        ("SSLError CERTIFICATE_VERIFY_FAILED", "TLS handshake failed"),
        ("KafkaTimeoutError", "is authentication (SASL) required"),
    ],
)
def test_reasons_for_a_person(error: str, words: str) -> None:
    said = handshake.reason(Exception(error), {"sasl_plain_password": "geheim"})

    assert words in said and "geheim" not in said


@given(st.binary(max_size=40))
def test_rubbish_is_never_taken_for_kafka(words: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(words)
        theirs.shutdown(socket.SHUT_WR)
        said = handshake.greeting(ours)

    assert bool(said) is (words[4:8] != handshake.HELLO[8:12])
