"""Real brokers that want TLS with each kind of store, or a login by PLAIN or SCRAM, asked with a client.properties."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from smoketests.readers import CannotRead
from smoketests.readers.kafka import client_properties
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka.cluster import KafkaFacts
from tests.real.parts import kafka_servers
from tests.real.parts.key_stores import TYPES, Stores
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LISTENERS = {"OPEN": "PLAINTEXT", "MUTUAL": "SSL", "LOGIN": "SASL_SSL", "CONTROLLER": "PLAINTEXT"}
MODULE = "org.apache.kafka.common.security"


class Secured:
    """A broker with a listener of each kind. ours: our own stores."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.ours, theirs = Stores(folder, "client"), Stores(folder, "broker")
        self.ours.trusts(theirs)
        theirs.trusts(self.ours)
        self.ports = {name: free_port() for name in LISTENERS}
        at = {name: f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()}
        settings: dict[str, Any] = {
            **theirs.properties("PKCS12"), "listeners": ",".join(at.values()),
            "controller.quorum.voters": f"1@127.0.0.1:{self.ports['CONTROLLER']}",
            "advertised.listeners": ",".join(said for name, said in at.items() if name != "CONTROLLER"),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in LISTENERS.items()),
            "inter.broker.listener.name": "OPEN", "listener.name.mutual.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "listener.name.login.plain.sasl.jaas.config": f'{MODULE}.plain.PlainLoginModule required user_smoke="s 1";',
            "listener.name.login.scram-sha-512.sasl.jaas.config": f"{MODULE}.scram.ScramLoginModule required;",
        }  # fmt: skip
        self.server = kafka_servers.with_kraft(folder / "broker", **settings)
        self.server.port = self.ports["OPEN"]

    def read(self, listener: str, rows: Mapping[str, str]) -> KafkaFacts:
        said = {"security.protocol": LISTENERS[listener], **rows}
        text = "".join(f"{name}={value}\n" for name, value in said.items())
        return kafka.read([f"127.0.0.1:{self.ports[listener]}"], client_properties.parse(text, "client.properties"))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"))
    with made.server:
        admin = wait_for("a broker", lambda: connected(made), 60)
        try:
            mechanism, user = "SCRAM-SHA-512", "smoke"
            admin.alter_user_scram_credentials([upsertion(user, mechanism, "geheim")])
        finally:
            admin.close()
        yield made


def upsertion(user: str, mechanism: str, password: str) -> Any:
    from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

    return UserScramCredentialUpsertion(user, ScramMechanism[mechanism.replace("-", "_")], password)


def connected(secured: Secured) -> Any:
    try:
        return kafka.connect([f"127.0.0.1:{secured.ports['OPEN']}"], {})
    except CannotRead:
        return None


@pytest.mark.parametrize("kind", TYPES)
def test_certificates_on_both_sides_out_of_each_kind_of_store(secured: Secured, kind: str) -> None:
    facts = secured.read("MUTUAL", secured.ours.properties(kind))

    assert [row.port for row in facts.brokers] == [secured.ports["MUTUAL"]] and facts.untold == ()


@pytest.mark.parametrize(
    ("mechanism", "module", "options"),
    [
        ("PLAIN", "plain.PlainLoginModule", "username=smoke password='s 1'"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule", 'username="smoke" password=geheim'),
    ],
)
def test_a_login_through_tls_in_each_quoting(secured: Secured, mechanism: str, module: str, options: str) -> None:
    rows = {**secured.ours.properties("JKS", own=False), "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{MODULE}.{module} required {options} ;"}  # fmt: skip
    # the credentials of SCRAM reach the broker a moment later
    facts = wait_for("a login", lambda: _logged_in(secured, rows), 30)

    assert [row.id for row in facts.brokers] == [1] and facts.untold == ()


def _logged_in(secured: Secured, rows: Mapping[str, str]) -> KafkaFacts | None:
    try:
        return secured.read("LOGIN", rows)
    except CannotRead:
        return None


def test_without_our_certificate_or_theirs_it_is_said_why(secured: Secured) -> None:
    with pytest.raises(CannotRead, match=r"TLS|certificate"):
        secured.read("MUTUAL", secured.ours.properties("JKS", own=False))
    with pytest.raises(CannotRead, match=r"its TLS certificate is not trusted: self.signed certificate"):
        secured.read("MUTUAL", {})
