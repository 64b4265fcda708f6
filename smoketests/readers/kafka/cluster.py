"""What a Kafka cluster reports: brokers, partitions, log dirs, and the quorum of a KRaft cluster."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from smoketests.readers import Answer, CannotRead, within
from smoketests.readers.kafka import broker_views
from smoketests.readers.kafka import brokers as kafka_brokers
from smoketests.readers.kafka import quorum as kafka_quorum
from smoketests.readers.kafka import topics as kafka_topics
from smoketests.readers.kafka.connection import connect
from smoketests.readers.kafka.model import NEVER, KafkaFacts, LogDir, Partition, Quorum, Voter
from smoketests.readers.kafka.requests import Questions

if TYPE_CHECKING:
    from smoketests.readers.kafka.client import ClusterSaid

__all__ = ["NEVER", "KafkaFacts", "LogDir", "Partition", "Quorum", "Voter", "connect", "read"]

# what is not answered by then is untold; the rest of WHOLE_S is for greeting and connecting
QUESTIONS_S = 22.0
# 20,000 partitions take 0.15 s to read, of each broker, on a machine that does nothing else
BROKER_S, MOST_S = 0.3, 60.0
WHOLE_S = 40.0 + MOST_S
# so many brokers are asked what only the controllers know
MOST_ASKED = 5
PAUSES_S = (0.5, 1.0)


def read(servers: Sequence[str], settings: Mapping[str, Any]) -> KafkaFacts:
    """Ask the cluster through any of these servers. settings: kafka-python's (security_protocol, …). CannotRead."""
    return within(WHOLE_S, "Kafka", lambda: _read(servers, settings))


def _read(servers: Sequence[str], settings: Mapping[str, Any]) -> KafkaFacts:
    client = connect(servers, settings)
    try:
        return _facts(client)
    finally:
        client.close()


def _facts(client: Any) -> KafkaFacts:
    """What the brokers know themselves comes first: behind a question that only the controllers can answer, and do
    not, a broker answers nothing else on that connection.
    """
    questions = Questions(QUESTIONS_S)
    first = questions.begin("brokers", lambda: _somebody(client))()
    if first is None:
        raise CannotRead(questions.untold[0])
    alive = [row.id for row in first.brokers.values() if not row.fenced]
    questions.extend(min(BROKER_S * len(alive), MOST_S))
    dirs_said = questions.begin_each("log dirs", alive, lambda broker: kafka_brokers.ask(client, broker))
    views = _views(client, questions, alive)
    if not views:
        raise CannotRead(questions.untold[0] if questions.untold else "Kafka lists no live broker")
    broker_views.settle(client, views, questions.left)
    counted = broker_views.believed(views)
    if not counted:
        raise CannotRead("the brokers contradict each other: none that replies is listed as live by the others")
    active = broker_views.controller(counted)
    asked = [view.broker for view in counted]
    moves_said = questions.begin_any("reassignments", _first(active, asked)[:MOST_ASKED], client.moves, optional=True)
    quorum, moves, told = kafka_quorum.now(client, questions, asked), moves_said(), dirs_said()
    kraft = quorum is not None or any(why.startswith(kafka_quorum.WHAT) for why in questions.untold)
    behind = kafka_quorum.late(quorum, asked)
    counted = [view for view in counted if view.broker not in behind] or counted
    fresh = _first(None if kraft else active, [view.broker for view in counted])
    brokers = broker_views.members(counted)
    unheard = {row.id for row in brokers if not row.fenced} - {view.broker for view in views}
    topics, disputes = broker_views.merged(counted)
    partitions, throttled = _partitions(client, questions, _Heard(fresh, topics, told, moves or {}))
    return KafkaFacts(
        cluster_id=counted[0].cluster.cluster_id,
        controller=_controller(active, quorum, kraft),
        brokers=brokers,
        partitions=partitions,
        quorum=quorum,
        untold=tuple(questions.untold),
        log_dirs=tuple(row for broker in sorted(told) for row in told[broker].log_dirs) or None,
        throttled=throttled,
        version=_version(client, fresh[0]),
        tells_moves=moves is not None,
        doubts=tuple(broker_views.doubts(views, unheard, quorum, kraft)),
        disputes=tuple(disputes),
        replicas={(*key, broker): place for broker in sorted(told) for key, place in told[broker].replicas.items()},
    )


