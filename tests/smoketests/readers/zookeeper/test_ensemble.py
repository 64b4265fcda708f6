"""The ZooKeeper reader and the judges behind it, against a real ensemble of three, and against what is none."""

from __future__ import annotations

import json
import pathlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model import Cluster
from smoketests import readers
from smoketests.cluster import services
from smoketests.cluster.view import ClusterView
from smoketests.readers import CannotRead
from smoketests.readers.zookeeper import ensemble as zookeeper
from smoketests.readers.zookeeper.ensemble import Member, Registered
from tests.real.parts.ensemble import Ensemble
from tests.real.parts.namespace import wait_for
from tests.smoketests.cluster.views import host, judged

HOSTS = tuple(replace(host(number), name=f"kafka-a0{number}") for number in (1, 2, 3))


def cluster(servers: tuple[str, ...]) -> Cluster:
    return Cluster("prod-a", HOSTS, zookeeper=servers)


def statuses(seen: ClusterView, name: str) -> dict[str, str]:
    return {item: row["status"] for item, row in judged(seen, name).items()}


def look(ensemble: Ensemble) -> ClusterView:
    return services.look(cluster(ensemble.servers), {})


def register(client: Any, number: int, name: str) -> None:
    """As a broker does: a node that is gone when its session is."""
    data = {"endpoints": [f"PLAINTEXT://{name}:9092"], "host": name, "port": 9092, "rack": "r7", "version": 5}
    client.create(f"/brokers/ids/{number}", json.dumps(data).encode(), ephemeral=True, makepath=True)


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    with Ensemble(tmp_path_factory.mktemp("ensemble")) as running:
        yield running


@pytest.fixture
def client(ensemble: Ensemble) -> Iterator[Any]:
    from kazoo.client import KazooClient

    client = KazooClient(hosts=",".join(ensemble.servers), timeout=4)
    client.start(timeout=15)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@pytest.mark.slow
def test_a_healthy_ensemble_with_its_brokers_is_silent(ensemble: Ensemble, client: Any) -> None:
    for number in (1, 2, 3):
        register(client, number, f"kafka-a0{number}")
    client.create("/controller", b'{"version":1,"brokerid":2}', ephemeral=True)
    seen = look(ensemble)

    assert set(statuses(seen, "zk_quorum").values()) == {"ok"}
    assert set(statuses(seen, "broker_ids").values()) == {"ok"}
    assert seen.zookeeper and seen.zookeeper.controller == 2
    assert seen.zookeeper.brokers and seen.zookeeper.brokers[0] == Registered(
        1, "kafka-a01", 9092, "r7", ("kafka-a01:9092",)
    )
    views = {member.voters for member in seen.zookeeper.members}
    assert len(views) == 1 and len(next(iter(views)) or ()) == 3


@pytest.mark.slow
def test_a_broker_that_is_missing_and_one_that_is_there_twice(ensemble: Ensemble, client: Any) -> None:
    register(client, 1, "kafka-a01")
    register(client, 3, "kafka-a03")
    register(client, 9, "kafka-a03")
    found = judged(look(ensemble), "broker_ids")

    assert {item: row["status"] for item, row in found.items()} == {
        "broker 1": "ok", "broker 2": "critical", "broker 3": "critical", "broker 9": "warning",
    }  # fmt: skip
    assert "under the ids 3 and 9" in found["broker 3"]["reason"]
    client.stop()
    client.start()
    wait_for("the end of the session's nodes", lambda: not client.get_children("/brokers/ids"), 20)
    gone = statuses(look(ensemble), "broker_ids")
    assert gone == {"broker 1": "critical", "broker 2": "critical", "broker 3": "critical"}


@pytest.mark.slow
def test_an_empty_registry_a_chroot_and_no_kafka_at_all(ensemble: Ensemble, client: Any) -> None:
    client.ensure_path("/site/brokers/ids")
    below = services.look(cluster((ensemble.servers[0], f"{ensemble.servers[1]}/site")), {})
    nowhere = services.look(cluster((f"{ensemble.servers[0]}/nobody",)), {})

    assert below.zookeeper and below.zookeeper.brokers == ()
    assert nowhere.zookeeper and nowhere.zookeeper.brokers is None
    (row,) = judged(nowhere, "broker_ids").values()
    assert row["status"] == "unknown" and "/nobody/brokers/ids" in row["reason"]


