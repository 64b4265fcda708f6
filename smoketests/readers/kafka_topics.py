"""What Kafka says of its topics: partitions, the settings that decide over them, and moves that are under way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from smoketests.readers.kafka_facts import Partition

TOPICS_AT_ONCE = 500
MINIMUM, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
NO_SUCH_TOPIC = 3
WHYS = {29: "does it let us DESCRIBE every topic?"}
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class Settings(NamedTuple):
    """Of one topic; None where it did not tell."""

    min_isr: int | None
    unclean: bool | None
    throttled: bool


UNKNOWN = Settings(None, None, False)


def settings(admin: Any, topics: Sequence[Mapping[str, Any]]) -> dict[str, Settings]:
    """The settings of each topic that may be read."""
    from kafka.admin import ConfigResource

    names = [str(topic["name"]) for topic in topics if not topic.get("error_code")]
    wanted = dict.fromkeys((MINIMUM, UNCLEAN, *THROTTLED))
    found: dict[str, Settings] = {}
    for start in range(0, len(names), TOPICS_AT_ONCE):
        part = names[start : start + TOPICS_AT_ONCE]
        asked = [ConfigResource("topic", topic, configs=wanted) for topic in part]
        said = admin.describe_configs(asked, config_filter="all").get("topic") or {}
        found.update({str(topic): _settings(rows) for topic, rows in said.items() if rows})
    return found


def _settings(rows: Mapping[str, Mapping[str, Any]]) -> Settings:
    def value(name: str) -> str:
        said = (rows.get(name) or {}).get("value")
        return "" if said is None else str(said)

    minimum, unclean = value(MINIMUM), value(UNCLEAN)
    return Settings(
        int(minimum) if minimum.isdigit() else None,
        {"true": True, "false": False}.get(unclean.lower()),
        any(value(name) for name in THROTTLED),
    )


def partitions(
    topics: Sequence[Mapping[str, Any]], told: Mapping[str, Settings], moves: Mapping[Any, Any],
    tell: Callable[[str], None],
) -> Iterator[Partition]:  # fmt: skip
    """The partitions of every topic; `tell` gets a sentence of each topic that told only a part of them."""
    moving = {(key.topic, key.partition): move for key, move in moves.items()}
    for topic in topics:
        name = str(topic["name"])
        why = _half(topic)
        if why:
            tell(f"topic {name[:80]} cannot be read ({why})")
        if not topic.get("error_code"):
            for row in topic["partitions"]:
                move = moving.get((name, int(row["partition_index"])), {})
                yield _partition(name, row, told.get(name, UNKNOWN), move)


def hidden(admin: Any, shown: Sequence[Mapping[str, Any]], kept: Iterable[str]) -> list[Mapping[str, Any]]:
    """What Kafka says, asked by name, of topics that brokers keep and that it did not show to us.

    A list of all topics silently lacks those that we may not DESCRIBE; asked by name they are an error. One that was
    made since, or is being deleted, is none.
    """
    names = set(kept) - {str(topic["name"]) for topic in shown}
    said = admin.describe_topics(sorted(names)[:TOPICS_AT_ONCE]) if names else []
    return [topic for topic in said if topic.get("error_code") != NO_SUCH_TOPIC]


def _half(topic: Mapping[str, Any]) -> str:
    """Why what is said of this topic is not all of it; empty if it is."""
    if topic.get("error_code"):
        return WHYS.get(topic["error_code"], f"error {topic['error_code']}")
    numbers = sorted(int(row["partition_index"]) for row in topic["partitions"])
    if not numbers:
        return "it has no partitions"
    return "" if numbers == list(range(len(numbers))) else f"only {len(numbers)} of its partitions are told"


def _partition(topic: str, row: Mapping[str, Any], told: Settings, move: Mapping[str, Any]) -> Partition:
    return Partition(
        topic, int(row["partition_index"]), int(row["leader_id"]), tuple(row["replica_nodes"]),
        tuple(row["isr_nodes"]), told.min_isr, tuple(move.get("adding_replicas") or ()),
        tuple(move.get("removing_replicas") or ()), tuple(row.get("offline_replicas") or ()), told.unclean,
    )  # fmt: skip
