"""What a Kafka cluster says of itself: brokers, partitions, log dirs, and the quorum of a KRaft cluster."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from smoketests.readers import CannotRead, NotYet, address, begin, kafka_brokers, kafka_topics, within
from smoketests.readers.kafka_facts import NEVER, KafkaFacts, LogDir, Partition, Quorum, Voter
from smoketests.readers.kafka_greeting import CONNECT_S, greet, reason
from smoketests.readers.kafka_questions import Questions
from smoketests.readers.zookeeper import Registered

__all__ = ["NEVER", "KafkaFacts", "LogDir", "Partition", "Quorum", "Voter", "connect", "read"]

BOOTSTRAP_S = 8.0
REQUEST_S = 10.0
# what is not answered by then is untold; the rest of WHOLE_S is for greeting and connecting
QUESTIONS_S = 22.0
WHOLE_S = 40.0
DEFAULT_PORT = 9092
MOST_SERVERS = 10
QUORUM = "quorum"
AVOID_DEAD_MS = 60_000


def read(servers: Sequence[str], settings: Mapping[str, Any]) -> KafkaFacts:
    """Ask the cluster through any of these servers. settings: kafka-python's (security_protocol, …). CannotRead."""
    return within(WHOLE_S, "Kafka", lambda: _read(servers, settings))


def _read(servers: Sequence[str], settings: Mapping[str, Any]) -> KafkaFacts:
    admin = connect(servers, settings)
    try:
        return _facts(admin)
    finally:
        admin.close()


def connect(servers: Sequence[str], settings: Mapping[str, Any]) -> Any:
    """A kafka_client.Client of this cluster, for its caller to close. CannotRead with the reason.

    Every request of it ends after REQUEST_S. kafka-python's own errors come from what is asked of it later.
    """
    addresses = [address(server, DEFAULT_PORT) for server in servers]
    if not addresses:
        raise CannotRead("no Kafka server is named")
    whys = _greeted(addresses[:MOST_SERVERS], settings)
    told = [f"{server}: {why}" for server, why in whys.items() if why]
    if len(told) == len(whys):
        raise CannotRead("; ".join(told[:3]))
    return _admin([server for server, why in whys.items() if not why], settings)


def _greeted(addresses: Sequence[tuple[str, int]], settings: Mapping[str, Any]) -> dict[str, str]:
    """Server -> why it cannot be asked, empty if it can; all greeted at the same time."""
    waits = {f"{host}:{port}": begin(functools.partial(greet, host, port, settings)) for host, port in addresses}
    whys = dict.fromkeys(waits, f"no answer in {2 * CONNECT_S:.0f} s")
    for server, wait in waits.items():
        with contextlib.suppress(NotYet):  # a name server that is silent
            whys[server] = wait(2 * CONNECT_S)
    return whys


def _admin(servers: Sequence[str], settings: Mapping[str, Any]) -> Any:
    from kafka.errors import KafkaError

    from smoketests.readers.kafka_client import Client

    logging.getLogger("kafka").addHandler(logging.NullHandler())
    try:
        return Client(
            bootstrap_servers=list(servers), client_id="fleet-smoke", request_timeout_ms=int(REQUEST_S * 1000),
            bootstrap_timeout_ms=int(BOOTSTRAP_S * 1000), reconnect_backoff_ms=AVOID_DEAD_MS,
            reconnect_backoff_max_ms=AVOID_DEAD_MS, **settings,
        )  # fmt: skip
    except (KafkaError, OSError, AssertionError, ValueError, TypeError) as error:
        raise CannotRead(f"{servers[0]}: {reason(error, settings)}") from None