@pytest.mark.slow
def test_a_registry_behind_a_login_and_one_with_rubbish_are_unknown(ensemble: Ensemble, client: Any) -> None:
    from kazoo.security import make_digest_acl

    client.ensure_path("/closed/brokers")
    client.create("/closed/brokers/ids", b"", acl=[make_digest_acl("kafka", "secret", all=True)])
    client.create("/odd/brokers/ids/1", b"\xff{", makepath=True)
    closed = services.look(cluster((f"{ensemble.servers[0]}/closed",)), {})
    odd = services.look(cluster((f"{ensemble.servers[0]}/odd",)), {})

    assert closed.zookeeper and "its ACL requires authentication" in closed.zookeeper.untold and closed.zookeeper.closed
    assert odd.zookeeper and not odd.zookeeper.closed
    assert odd.zookeeper and "/brokers/ids/1 holds no broker" in odd.zookeeper.untold
    assert statuses(closed, "broker_ids") == statuses(odd, "broker_ids") == {"-": "unknown"}


@pytest.mark.slow
def test_a_follower_that_hangs_is_unknown_and_the_ensemble_can_lose_none(ensemble: Ensemble) -> None:
    frozen = ensemble.followers[0]
    frozen.freeze()
    try:
        found = wait_for("the leader to drop it", lambda: _critical(ensemble), 40)
    finally:
        frozen.thaw()

    assert found[frozen.address]["status"] == "unknown" and "no reply within" in found[frozen.address]["reason"]
    assert "2 of 3 voters are in sync" in found["ensemble"]["reason"]
    ensemble.settle(3)
    wait_for("all in step", lambda: set(statuses(look(ensemble), "zk_quorum").values()) == {"ok"}, 40)


def _critical(ensemble: Ensemble) -> dict[str, Any] | None:
    found = judged(look(ensemble), "zk_quorum")
    return found if found["ensemble"]["status"] == "critical" else None


@pytest.mark.slow
def test_the_leader_killed_then_the_majority(tmp_path: pathlib.Path) -> None:
    with Ensemble(tmp_path) as ensemble:
        dead = ensemble.leader
        dead.stop()
        ensemble.settle(2)
        found = judged(look(ensemble), "zk_quorum")

        assert found[dead.address]["status"] == "critical" and "connection refused" in found[dead.address]["reason"]
        assert found["ensemble"]["status"] == "critical" and "it can lose none" in found["ensemble"]["reason"]

        ensemble.leader.stop()
        last = next(member for member in ensemble.members if member.process.returncode is None)
        wait_for("the last one to stop serving", lambda: last.mode == "", 40)
        found = judged(look(ensemble), "zk_quorum")

        assert found["ensemble"]["status"] == "critical" and "there is no leader" in found["ensemble"]["reason"]
        assert found[last.address]["status"] == "critical"
        assert judged(look(ensemble), "broker_ids")["-"]["status"] == "unknown"


@pytest.mark.slow
def test_an_ensemble_that_allows_only_srvr_is_judged_all_the_same(tmp_path: pathlib.Path) -> None:
    with Ensemble(tmp_path, whitelist="srvr") as ensemble:
        seen = look(ensemble)
        dead = ensemble.followers[0]
        dead.stop()
        found = statuses(look(ensemble), "zk_quorum")

    assert set(statuses(seen, "zk_quorum").values()) == {"ok"}
    assert found["ensemble"] == "critical" and found[dead.address] == "critical"


# --- what is no ZooKeeper


class Server:
    """Says these bytes to whoever connects, then closes, or holds the connection open."""

    def __init__(self, says: bytes, holds: bool = False) -> None:
        self._says, self._holds = says, holds
        self._held: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _address = self._listening.accept()
            except OSError:
                return
            connection.settimeout(1)
            try:
                connection.recv(100)
                connection.sendall(self._says)
            except OSError:
                self._held.append(connection)
            self._held.append(connection)
            if not self._holds:
                connection.close()

    def close(self) -> None:
        self._listening.close()
        for connection in self._held:
            connection.close()


