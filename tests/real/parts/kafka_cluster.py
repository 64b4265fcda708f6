"""Real Kafka clusters of three brokers, with a ZooKeeper ensemble of three or with three KRaft controllers.

The servers may run in the namespaces of hosts (tests/real/parts/machines.py), so that the agent there sees them.
"""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from smoketests.readers import CannotRead
from smoketests.readers.kafka import cluster as kafka
from smoketests.readers.kafka.cluster import KafkaFacts, Partition
from tests.real.parts.ensemble import Ensemble, Member, Place
from tests.real.parts.kafka_servers import VERSION, Kafka, format_logs
from tests.real.parts.namespace import wait_for
from tests.real.parts.relay import Relay
from tests.real.parts.zookeeper import free_port

HERE = tuple(Place("127.0.0.1") for _ in range(3))
IDS = (1, 2, 3)
CONTROLLERS = (11, 12, 13)
BROKER_S = {"broker.session.timeout.ms": 4000, "broker.heartbeat.interval.ms": 500}
# A process that dies is noticed by its session; under load a shorter one would end while it lives.
SESSION_MS = 6000
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class KafkaCluster:
    """Brokers 1, 2, 3, … controllers: of a KRaft cluster, by node id. ensemble: of one with ZooKeeper. relays: of
    brokers that reach the controllers through one."""

    def __init__(
        self, brokers: Sequence[Kafka], ensemble: Ensemble | None = None,
        controllers: Mapping[int, Kafka] | None = None, relays: Mapping[int, Relay] | None = None,
    ) -> None:  # fmt: skip
        self.brokers = dict(enumerate(brokers, 1))
        self.ensemble = ensemble
        self.controllers = dict(controllers or {})
        self.relays = dict(relays or {})

    @property
    def servers(self) -> list[str]:
        return [broker.address for broker in self.brokers.values()]

    def facts(self) -> KafkaFacts | None:
        """What our reader says; None while it can say nothing."""
        try:
            return kafka.read(self.servers, {})
        except CannotRead:
            return None

    def partitions(self, *topics: str) -> list[Partition]:
        """Those of these topics, or all; none while they cannot be read."""
        facts = self.facts()
        rows = (facts.partitions if facts else None) or ()
        return [row for row in rows if not topics or row.topic in topics]

    def until(self, what: str, happened: Callable[[KafkaFacts], Any], seconds: float = 120.0) -> Any:
        """Read until this is so; its first true answer."""

        def look() -> Any:
            facts = self.facts()
            return facts and happened(facts)

        return wait_for(what, look, seconds)

    def kill(self, number: int) -> None:
        """As by a power cut, until it is missed: while its session lives, it cannot be started again."""
        self.brokers[number].stop()
        self.until(
            f"broker {number} missed",
            lambda facts: (
                all(number not in row.isr for row in facts.partitions or ())
                and number not in {row.id for row in facts.brokers if not row.fenced}
            ),
        )

    def settle(self) -> None:
        """Wait until all brokers are there and every partition is led and fully replicated."""
        self.until("a whole cluster", lambda facts: is_whole(facts, len(self.brokers)))

    @contextlib.contextmanager
    def admin(self) -> Iterator[Any]:
        client = kafka.connect(self.servers, {})
        try:
            yield client
        finally:
            client.close()

    def create(self, topic: str, *replicas: Sequence[int], **settings: object) -> None:
        """A topic with these replicas for each of its partitions. settings: `min_insync_replicas=2`."""
        configs = {name.replace("_", "."): str(value) for name, value in settings.items()}
        new = {topic: {"assignments": dict(enumerate(replicas)), "configs": configs}}
        with self.admin() as client:
            client.create_topics(new, timeout_ms=30_000)
        self.until(f"topic {topic}", lambda facts: len(self.partitions(topic)) == len(replicas))

    def delete(self, topic: str) -> None:
        with self.admin() as client:
            client.delete_topics([topic], timeout_ms=30_000)
        self.until(f"no topic {topic}", lambda facts: topic not in {row.topic for row in facts.partitions or ()})

    def produce(self, topic: str, kib: int, partitions: Sequence[int] = (0,)) -> None:
        """Write so much into each of these partitions, acknowledged by all replicas in sync."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers, acks="all", bootstrap_timeout_ms=20_000)
        try:
            sent = [
                producer.send(topic, b"x" * (64 << 10), partition=one) for _ in range(kib // 64) for one in partitions
            ]
            for future in sent:
                future.get(60)
        finally:
            producer.close(timeout=10)

    def move(self, topic: str, replicas: Sequence[int]) -> None:
        """Begin to move its first partition to these brokers, throttled so far down that it does not end."""
        from kafka import TopicPartition

        self.throttle(topic, 1)
        with self.admin() as client:
            answers = client.alter_partition_reassignments({TopicPartition(topic, 0): list(replicas)})
        assert set(answers.values()) == {None}, answers
        self.until("a reassignment", lambda facts: any(row.adding for row in facts.partitions or ()))

    def cancel(self, topic: str) -> None:
        """Take the move back; its throttle stays, as it does in life."""
        from kafka import TopicPartition

        with self.admin() as client:
            client.alter_partition_reassignments({TopicPartition(topic, 0): None})
        # each broker hears of it by itself: the new replica may be told for a moment without being told as new
        self.until(
            "no reassignment",
            lambda facts: not any(row.adding or set(row.replicas) - set(row.isr) for row in facts.partitions or ()),
        )

    def throttle(self, topic: str, rate: int | None) -> None:
        """Bytes a second for the replication of this topic; None takes the throttle away."""
        from kafka.admin import ConfigResource

        of_topic: dict[str, Any] = dict.fromkeys((LEADER_REPLICAS, FOLLOWER_REPLICAS), "*")
        of_broker: dict[str, Any] = dict.fromkeys((LEADER_RATE, FOLLOWER_RATE), str(rate))
        resources = [ConfigResource("topic", topic, of_topic)]
        resources += [ConfigResource("broker", str(number), of_broker) for number in self.brokers]
        with self.admin() as client:
            alter = client.reset_configs if rate is None else client.alter_configs
            alter(resources, raise_on_unknown=False)
        told = 0 if rate is None else 1 + len(self.brokers)
        self.until("the throttle", lambda facts: facts.throttled is not None and len(facts.throttled) == told)

    def elect(self) -> None:
        """Leaders go home."""
        with self.admin() as client:
            client.elect_leaders(0, raise_errors=False)


def is_whole(facts: KafkaFacts, brokers: int) -> bool:
    """Every broker lives, and every partition is led and has all its replicas in sync."""
    rows = facts.partitions
    alive = [broker for broker in facts.brokers if not broker.fenced]
    well = rows is not None and all(
        row.leader >= 0 and {*row.isr} == {*row.replicas} and not row.offline for row in rows
    )
    return len(alive) == brokers and well and not facts.untold


@contextlib.contextmanager
def with_zookeeper(
    folder: pathlib.Path, places: Sequence[Place] = HERE, quorum: Sequence[Place] = (),
    log_dirs: Mapping[int, Sequence[pathlib.Path]] | None = None, version: str = VERSION,
    relayed: Sequence[int] = (), settings: Mapping[int, Mapping[str, object]] | None = None,
) -> Iterator[KafkaCluster]:  # fmt: skip
    """Brokers that register in an ensemble of three. log_dirs: of those that have other ones than `logs`. relayed:
    brokers that reach the ensemble through a relay."""
    with Ensemble(folder, places=quorum) as ensemble, contextlib.ExitStack() as stack:
        detours = {number: {free_port(): one.port for one in ensemble.members} for number in relayed}
        relays = {number: stack.enter_context(Relay(way)) for number, way in detours.items()}
        through = {
            number: {"zookeeper.connect": f"{','.join(f'127.0.0.1:{at}' for at in way)}/kafka"}
            for number, way in detours.items()
        }
        common = {
            "zookeeper.connect": f"{','.join(ensemble.servers)}/kafka",
            "zookeeper.session.timeout.ms": SESSION_MS,
        }
        brokers = [
            Kafka(folder / f"broker{number}", {"broker.id": number, **common, **_dirs(log_dirs, number),
                                               **through.get(number, {}), **(settings or {}).get(number, {})},
                  host=place.address, enter=place.enter, version=version)
            for number, place in enumerate(places, 1)
        ]  # fmt: skip
        yield from _running(KafkaCluster(brokers, ensemble, None, relays), brokers)


@contextlib.contextmanager
def with_kraft(
    folder: pathlib.Path, places: Sequence[Place] = HERE, quorum: Sequence[Place] = HERE,
    log_dirs: Mapping[int, Sequence[pathlib.Path]] | None = None, version: str = VERSION,
    relayed: Sequence[int] = (), settings: Mapping[int, Mapping[str, object]] | None = None,
) -> Iterator[KafkaCluster]:  # fmt: skip
    """Brokers and controllers, each a process of its own; the controllers' node ids are 11, 12 and 13.

    relayed: brokers that reach the controllers through a relay, which may be frozen. settings: of single brokers.
    """
    ports = [free_port() for _ in quorum]
    voters = [f"{node}@{at.address}:{port}" for node, at, port in zip(CONTROLLERS, quorum, ports)]
    detours = {number: {free_port(): port for port in ports} for number in relayed}
    through = {
        number: {"controller.quorum.voters": ",".join(f"{node}@127.0.0.1:{at}" for node, at in zip(CONTROLLERS, way))}
        for number, way in detours.items()
    }
    common: dict[str, object] = {
        "controller.quorum.voters": ",".join(voters), "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", **BROKER_S,
    }  # fmt: skip
    controllers = {
        node: Kafka(folder / f"controller{node}", {
            "process.roles": "controller", "node.id": node, "listeners": f"CONTROLLER://{at.address}:{port}", **common,
        }, port, at.address, at.enter, version) for node, at, port in zip(CONTROLLERS, quorum, ports)
    }  # fmt: skip
    brokers = [
        Kafka(folder / f"broker{number}", {"process.roles": "broker", "node.id": number, **common,
                                           **_dirs(log_dirs, number), **through.get(number, {}),
                                           **(settings or {}).get(number, {})},
              host=place.address, enter=place.enter, version=version)
        for number, place in enumerate(places, 1)
    ]  # fmt: skip
    format_logs([*controllers.values(), *brokers])
    with contextlib.ExitStack() as stack:
        relays = {number: stack.enter_context(Relay(way)) for number, way in detours.items()}
        yield from _running(KafkaCluster(brokers, None, controllers, relays), [*controllers.values(), *brokers])


@contextlib.contextmanager
def with_combined(
    folder: pathlib.Path, places: Sequence[Place] = HERE, _quorum: Sequence[Place] = (),
    log_dirs: Mapping[int, Sequence[pathlib.Path]] | None = None,
) -> Iterator[KafkaCluster]:  # fmt: skip
    """Three KRaft servers that are broker and controller in one process each; the node ids are the brokers'."""
    ports = [(free_port(), free_port()) for _ in places]
    voters = [f"{node}@{at.address}:{port}" for node, at, (_, port) in zip(IDS, places, ports)]
    servers = [
        Kafka(folder / f"broker{node}", {
            "process.roles": "broker,controller", "node.id": node, "controller.quorum.voters": ",".join(voters),
            "listeners": f"PLAINTEXT://{at.address}:{port},CONTROLLER://{at.address}:{quorum}",
            "advertised.listeners": f"PLAINTEXT://{at.address}:{port}", "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", **BROKER_S,
            **_dirs(log_dirs, node),
        }, port, at.address, at.enter) for node, at, (port, quorum) in zip(IDS, places, ports)
    ]  # fmt: skip
    format_logs(servers)
    yield from _running(KafkaCluster(servers, None, dict(zip(IDS, servers))), servers)


MODES: Mapping[str, Callable[..., contextlib.AbstractContextManager[KafkaCluster]]] = {
    "zookeeper": with_zookeeper, "kraft": with_kraft, "combined": with_combined,
}  # fmt: skip


def _dirs(log_dirs: Mapping[int, Sequence[pathlib.Path]] | None, number: int) -> dict[str, object]:
    given = (log_dirs or {}).get(number)
    return {"log.dirs": ",".join(map(str, given))} if given else {}


def _running(cluster: KafkaCluster, servers: Sequence[Kafka]) -> Iterator[KafkaCluster]:
    """All are started at once and waited for; all end with the test."""
    with contextlib.ExitStack() as started:
        for server in servers:
            server.start()
            started.callback(server.stop)
        for server in servers:
            server.wait()
        cluster.settle()
        yield cluster


def revive(member: Member) -> None:
    """Start a ZooKeeper server again."""
    member.__enter__()
