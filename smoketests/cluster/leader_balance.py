"""Who leads how much: by broker, by topic, by the broker that should lead, and by the bytes behind the leaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.status import ok, warning
from inventory.names import some
from smoketests.cluster.view import ClusterFinding
from smoketests.readers.kafka.model import Partition

LIMITS = {
    "leader_skew_percent_warning": 50,
    "leader_skew_min_partitions_per_broker": 10,
    "topic_skew_percent_warning": 50,
    "topic_skew_min_excess": 2,
    "load_skew_percent_warning": 50,
    "load_skew_min_mib_per_broker": 10240,
    "not_preferred_percent_warning": 10,
    "not_preferred_min_partitions": 10,
}
ELECT = "reboot-broker"
MIB = 1 << 20


def judge(
    partitions: Sequence[Partition], brokers: Sequence[int], names: Mapping[int, str], limits: Mapping[str, Any]
) -> list[ClusterFinding]:
    """brokers: the ids of those that live."""
    return [
        by_broker(partitions, brokers, names, limits),
        by_topic(partitions, brokers, names, limits),
        by_load(partitions, brokers, names, limits),
        away_from_home(partitions, brokers, names, limits),
    ]


def leaders(partitions: Iterable[Partition], brokers: Iterable[int]) -> dict[int, int]:
    """How many partitions each broker leads; a broker without one is there too, and a leader that is not known."""
    counted = Counter(partition.leader for partition in partitions if partition.leader >= 0)
    return {broker: counted[broker] for broker in sorted({*brokers, *counted})}


def loads(partitions: Iterable[Partition], brokers: Iterable[int]) -> dict[int, int]:
    """How many bytes lie in the partitions that each broker leads: what is written and read there, as far as we know.

    Kafka's admin protocol tells no rates; at the same retention a topic with twice the traffic is twice as large.
    """
    found = dict.fromkeys(brokers, 0)
    for row in partitions:
        if row.leader >= 0 and row.size_bytes is not None:
            found[row.leader] = found.get(row.leader, 0) + row.size_bytes
    return found


def by_broker(
    partitions: Sequence[Partition], brokers: Sequence[int], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    """One broker that leads many more partitions than the mean."""
    led = leaders(partitions, brokers)
    if len(led) < 2 or not sum(led.values()):
        return ClusterFinding("leaders", ok("one broker leads, nothing to spread"), {"brokers": len(led)})
    mean = sum(led.values()) / len(led)
    most = max(led, key=lambda broker: led[broker])
    percent = 100 * (led[most] / mean - 1)
    said = f"{broker_name(most, names)} leads {led[most]} partitions, the mean of {len(led)} brokers is {mean:.1f}"
    facts = {"skew_percent": round(percent), "leaders": led}
    few = mean < limits["leader_skew_min_partitions_per_broker"]
    if percent >= limits["leader_skew_percent_warning"] and not few:
        said = f"{said}: {percent:.0f} % more, should be below {limits['leader_skew_percent_warning']} %"
        return ClusterFinding("leaders", warning(said, ELECT), facts)
    return ClusterFinding("leaders", ok(said), facts)


def by_topic(
    partitions: Sequence[Partition], brokers: Sequence[int], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    """Topics whose leaders are less even than their replicas allow; what the count alone forbids is only told."""
    topics: dict[str, list[Partition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    crowded, uneven = [], 0
    for topic, rows in topics.items():
        holders = {broker for row in rows for broker in row.replicas}
        led = leaders(rows, holders & set(brokers))
        if len(led) < 2:
            continue
        fair = -(-len(rows) // len(led))
        most = max(led, key=lambda broker: led[broker])
        uneven += len(rows) % len(led) != 0
        excess = led[most] - fair
        if excess >= limits["topic_skew_min_excess"] and excess * 100 >= fair * limits["topic_skew_percent_warning"]:
            crowded.append((excess, f"{topic} ({broker_name(most, names)} leads {led[most]} of {len(rows)})"))
    crowded.sort(reverse=True)
    facts = {"topics": len(topics), "crowded": len(crowded), "uneven_by_count": uneven}
    if crowded:
        said = f"{len(crowded)} topics are concentrated on one broker: {some([words for _excess, words in crowded], 3)}"
        return ClusterFinding("topic_leaders", warning(said, ELECT), facts)
    said = f"{len(topics)} topics are as even as their partitions allow, {uneven} do not divide by their brokers"
    return ClusterFinding("topic_leaders", ok(said), facts)


def by_load(
    partitions: Sequence[Partition], brokers: Sequence[int], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    """One broker that leads much more data than another, though each may lead as many partitions."""
    led = loads(partitions, brokers)
    untold = sum(row.size_bytes is None for row in partitions)
    facts = {"mib_led": {broker: round(size / MIB) for broker, size in led.items()}, "sizes_untold": untold}
    if len(led) < 2 or untold * 10 > len(partitions):
        why = f"no size reported for {untold} of {len(partitions)} partitions" if untold else "one broker leads"
        return ClusterFinding("leader_load", ok(f"{why}, nothing to compare"), facts)
    most, least = max(led, key=lambda broker: led[broker]), min(led, key=lambda broker: led[broker])
    said = f"{broker_name(most, names)} leads {_size(led[most])}, {broker_name(least, names)} {_size(led[least])}"
    small = sum(led.values()) / len(led) < limits["load_skew_min_mib_per_broker"] * MIB
    limit = limits["load_skew_percent_warning"]
    if not small and (led[most] - led[least]) * 100 >= led[least] * limit:
        more = f"{100 * led[most] / led[least] - 100:.0f} % more" if led[least] else "all of it"
        return ClusterFinding("leader_load", warning(f"{said}: {more}, should be below {limit} %", ELECT), facts)
    return ClusterFinding("leader_load", ok(said), facts)


def away_from_home(
    partitions: Sequence[Partition], brokers: Sequence[int], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    """Partitions that another broker leads than the preferred one (the first replica), though that one could.

    Counted by broker as Kafka does for leader.imbalance.per.broker.percentage; Kafka itself mends it every 5 minutes
    unless auto.leader.rebalance.enable is off.
    """
    homes = Counter(row.replicas[0] for row in partitions if row.replicas)
    away = Counter(row.replicas[0] for row in partitions if _could_go_home(row, brokers))
    total = sum(row.leader >= 0 and row.replicas[:1] != (row.leader,) for row in partitions)
    facts = {"partitions": total, "could_go_home": sum(away.values())}
    percent, few = limits["not_preferred_percent_warning"], limits["not_preferred_min_partitions"]
    sad = [broker for broker in sorted(away) if away[broker] * 100 > homes[broker] * percent and away[broker] >= few]
    if sad:
        who = some([f"{broker_name(broker, names)} {away[broker]} of {homes[broker]}" for broker in sad])
        said = f"partitions are not led by their preferred broker, though it is in sync: {who}"
        return ClusterFinding("preferred_leaders", warning(f"{said}; elect the preferred leaders", ELECT), facts)
    said = f"{len(partitions) - total} of {len(partitions)} partitions are led by their preferred broker"
    return ClusterFinding("preferred_leaders", ok(said), facts)


def _could_go_home(row: Partition, brokers: Sequence[int]) -> bool:
    """Not while it is being moved: its replicas are still told in the old order."""
    if row.leader < 0 or not row.replicas or row.adding:
        return False
    home = row.replicas[0]
    return home != row.leader and home in row.isr and home in brokers


def broker_name(broker: int, names: Mapping[int, str]) -> str:
    """broker 3 (kafka-a03)"""
    return f"broker {broker} ({names[broker]})" if broker in names else f"broker {broker}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / MIB / 1024:.1f} GiB" if size_bytes >= 1024 * MIB else f"{size_bytes / MIB:.0f} MiB"
