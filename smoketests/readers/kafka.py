"""What a Kafka cluster says of itself: brokers, partitions, and the controllers' quorum of a KRaft cluster."""

from __future__ import annotations

import logging
import re
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from smoketests.readers import CannotRead, address, within
from smoketests.readers.zookeeper import Registered

CONNECT_S = 4.0
BOOTSTRAP_S = 8.0
REQUEST_S = 10.0
WHOLE_S = 40.0
DEFAULT_PORT = 9092
TOPICS_AT_ONCE = 500
# A broker that died is in the metadata for a while, and kafka-python asks any: the next try goes to another one.
TRIES = 4
AVOID_DEAD_MS = 60_000
# what a broker before 2.4 cannot have, and how kafka-python says that it does not know the question
OPTIONAL = ("reassignments",)
TOO_OLD = ("IncompatibleBrokerVersion", "UnsupportedVersionError")

# ApiVersions (18), version 0, correlation id 7, no client id: what every broker since 0.10 answers before any login.
HELLO = struct.pack(">ihhih", 10, 18, 0, 7, -1)
TLS_ALERT, TLS_HANDSHAKE = 21, 22


class Partition(NamedTuple):
    """leader: -1 for none. min_isr: None where not told. adding: replicas of a reassignment that is under way."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int | None = None
    adding: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"


NEVER = -1


class Voter(NamedTuple):
    """A KRaft controller. behind_ms: since it last had all that the leader has, NEVER, or None where not told."""

    id: int
    behind_ms: int | None


class Quorum(NamedTuple):
    """leader: -1 for none."""

    leader: int
    voters: tuple[Voter, ...]


class KafkaFacts(NamedTuple):
    """partitions: None where they could not be read. quorum: None in a cluster that uses ZooKeeper.

    untold: what could not be read, a sentence each.
    """

    cluster_id: str
    controller: int | None
    brokers: tuple[Registered, ...]
    partitions: tuple[Partition, ...] | None
    quorum: Quorum | None
    untold: tuple[str, ...] = ()


def read(servers: Sequence[str], settings: Mapping[str, Any]) -> KafkaFacts:
    """Ask the cluster through any of these servers. settings: kafka-python's (security_protocol, …). CannotRead."""
    addresses = [address(server, DEFAULT_PORT) for server in servers]
    if not addresses:
        raise CannotRead("no Kafka server is named")
    return within(WHOLE_S, "Kafka", lambda: _read(addresses, settings))


def _read(addresses: Sequence[tuple[str, int]], settings: Mapping[str, Any]) -> KafkaFacts:
    answers = {f"{host}:{port}": greet(host, port, settings) for host, port in addresses[:10]}
    whys = [f"{server}: {why}" for server, why in answers.items() if why]
    if len(whys) == len(answers):
        raise CannotRead("; ".join(whys[:3]))
    admin = _connect([server for server, why in answers.items() if not why], settings)
    try:
        return _facts(admin)
    finally:
        admin.close()


def greet(host: str, port: int, settings: Mapping[str, Any]) -> str:
    """Why this server cannot be asked; empty if it can. kafka-python itself says only that it timed out."""
    tls = "SSL" in str(settings.get("security_protocol", ""))
    try:
        with socket.create_connection((host, port), timeout=CONNECT_S) as connection:
            return _handshake(connection, host, settings) if tls else _greet(connection)
    except ConnectionRefusedError:
        return "nothing listens on that port"
    except TimeoutError:
        return f"no answer in {CONNECT_S:.0f} s"
    except (OSError, UnicodeError) as error:
        return str(getattr(error, "strerror", "") or error)[:120]


def _handshake(connection: socket.socket, host: str, settings: Mapping[str, Any]) -> str:
    """Why TLS cannot be; kafka-python would only say that it timed out."""
    connection.settimeout(CONNECT_S)
    context = ssl.create_default_context(cafile=settings.get("ssl_cafile"))
    context.check_hostname = bool(settings.get("ssl_check_hostname", True))
    if settings.get("ssl_certfile"):
        context.load_cert_chain(settings["ssl_certfile"], password=settings.get("ssl_password"))
    try:
        context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return f"its TLS certificate is not one that we trust: {error.verify_message}"
    except ssl.SSLError as error:
        return f"TLS with it fails: {(error.reason or str(error)).lower().replace('_', ' ')}"
    return ""


def _greet(connection: socket.socket) -> str:
    connection.settimeout(CONNECT_S)
    connection.sendall(HELLO)
    said = b""
    while len(said) < 8:
        part = connection.recv(8 - len(said))
        if not part:
            break
        said += part
    if said[:1] in (bytes([TLS_ALERT]), bytes([TLS_HANDSHAKE])) and said[1:2] == b"\x03":
        return "it speaks TLS, and we do not (security_protocol)"
    if not said:
        return "it closed the connection without a word: is that Kafka, or does it want TLS?"
    if len(said) < 8 or said[4:8] != HELLO[8:12]:
        return "it answers, but not as Kafka does"
    return ""


def _connect(servers: Sequence[str], settings: Mapping[str, Any]) -> Any:
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError

    logging.getLogger("kafka").addHandler(logging.NullHandler())
    try:
        return KafkaAdminClient(
            bootstrap_servers=list(servers), client_id="fleet-smoke", request_timeout_ms=int(REQUEST_S * 1000),
            bootstrap_timeout_ms=int(BOOTSTRAP_S * 1000), reconnect_backoff_ms=AVOID_DEAD_MS,
            reconnect_backoff_max_ms=AVOID_DEAD_MS, **settings,
        )  # fmt: skip
    except (KafkaError, OSError, AssertionError, ValueError, TypeError) as error:
        raise CannotRead(f"{servers[0]}: {_words(error, settings)}") from None


