"""`smoke gate` on six real hosts with a real Kafka cluster, in ZooKeeper mode and in KRaft mode, with real faults."""

from __future__ import annotations

import pathlib
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from placement import snapshot
from tests.real.parts import kafka_servers
from tests.real.parts.bad_peers import Serve, listening, silent
from tests.real.parts.gate_site import GateSite, gate_site
from tests.real.parts.kafka_cluster import revive
from tests.real.parts.sshd import free_port

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["zookeeper", "kraft"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateSite]:
    with gate_site(tmp_path_factory.mktemp(request.param), request.param) as running:
        yield running


@pytest.mark.parametrize("host", ["kafka-a01", "kafka-a03", "zk-a02"])
def test_a_healthy_cluster_lets_one_host_go(site: GateSite, host: str) -> None:
    decided = site.gate(host)

    assert (decided.answer, decided.exit_code, decided.bad) == ("GO", 0, {}), decided
    asked = decided.rules["availability"]["status"]
    assert asked == ("passed" if host.startswith("kafka") else "skipped")
    assert decided.rules["log_dirs"]["status"] == decided.rules["under_replicated"]["status"] == "passed"


def test_place_reads_the_living_cluster_and_its_hosts(site: GateSite) -> None:
    done = site.hosts.smoke(site.inventory, "place", "snapshot")
    assert done.returncode == 0, done.stderr
    seen = snapshot.loads(done.stdout)

    assert [(row.id, row.host, row.live, row.trouble, row.unknown) for row in seen.brokers] == [
        (number, f"kafka-a0{number}", True, (), ()) for number in (1, 2, 3)
    ]
    assert all(size is not None for row in seen.partitions for size in row.sizes_bytes)
    full = site.hosts.smoke(site.inventory, "place", "drain", "--broker", "kafka-a02")
    assert full.returncode == 2 and "no other broker may take a replica" in full.stderr


def test_two_brokers_at_once_are_one_too_many(site: GateSite) -> None:
    decided = site.gate("kafka-a01,kafka-a02")

    assert decided.answer == "NO-GO"
    for partition in ("orders-0", "orders-1", "orders-2"):
        assert partition in decided.of("failed")["availability"]


def test_while_one_broker_is_down_no_other_may_go_and_behind_it_all_must_be_back(site: GateSite) -> None:
    kafka = site.kafka
    kafka.produce("orders", 1024)
    kafka.kill(3)
    try:
        other, itself, behind = site.gate("kafka-a01"), site.gate("kafka-a03"), site.gate("kafka-a03", "--after")
    finally:
        kafka.brokers[3].start()
        kafka.settle()
        kafka.elect()

    assert (other.answer, other.exit_code) == ("NO-GO", 2), other
    assert {"availability", "brokers", "services"} <= set(other.of("failed"))
    assert "under_replicated" in other.of("warned")
    for partition in ("orders-0", "orders-1", "orders-2"):
        assert partition in other.of("failed")["availability"], "it says which"
    assert "kafka-a03" in other.of("failed")["brokers"] and "kafka-a03" in other.of("failed")["services"]
    assert itself.answer == "GO", itself
    assert behind.answer == "NO-GO" and "under_replicated" in behind.of("failed")
    again = site.gate("kafka-a03", "--after", "--wait", "3", "--readings", "2", "--every", "1")
    assert again.answer == "GO", again


def test_a_topic_with_one_replica_keeps_its_broker(site: GateSite) -> None:
    site.kafka.create("alone", (2,))
    try:
        its, other = site.gate("kafka-a02"), site.gate("kafka-a01")
        token = its.rules["unreplicated"]["accept"]
        taken = site.gate("kafka-a02", "--accept", token, "--because", "alone is a cache")
    finally:
        site.kafka.delete("alone")

    assert its.answer == "NO-GO" and "alone" in its.of("failed")["unreplicated"]
    assert other.answer == "GO", other
    assert taken.answer == "GO" and taken.rules["unreplicated"]["status"] == "accepted", taken


def test_a_topic_that_cannot_spare_a_replica_keeps_its_brokers(site: GateSite) -> None:
    site.kafka.create("tight", (1, 2), min_insync_replicas=2)
    try:
        its, other = site.gate("kafka-a02"), site.gate("kafka-a03")
    finally:
        site.kafka.delete("tight")

    assert its.answer == "NO-GO" and "tight" in its.of("failed")["min_isr"]
    assert other.answer == "GO", other


