"""The replication throttle of a drain: set on its brokers and partitions before the copy, removed afterwards.

The same settings as kafka-reassign-partitions.sh --throttle. Only the replicas being moved are throttled; existing
throttles are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from smoketests.gate.playbook_runs import THROTTLE
from smoketests.readers.kafka.model import Partition

MB = 1_000_000
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"

# `broker 1` or `topic orders` -> setting -> value
Settings = Mapping[str, Mapping[str, str]]


def wanted(
    moves: Mapping[Partition, Sequence[int]], living: Collection[int], throttled: Collection[str], mb_per_second: int
) -> dict[str, dict[str, str]]:
    """What to set for these moves. living: brokers that can be told. throttled: brokers and topics that are so already,
    as `broker 1`, `topic orders`.
    """
    found: dict[str, dict[str, str]] = {}
    brokers = sorted({broker for one, new in moves.items() for broker in (*one.replicas, *new)} & {*living})
    rate = str(mb_per_second * MB)
    for broker in brokers:
        found[f"broker {broker}"] = {LEADER_RATE: rate, FOLLOWER_RATE: rate}
    for topic in sorted({one.topic for one in moves}):
        ours = {one: new for one, new in sorted(moves.items()) if one.topic == topic}
        found[f"topic {topic}"] = {
            LEADERS: ",".join(f"{one.number}:{broker}" for one in ours for broker in one.replicas),
            FOLLOWERS: ",".join(f"{one.number}:{broker}" for one, new in ours.items() for broker in new
                                if broker not in one.replicas),
        }  # fmt: skip
    return {name: said for name, said in found.items() if name not in throttled}


def changes(settings: Settings) -> list[dict[str, Any]]:
    """For the journal: each setting, that was not there before."""
    return [
        {"kind": THROTTLE, "item": f"{name} {setting}", "before": None, "after": value}
        for name, said in settings.items() for setting, value in said.items()
    ]  # fmt: skip


def put(admin: Any, settings: Settings) -> None:
    """Set it. kafka-python's errors."""
    from kafka.admin import ConfigResource

    resources = [ConfigResource(*name.split(" ", 1), dict(said)) for name, said in settings.items()]
    if resources:
        _check(admin.alter_configs(resources, raise_on_unknown=False))


def take_away(admin: Any, items: Iterable[str]) -> None:
    """Reset what `changes` named, by the items of the journal. kafka-python's errors; a topic that is gone has none."""
    from kafka.admin import ConfigResource

    topics = set(admin.list_topics())
    found: dict[tuple[str, str], dict[str, str]] = {}
    for item in items:
        kind, name, setting = item.split(" ", 2)
        if kind == "broker" or name in topics:
            found.setdefault((kind, name), {})[setting] = ""
    if found:
        resources = [ConfigResource(*key, said) for key, said in found.items()]
        _check(admin.reset_configs(resources, raise_on_unknown=False))


def _check(answers: Mapping[str, Mapping[str, Any]]) -> None:
    """kafka-python answers with OK, or with an error's words, for each resource."""
    from kafka.errors import KafkaError

    wrong = [f"{name}: {answer}" for named in answers.values() for name, answer in named.items() if answer != "OK"]
    if wrong:
        raise KafkaError(f"setting the throttle failed: {'; '.join(wrong[:3])}")