def _words(error: Exception, settings: Mapping[str, Any]) -> str:
    """The reason as a person may use it; never a password."""
    said = re.sub(r"\s+", " ", f"{type(error).__name__} {error}").strip()
    for name, value in settings.items():
        if "password" in name and isinstance(value, str) and value:
            said = said.replace(value, "…")
    if "Authentication" in said or "Sasl" in said:
        return f"it does not take our login: {said[:150]}"
    if "CERTIFICATE" in said.upper() or "SSL" in said:
        return f"TLS with it fails: {said[:150]}"
    # after a wrong password a broker only closes the connection, as kafka-python sees it
    hint = "; is our login right?" if "sasl_mechanism" in settings else "; does it want a login (SASL)?"
    if settings.get("security_protocol") == "SSL":
        hint = "; does it take our TLS (certificates on both sides)?"
    return f"it answers, but lets us ask nothing: {said[:150]}{hint}"


def _facts(admin: Any) -> KafkaFacts:
    untold: list[str] = []
    cluster = _asked("brokers", admin.describe_cluster, untold)
    if cluster is None:
        raise CannotRead(untold[0])
    topics = _asked("topics", admin.describe_topics, untold)
    partitions: tuple[Partition, ...] | None = None
    if topics is not None:
        minimum = _minimum_isr(admin, topics, untold)
        adding = _asked("reassignments", admin.list_partition_reassignments, untold) or {}
        partitions = tuple(_partitions(topics, minimum, adding, untold))
    # a cluster with ZooKeeper, or a broker older than KRaft, has no such thing: nothing is missing then
    said = _asked("quorum", admin.describe_metadata_quorum, [])
    controller = cluster.get("controller_id")
    return KafkaFacts(
        cluster_id=str(cluster.get("cluster_id") or ""),
        controller=controller if isinstance(controller, int) and controller >= 0 else None,
        brokers=tuple(sorted(map(_broker, cluster["brokers"]))),
        partitions=partitions,
        quorum=_odd_is_untold(said, untold),
        untold=tuple(untold[:20]),
    )


def _odd_is_untold(said: Any, untold: list[str]) -> Quorum | None:
    try:
        return _quorum(said) if said else None
    except (KeyError, IndexError, ValueError, TypeError) as error:
        untold.append(f"the quorum is described oddly: {type(error).__name__} {error}"[:200])
        return None


def _asked(what: str, ask: Any, untold: list[str], *arguments: Any) -> Any:
    from kafka.errors import KafkaError

    why = ""
    for _ in range(TRIES):
        try:
            return ask(*arguments)
        except (KafkaError, OSError) as error:
            why = f"{what} cannot be read: {type(error).__name__} {error}"[:200].strip()
            if type(error).__name__ in TOO_OLD and what in OPTIONAL:
                return None
            if not getattr(error, "retriable", True):
                break
    untold.append(why)
    return None


def _broker(row: Mapping[str, Any]) -> Registered:
    host, port = str(row["host"]), int(row["port"])
    return Registered(
        int(row["broker_id"]), host, port, str(row.get("rack") or ""), (f"{host}:{port}",), bool(row.get("is_fenced"))
    )


def _minimum_isr(admin: Any, topics: Sequence[Mapping[str, Any]], untold: list[str]) -> dict[str, int]:
    """min.insync.replicas of each topic that says so."""
    from kafka.admin import ConfigResource

    name = "min.insync.replicas"
    names = [str(topic["name"]) for topic in topics if not topic.get("error_code")]
    found: dict[str, int] = {}
    for start in range(0, len(names), TOPICS_AT_ONCE):
        part = names[start : start + TOPICS_AT_ONCE]
        asked = [ConfigResource("topic", topic, configs={name: None}) for topic in part]
        said = _asked("topic settings", lambda resources: admin.describe_configs(resources, config_filter="all"),
                      untold, asked)  # fmt: skip
        for topic, settings in ((said or {}).get("topic") or {}).items():
            value = str((settings.get(name) or {}).get("value", ""))
            if value.isdigit():
                found[str(topic)] = int(value)
    return found


def _partitions(
    topics: Sequence[Mapping[str, Any]], minimum: Mapping[str, int], moves: Mapping[Any, Any], untold: list[str]
) -> Iterator[Partition]:
    adding = {(key.topic, key.partition): tuple(move.get("adding_replicas") or ()) for key, move in moves.items()}
    for topic in topics:
        name = str(topic["name"])
        if topic.get("error_code"):
            untold.append(f"topic {name[:80]} cannot be read (error {topic['error_code']})")
            continue
        for row in topic["partitions"]:
            number = int(row["partition_index"])
            yield Partition(
                name, number, int(row["leader_id"]), tuple(row["replica_nodes"]), tuple(row["isr_nodes"]),
                minimum.get(name), adding.get((name, number), ()),
            )  # fmt: skip


def _quorum(said: Mapping[str, Any]) -> Quorum | None:
    (partition,) = said["topics"][0]["partitions"]
    times = {
        int(row["replica_id"]): int(row.get("last_caught_up_timestamp", -1)) for row in partition["current_voters"]
    }
    leader = int(partition["leader_id"])
    newest = times.get(leader, -1)

    def behind(at: int) -> int | None:
        return None if newest <= 0 else max(newest - at, 0) if at > 0 else NEVER

    return Quorum(leader, tuple(Voter(voter, behind(at)) for voter, at in sorted(times.items())))