def test_while_a_reassignment_runs_nobody_goes(site: GateSite) -> None:
    site.kafka.create("moving", (1, 2), min_insync_replicas=1)
    site.kafka.produce("moving", 2048)
    site.kafka.move("moving", (1, 3))
    try:
        moving = site.gate("kafka-a01")
        site.kafka.cancel("moving")
        left_over = site.gate("kafka-a01")
    finally:
        site.kafka.throttle("moving", None)
        site.kafka.delete("moving")

    assert moving.answer == "NO-GO" and "moving-0" in moving.of("failed")["reassignments"]
    assert left_over.answer == "GO" and "topic moving" in left_over.of("warned")["throttles"], left_over


def test_a_quorum_that_lost_one_can_lose_no_other(site: GateSite) -> None:
    rule = "kraft_quorum" if site.kraft else "zookeeper"
    with _one_of_the_quorum_down(site):
        other, itself = site.gate("zk-a02"), site.gate("zk-a01")

    assert other.answer == "NO-GO" and "would be left" in other.of("failed")[rule], other
    assert itself.answer == "GO", itself
    assert site.gate("zk-a02").answer == "GO"


def _one_of_the_quorum_down(site: GateSite) -> ExitStack:
    """The server on zk-a01 is stopped, and started again at the end."""
    stack = ExitStack()
    if site.kafka.ensemble:
        members = site.kafka.ensemble.members
        members[0].stop()
        stack.callback(site.kafka.settle)
        stack.callback(site.kafka.ensemble.settle, 3)
        stack.callback(revive, members[0])
        site.kafka.ensemble.settle(2)
        site.kafka.settle()
    else:
        site.kafka.controllers[11].stop()
        stack.callback(site.kafka.until, "11 is back", lambda facts: not _late(facts))
        stack.callback(site.kafka.controllers[11].start)
        site.kafka.until("11 is missed", lambda facts: _late(facts) == {11})
    return stack


def _late(facts: object) -> set[int]:
    """The voters that are behind."""
    quorum = getattr(facts, "quorum", None)
    return {one.id for one in quorum.voters if not 0 <= (one.behind_ms or 0) < 2000} if quorum else {11}


# --- what cannot be read is never a yes


def test_a_kafka_out_of_reach_is_cannot_tell(site: GateSite) -> None:
    inventory = site.write("nobody.yaml", kafka=[f"127.0.0.1:{free_port()}"])
    decided = site.gate("kafka-a01", inventory=inventory)

    assert (decided.answer, decided.exit_code) == ("CANNOT TELL", 3), decided
    assert "connection refused" in decided.of("cannot tell")["availability"]


def half(connection: socket.socket) -> None:
    """The length of an answer, and no answer."""
    connection.recv(100)
    connection.sendall(b"\x00\x00")
    silent(connection)


@pytest.mark.parametrize("how", [silent, half])
def test_a_kafka_that_says_nothing_or_half_costs_its_deadline_and_is_cannot_tell(site: GateSite, how: Serve) -> None:
    with listening(how) as mute:
        decided = site.gate("kafka-a01", inventory=site.write("mute.yaml", kafka=[f"127.0.0.1:{mute}"]))

    assert (decided.answer, decided.exit_code) == ("CANNOT TELL", 3), decided
    assert "no reply within" in decided.of("cannot tell")["availability"]


def test_a_frozen_broker_is_cannot_tell_or_no_go_but_never_a_yes(site: GateSite) -> None:
    """Frozen: it holds its connections and its session for a while, and answers nothing."""
    import psutil

    server = psutil.Process(site.kafka.brokers[3].process.pid).children()[0]
    server.suspend()
    try:
        at_once = site.gate("kafka-a01")
        site.kafka.until("broker 3 missed", lambda facts: any(3 not in row.isr for row in facts.partitions or ()))
        later = site.gate("kafka-a01")
    finally:
        server.resume()
        site.kafka.settle()
        site.kafka.elect()

    assert at_once.answer in ("CANNOT TELL", "NO-GO"), at_once
    assert "kafka-a03" in str(at_once.bad), "silent (log_dirs), or missed already"
    assert later.answer == "NO-GO", later


def test_an_ensemble_out_of_reach_is_cannot_tell(site: GateSite) -> None:
    if site.kraft:
        pytest.skip("KRaft has no ensemble; its quorum is asked through the brokers")
    inventory = site.write("no-zookeeper.yaml", zookeeper=[f"127.0.0.{n}:{free_port()}" for n in (34, 35, 36)])
    decided = site.gate("zk-a01", inventory=inventory)

    assert decided.answer != "GO" and decided.exit_code in (2, 3), decided
    assert "zookeeper" in decided.bad and "brokers" in decided.bad