def _somebody(client: Any) -> ClusterSaid:
    """What any broker says; in ZooKeeper mode one that just started names nobody for a moment."""
    for pause in PAUSES_S:
        said: ClusterSaid = client.cluster()
        if said.brokers:
            return said
        time.sleep(pause)
    return client.cluster()  # type: ignore[no-any-return]


def _views(client: Any, questions: Questions, alive: Sequence[int]) -> list[broker_views.View]:
    """What each living broker believes; also of those that only another one knows."""

    seen: dict[str, Any] = {}

    def look(brokers: Sequence[int]) -> list[broker_views.View]:
        ask = functools.partial(broker_views.ask, client, seen)
        said = questions.begin_each("metadata", brokers, ask)()
        return [said[broker] for broker in sorted(said)]

    views = look(alive)
    more = {row.id: row for view in views for row in view.cluster.brokers.values() if not row.fenced}
    unknown = [row for number, row in more.items() if number not in alive]
    if unknown:
        client.meet(unknown)
        views += look([row.id for row in unknown])
    return views


def _by_one(brokers: Sequence[int], ask: Callable[[int], Answer]) -> Answer:
    """The first answer; a broker that dies meanwhile is passed over."""
    from kafka.errors import KafkaError

    for broker in brokers[:-1]:
        with contextlib.suppress(KafkaError, OSError):  # the last one's error is told
            return ask(broker)
    return ask(brokers[-1])


def _first(one: int | None, brokers: Sequence[int]) -> list[int]:
    return list(dict.fromkeys([*([] if one is None else [one]), *brokers]))


class _Heard(NamedTuple):
    """brokers: to ask the rest, one after the other. topics: what is taken as true. told: by each broker alone."""

    brokers: Sequence[int]
    topics: dict[str, Any]
    told: Mapping[int, kafka_brokers.Told]
    moves: Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]


def _partitions(
    client: Any, questions: Questions, heard: _Heard
) -> tuple[tuple[Partition, ...], tuple[str, ...] | None]:
    """All partitions with their settings, and what is throttled."""
    topics = heard.topics
    kept = {topic for one in heard.told.values() for topic, _partition in one.sizes}
    hidden = questions.begin(
        "topics that are kept, not shown",
        lambda: _by_one(heard.brokers, lambda broker: kafka_topics.hidden(client, topics, kept, broker)),
    )()
    topics.update(hidden or {})
    settings = questions.begin(
        "topic settings",
        lambda: _by_one(heard.brokers, lambda broker: kafka_topics.settings_of_all(client, topics, broker)),
    )()
    defaults = {broker: one.defaults for broker, one in heard.told.items()}
    rows = list(kafka_topics.partitions(topics, settings or {}, defaults, heard.moves, questions.tell))
    return _with_sizes(rows, heard.told.values()), _throttled(settings, heard.told)


def _controller(active: int | None, quorum: Quorum | None, kraft: bool) -> int | None:
    """A KRaft broker names any broker as the controller: it only passes on what it is asked."""
    said = (quorum.leader if quorum else None) if kraft else active
    return said if said is not None and said >= 0 else None


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


def _version(client: Any, broker: int) -> str:
    """As its API tells, such as 3.9; empty if it does not."""
    from kafka.errors import KafkaError

    try:
        return ".".join(map(str, client.get_broker_version_data(broker).broker_version))
    except (KafkaError, OSError, AttributeError):
        return ""