@pytest.mark.parametrize(
    ("says", "state"),
    [
        (b"", "empty"),
        (b"\x15\x03\x03\x00\x02\x02\x16", "tls"),
        (b"This ZooKeeper instance is not currently serving requests\n", "not serving"),
        (b"srvr is not executed because it is not in the whitelist.\n", "not allowed"),
        (b"Zookeeper version: 3.8.0\nLatency min/avg/max: 0/0.4/27\nRec", "incomplete reply"),
        (b"Latency min/avg/max: 0/0.4/27\nMode: follower\n", "incomplete reply"),
        (b"HTTP/1.1 400 Bad Request\r\n", "incomplete reply"),
    ],
)
def test_what_is_no_whole_answer_is_told_apart_and_never_ok(says: bytes, state: str) -> None:
    server = Server(says)
    try:
        member = zookeeper.member("127.0.0.1", server.port)
    finally:
        server.close()

    assert member.state == state and member.why
    seen = ClusterView(cluster(()), {}, zookeeper=zookeeper.ZooKeeperFacts((member,), ()))
    assert "ok" not in statuses(seen, "zk_quorum").values()


@pytest.mark.slow
def test_a_silent_server_costs_its_deadline_and_no_more() -> None:
    server = Server(b"Zook", holds=True)
    started = time.monotonic()
    try:
        member = zookeeper.member("127.0.0.1", server.port)
    finally:
        server.close()

    assert member.state == "no answer" and time.monotonic() - started < zookeeper.MEMBER_S + 5


def test_a_name_that_nobody_knows_and_a_port_where_nothing_listens() -> None:
    unknown = zookeeper.member("no-such-host.invalid", 2181)
    refused = zookeeper.member("127.0.0.1", 1)

    assert (unknown.state, refused.state) == ("no answer", "refused") and unknown.why


@pytest.mark.parametrize("text", ["", "zk1:port", "zk1:0", "zk1:99999", ":2181"])
def test_an_address_that_is_none_is_said_to_be_so(text: str) -> None:
    with pytest.raises(CannotRead, match="is not an address"):
        readers.address(text, 2181)


@pytest.mark.parametrize(
    ("text", "address"),
    [("zk1", ("zk1", 2181)), ("zk1:2182", ("zk1", 2182)), ("[2001:db8::1]:2181", ("2001:db8::1", 2181)),
     ("[2001:db8::1]", ("2001:db8::1", 2181))],
)  # fmt: skip
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert readers.address(text, 2181) == address


def test_a_broken_reader_is_a_problem_and_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_servers: Any) -> Any:
        raise RuntimeError("boom")

    monkeypatch.setattr(zookeeper, "read", broken)

    assert services.look(cluster(("zk1:2181",)), {}).problems == {"zookeeper": "the reader failed: RuntimeError: boom"}


# a node of a broker with two listeners, hand-made after KIP-103's format
SECURE = (
    b'{"listener_security_protocol_map":{"SASL":"SASL_SSL"},"endpoints":["SASL://k1.example.net:9093"],'
    b'"rack":null,"host":null,"port":-1,"version":5}'
)


def test_a_broker_without_a_plain_listener_is_known_by_its_endpoint() -> None:
    assert zookeeper.parse_broker("7", SECURE) == Registered(7, "k1.example.net", 9093, "", ("k1.example.net:9093",))


@given(st.text(max_size=20), st.one_of(st.none(), st.binary(max_size=200), st.binary().map(lambda more: SECURE + more)))
def test_rubbish_in_the_registry_is_no_broker(name: str, data: bytes | None) -> None:
    try:
        found = zookeeper.parse_broker(name, data)
    except CannotRead:
        return
    assert isinstance(found.id, int) and isinstance(found.port, int) and isinstance(found.host, str)


SRVR = "Zookeeper version: 3.8.0\nLatency min/avg/max: 0/0.4/27\nZxid: 0x100000004\nMode: leader\nNode count: 5\n"


@given(
    st.one_of(st.text(max_size=300), st.integers(0, len(SRVR)).map(lambda cut: SRVR[:cut])),
    st.one_of(st.text(max_size=300), st.just("zk_synced_followers\t2\nzk_quorum_size\t-3\n")),
    st.one_of(st.text(max_size=300), st.just("clientPort=2181\nserver.1=zk1:2888:3888:participant;0.0.0.0:2181\n")),
)
def test_rubbish_from_a_server_is_a_member_that_did_not_answer(srvr: str, mntr: str, conf: str) -> None:
    member = zookeeper.parse("zk1:2181", {"srvr": srvr, "mntr": mntr, "conf": conf})

    assert isinstance(member, Member)
    assert member.mode or member.why
    assert member.state != "answered" or member.zxid >= 0
