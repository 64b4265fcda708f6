"""What Kafka reports about its topics: partitions, their settings, and reassignments under way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from smoketests.readers.kafka.model import Partition

TOPICS_AT_ONCE = 500
MINIMUM, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
NO_SUCH_TOPIC = 3
WHYS = {29: "the client needs DESCRIBE on every topic"}
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
# DYNAMIC_TOPIC_CONFIG: set for the topic itself; all other sources are the defaults of the broker that was asked
OF_THE_TOPIC = 1
# A topic that was made or deleted meanwhile is asked of again, after such pauses.
PAUSES_S = (0.2, 0.5, 1.0)


class Defaults(NamedTuple):
    """What a broker takes where a topic says nothing; None where it did not tell."""

    min_isr: int | None
    unclean: bool | None


class Settings(NamedTuple):
    """Of one topic; None where it did not tell. own_…: whether that is set for the topic itself."""

    min_isr: int | None
    unclean: bool | None
    throttled: bool
    own_min_isr: bool = True
    own_unclean: bool = True


UNKNOWN = Settings(None, None, False)


def settings(client: Any, names: Iterable[str], broker: int | None = None) -> dict[str, Settings]:
    """The settings of each of these topics that may be read, as this broker has them."""
    asked, found = sorted(names), {}
    for start in range(0, len(asked), TOPICS_AT_ONCE):
        part = asked[start : start + TOPICS_AT_ONCE]
        said = client.settings(part, (MINIMUM, UNCLEAN, *THROTTLED), broker)
        found.update({topic: _settings(rows) for topic, rows in said.items() if rows})
    return found


def settings_of_all(client: Any, topics: dict[str, Any], broker: int | None = None) -> dict[str, Settings]:
    """The settings of all topics that can be read. One that is gone by now leaves `topics`."""
    found = settings(client, (name for name, said in topics.items() if not said.error), broker)
    for pause in PAUSES_S:
        missing = [name for name, said in topics.items() if not said.error and name not in found]
        if not missing:
            break
        time.sleep(pause)
        for name, said in client.topics(broker, missing[:TOPICS_AT_ONCE]).items():
            if said.error == NO_SUCH_TOPIC:
                del topics[name]
        found.update(settings(client, (name for name in missing if name in topics), broker))
    return found


def _settings(rows: Mapping[str, Any]) -> Settings:
    def value(name: str) -> str:
        return rows[name].value if name in rows else ""

    def own(name: str) -> bool:
        return name in rows and rows[name].source == OF_THE_TOPIC

    return Settings(
        as_count(value(MINIMUM)), as_flag(value(UNCLEAN)), any(value(name) for name in THROTTLED),
        own(MINIMUM), own(UNCLEAN),
    )  # fmt: skip


def as_count(value: str) -> int | None:
    return int(value) if value.isdigit() else None


def as_flag(value: str) -> bool | None:
    return {"true": True, "false": False}.get(value.lower())


def strictest(said: Settings, replicas: Iterable[int], defaults: Mapping[int, Defaults]) -> Defaults:
    """What counts for a partition: the topic's own setting, else the strictest default of the brokers that may lead it.

    In a configuration that is rolled half the brokers differ, and the one that leads takes its own.
    """
    told = [defaults[broker] for broker in replicas if broker in defaults]
    counts = [one.min_isr for one in told if one.min_isr is not None]
    flags = [one.unclean for one in told if one.unclean is not None]
    return Defaults(
        said.min_isr if said.own_min_isr or not counts else max(counts),
        said.unclean if said.own_unclean or not flags else any(flags),
    )


def partitions(
    topics: Mapping[str, Any], told: Mapping[str, Settings], defaults: Mapping[int, Defaults],
    moves: Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]], tell: Callable[[str], None],
) -> Iterator[Partition]:  # fmt: skip
    """The partitions of every topic; `tell` gets a sentence of each topic that told only a part of them."""
    for name, said in topics.items():
        why = _half(said)
        if why:
            tell(f"topic {name[:80]} cannot be read ({why})")
        if not said.error:
            known = told.get(name, UNKNOWN)
            for number, leader, replicas, isr, offline in said.rows:
                counts = strictest(known, replicas, defaults)
                adding, removing = moves.get((name, number), ((), ()))
                # until the controller has shrunk the ISR, it lists replicas of a log dir that has just failed
                in_sync = tuple(broker for broker in isr if broker not in offline) if offline else isr
                yield Partition(name, number, leader, replicas, in_sync, counts.min_isr, adding, removing, offline,
                                counts.unclean)  # fmt: skip


def hidden(client: Any, shown: Iterable[str], kept: Iterable[str], broker: int | None = None) -> dict[str, Any]:
    """What Kafka says, asked by name, of topics that brokers keep and that it did not show to us.

    A list of all topics silently lacks those that we may not DESCRIBE; asked by name they are an error. One that is
    being deleted is none.
    """
    names = sorted(set(kept) - set(shown))[:TOPICS_AT_ONCE]
    said = client.topics(broker, names) if names else {}
    return {name: one for name, one in said.items() if one.error != NO_SUCH_TOPIC}


def _half(said: Any) -> str:
    """Why what is said of this topic is not all of it; empty if it is."""
    if said.error:
        return WHYS.get(said.error, f"error {said.error}")
    numbers: Sequence[int] = sorted(row[0] for row in said.rows)
    if not numbers:
        return "it has no partitions"
    return "" if list(numbers) == list(range(len(numbers))) else f"only {len(numbers)} of its partitions are reported"