def _facts(admin: Any) -> KafkaFacts:
    """What the brokers know themselves comes first: behind a question that only the controllers can answer, and do
    not, a broker answers nothing else on that connection. Who lives is asked before the partitions: an answer that came
    late must not stand beside partitions of a time when a broker that is gone was in sync.
    """
    questions = Questions(QUESTIONS_S)
    cluster = questions.begin("brokers", admin.describe_cluster)()
    if cluster is None:
        raise CannotRead(questions.untold[0])
    brokers = tuple(sorted(map(_broker, cluster["brokers"])))
    topics_said = questions.begin("topics", admin.describe_topics)
    told = questions.begin_each("log dirs", _alive(brokers), lambda broker: kafka_brokers.ask(admin, broker))()
    topics = _all_topics(admin, questions, topics_said(), told)
    settings_said = questions.begin("topic settings", lambda: kafka_topics.settings(admin, topics or ()))
    settings = None if topics is None else settings_said()
    version = _version(admin, brokers)
    moves_said = questions.begin("reassignments", admin.list_partition_reassignments, optional=True)
    # a cluster with ZooKeeper, or a broker older than KRaft, has no such thing
    quorum_said = questions.begin(QUORUM, lambda: _quorum(admin.describe_metadata_quorum()), optional=True)
    moves = moves_said()
    partitions = list(kafka_topics.partitions(topics or (), settings or {}, moves or {}, questions.tell))
    quorum = quorum_said()
    return KafkaFacts(
        cluster_id=str(cluster.get("cluster_id") or ""),
        controller=_controller(cluster, quorum, questions.untold),
        brokers=brokers,
        partitions=None if topics is None else _with_sizes(partitions, told.values()),
        quorum=quorum,
        untold=tuple(questions.untold),
        log_dirs=tuple(row for broker in sorted(told) for row in told[broker].log_dirs) or None,
        throttled=_throttled(settings, told),
        version=version,
        tells_moves=moves is not None,
    )


def _broker(row: Mapping[str, Any]) -> Registered:
    host, port = str(row["host"]), int(row["port"])
    return Registered(
        int(row["broker_id"]), host, port, str(row.get("rack") or ""), (f"{host}:{port}",), bool(row.get("is_fenced"))
    )


def _controller(cluster: Mapping[str, Any], quorum: Quorum | None, untold: Sequence[str]) -> int | None:
    """A KRaft broker names any broker as the controller: it only passes on what it is asked."""
    if quorum is None and any(why.startswith(QUORUM) for why in untold):
        return None
    said = quorum.leader if quorum else cluster.get("controller_id")
    return said if isinstance(said, int) and said >= 0 else None


def _alive(brokers: Iterable[Registered]) -> list[int]:
    return [broker.id for broker in brokers if not broker.fenced]


def _all_topics(
    admin: Any, questions: Questions, shown: Sequence[Mapping[str, Any]] | None,
    told: Mapping[int, kafka_brokers.Told],
) -> Sequence[Mapping[str, Any]] | None:  # fmt: skip
    """Also those that are kept and were not shown."""
    if shown is None:
        return None
    kept = {topic for one in told.values() for topic, _partition in one.sizes}
    hidden = questions.begin("topics that are kept, not shown", lambda: kafka_topics.hidden(admin, shown, kept))()
    return [*shown, *(hidden or ())]


def _throttled(
    settings: Mapping[str, kafka_topics.Settings] | None, told: Mapping[int, kafka_brokers.Told]
) -> tuple[str, ...] | None:
    if settings is None:
        return None
    topics = [f"topic {name}" for name, row in sorted(settings.items()) if row.throttled]
    return (*topics, *(f"broker {broker}" for broker, one in sorted(told.items()) if one.throttled))


def _with_sizes(partitions: Iterable[Partition], told: Iterable[kafka_brokers.Told]) -> tuple[Partition, ...]:
    largest: dict[tuple[str, int], int] = {}
    for one in told:
        for key, size in one.sizes.items():
            largest[key] = max(size, largest.get(key, 0))
    return tuple(row._replace(size_bytes=largest.get((row.topic, row.number))) for row in partitions)


def _version(admin: Any, brokers: Sequence[Registered]) -> str:
    """As its API tells, such as 3.9; empty if it does not."""
    from kafka.errors import KafkaError

    try:
        return ".".join(map(str, admin.get_broker_version_data(brokers[0].id).broker_version))
    except (KafkaError, OSError, IndexError, AttributeError):
        return ""


def _quorum(said: Mapping[str, Any]) -> Quorum:
    (partition,) = said["topics"][0]["partitions"]
    times = {
        int(row["replica_id"]): int(row.get("last_caught_up_timestamp", -1)) for row in partition["current_voters"]
    }
    at = {int(node["node_id"]): _listening(node["listeners"]) for node in said.get("nodes") or ()}
    leader = int(partition["leader_id"])
    newest = times.get(leader, -1)

    def behind(since: int) -> int | None:
        return None if newest <= 0 else max(newest - since, 0) if since > 0 else NEVER

    return Quorum(
        leader, tuple(Voter(voter, behind(since), at.get(voter, ())) for voter, since in sorted(times.items()))
    )


def _listening(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(f"{row['host']}:{row['port']}"[:200] for row in rows[:20])