LOGIN = 'PlainLoginModule required username="smoke" password="geheim";'


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("security.protocol=SSL\n", "TLS handshake failed"),
        (f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={LOGIN}\n", "rejects requests"),
    ],
)  # fmt: skip
def test_a_wrong_protocol_or_login_is_cannot_tell_with_the_reason(
    site: GateSite, tmp_path: pathlib.Path, settings: str, reason: str
) -> None:
    (tmp_path / "client.properties").write_text(settings)
    environment = {"SMOKE_KAFKA_CLIENT": str(tmp_path / "client.properties")}
    decided = site.gate("kafka-a01", environment=environment)

    assert (decided.answer, decided.exit_code) == ("CANNOT TELL", 3), decided
    assert reason in decided.of("cannot tell")["availability"], decided
    assert "geheim" not in str(decided.document) + decided.said


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("security.protocl=SSL\n", "security.protocl is not a known setting; did you mean security.protocol?"),
        ("security.protocol=SSL\nssl.truststore.location=/nowhere.jks\n", "/nowhere.jks: No such file or directory"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_clients_properties_is_one_sentence_and_nobody_is_asked(
    site: GateSite, tmp_path: pathlib.Path, settings: str, sentence: str
) -> None:
    (tmp_path / "client.properties").write_text(settings)
    asked = ["gate", "--host", "kafka-a01", "--for", "reboot", "--store", str(tmp_path / "store")]
    environment = {"SMOKE_KAFKA_CLIENT": str(tmp_path / "client.properties")}
    done = site.hosts.smoke(site.inventory, *asked, environment=environment)

    assert done.returncode == 3 and done.stdout == "" and sentence in done.stderr, done
    assert len(done.stderr.splitlines()) <= 3 and not (tmp_path / "store").exists()


def test_a_real_broker_that_wants_another_login_is_cannot_tell(site: GateSite, tmp_path: pathlib.Path) -> None:
    if site.kraft:
        pytest.skip("the same as in ZooKeeper mode: a broker of its own is asked")
    accounts = 'PlainLoginModule required username="b" password="b" user_b="b" user_smoke="s-secret";'
    module = "org.apache.kafka.common.security.plain."
    server = kafka_servers.with_kraft(tmp_path / "sasl", "SASL_PLAINTEXT", **{
        "sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f"{module}{accounts}",
    })  # fmt: skip
    inventory = site.write("sasl.yaml", kafka=[server.address])
    said = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={LOGIN}\n"
    (tmp_path / "client.properties").write_text(said)
    with server:
        wrong = site.gate("kafka-a01", inventory=inventory,
                          environment={"SMOKE_KAFKA_CLIENT": str(tmp_path / "client.properties")})  # fmt: skip
        none = site.gate("kafka-a01", inventory=inventory)

    assert wrong.answer == none.answer == "CANNOT TELL", (wrong, none)
    assert "are the credentials correct?" in wrong.of("cannot tell")["availability"]
    assert "is authentication (SASL) required?" in none.of("cannot tell")["availability"]
    assert "geheim" not in str(wrong.document) + wrong.said


def test_a_host_that_does_not_answer_is_cannot_tell(site: GateSite) -> None:
    inventory = site.write("silent-host.yaml")
    text = inventory.read_text().replace(f"port: {site.hosts.machines['kafka-a02'].port}", f"port: {free_port()}")
    inventory.write_text(text)
    decided = site.gate("kafka-a01", inventory=inventory)

    assert decided.answer == "CANNOT TELL" and "kafka-a02" in decided.of("cannot tell")["answers"], decided


def test_a_quorum_that_lost_its_majority_is_never_a_yes(site: GateSite) -> None:
    """Last: two of three are gone."""
    if site.kafka.ensemble:
        for member in site.kafka.ensemble.members[:2]:
            member.stop()
    else:
        for controller in (11, 12):
            site.kafka.controllers[controller].stop()
        site.kafka.until("no quorum", lambda facts: any("quorum cannot be read" in why for why in facts.untold))
    broker, last = site.gate("kafka-a01"), site.gate("zk-a03")

    assert broker.answer != "GO" and last.answer != "GO", (broker, last)
    assert ("kraft_quorum" if site.kraft else "zookeeper") in last.bad


def test_brokers_that_are_their_own_controllers(tmp_path: pathlib.Path) -> None:
    """One process each: with one of them gone, both the partitions and the quorum can spare no other."""
    with gate_site(tmp_path, "combined") as site:
        well = site.gate("kafka-a01")
        site.kafka.kill(3)
        other, itself = site.gate("kafka-a01"), site.gate("kafka-a03")
        site.kafka.brokers[3].start()
        site.kafka.settle()
        site.kafka.until("3 is in step", lambda facts: not _late(facts))
        site.kafka.elect()
        again = site.gate("kafka-a03", "--after", "--wait", "3", "--readings", "2", "--every", "1")

    assert well.answer == again.answer == itself.answer == "GO", (well, again, itself)
    assert other.answer == "NO-GO" and {"availability", "kraft_quorum", "brokers"} <= set(other.of("failed")), other
