"""Are all partitions led, fully replicated, and spread evenly over the brokers?

Asked of Kafka itself. A partition without a leader can be neither written nor read; one below min.insync.replicas
refuses writes with acks=all; an under-replicated one has fewer copies than it should.

Critical: partitions without a leader; partitions below min.insync.replicas.

Warning: under-replicated partitions (not those that only a reassignment still fills); one broker leads 50 % more
partitions than the mean of all; a topic's leaders sit on fewer brokers than they could.

Unknown: Kafka could not be asked, or told only a part.

Ok again: as soon as the replicas are back; leaders go home by a preferred leader election (kafka-leader-election.sh).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.status import combine, critical, ok, unknown, warning
from smoketests.cluster.view import CannotTell, ClusterFinding, ClusterView, NotAsked, some
from smoketests.readers.kafka import Partition

LIMITS = {
    "leader_skew_percent_warning": 50,
    "leader_skew_min_partitions_per_broker": 10,
    "topic_skew_percent_warning": 50,
    "topic_skew_min_excess": 2,
    "named": 5,
}
READS: Mapping[str, Any] = {}
PLAYBOOK = "broker-down"
REBALANCE = "reboot-broker"


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    if view.kafka is None:
        if "kafka" in view.problems:
            raise CannotTell(view.problems["kafka"])
        raise NotAsked("the inventory names no Kafka servers of this cluster")
    if view.kafka.partitions is None:
        raise CannotTell("; ".join(view.kafka.untold) or "Kafka did not tell its partitions")
    partitions = view.kafka.partitions
    names = {broker_id: name for name, broker_id in view.cluster.broker_ids.items()}
    brokers = sorted({broker.id for broker in view.kafka.brokers if not broker.fenced})
    found = [
        _offline(partitions, names, limits),
        _below_min_isr(partitions, names, limits),
        _under_replicated(partitions, names, limits),
        _leader_skew(partitions, brokers, names, limits),
        _topic_skew(partitions, brokers, names, limits),
    ]
    untold = [unknown(reason) for reason in view.kafka.untold]
    return [*found, ClusterFinding("asked", combine(untold, f"{len(partitions)} partitions are known"))]


def is_offline(partition: Partition) -> bool:
    return partition.leader < 0 or not partition.isr


def is_below_min_isr(partition: Partition) -> bool:
    return partition.min_isr is not None and len(partition.isr) < partition.min_isr


def missing(partition: Partition) -> set[int]:
    """The replicas that are out of step, without those that a reassignment has only begun to fill."""
    return set(partition.replicas) - set(partition.isr) - set(partition.adding)


def _offline(partitions: Sequence[Partition], names: Mapping[int, str], limits: Mapping[str, Any]) -> ClusterFinding:
    rows = [partition for partition in partitions if is_offline(partition)]
    if not rows:
        return ClusterFinding("offline", ok(f"all {len(partitions)} partitions have a leader"), {"partitions": 0})
    said = f"{_count(rows)} without a leader: {_listed(rows, limits)}; replicas only on {_on(rows, names)}"
    return ClusterFinding("offline", critical(said, PLAYBOOK), {"partitions": len(rows)})


def _below_min_isr(
    partitions: Sequence[Partition], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    rows = [partition for partition in partitions if is_below_min_isr(partition)]
    untold = {partition.topic for partition in partitions if partition.min_isr is None}
    facts = {"partitions": len(rows), "topics_untold": len(untold)}
    verdicts = []
    if rows:
        never = sorted({row.topic for row in rows if row.min_isr and len(row.replicas) < row.min_isr})
        said = f"{_count(rows)} below min.insync.replicas, writes with acks=all fail: {_listed(rows, limits)}"
        said += f"; {some(never)} have fewer replicas than that even when all is well" if never else ""
        verdicts.append(critical(said, PLAYBOOK))
    if untold:
        verdicts.append(unknown(f"min.insync.replicas is not told of {len(untold)} topics: {some(sorted(untold), 3)}"))
    return ClusterFinding("min_isr", combine(verdicts, "none below min.insync.replicas"), facts)


def _under_replicated(
    partitions: Sequence[Partition], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    rows = [partition for partition in partitions if missing(partition)]
    moving = sum(bool(partition.adding) for partition in partitions)
    facts = {"partitions": len(rows), "reassigning": moving}
    if not rows:
        said = "no partition is under-replicated" + (f", {moving} are being reassigned" if moving else "")
        return ClusterFinding("under_replicated", ok(said), facts)
    absent = Counter(broker for row in rows for broker in missing(row))
    who = ", ".join(f"{_broker(broker, names)} {count} times" for broker, count in absent.most_common(4))
    said = f"{_count(rows)} under-replicated: {_listed(rows, limits)}; missing are {who}"
    return ClusterFinding(
        "under_replicated", warning(said, PLAYBOOK), {**facts, "missing": dict(absent.most_common(20))}
    )


def leaders(partitions: Iterable[Partition], brokers: Iterable[int]) -> dict[int, int]:
    """How many partitions each broker leads; a broker without one is there too, and a leader that is not known."""
    counted = Counter(partition.leader for partition in partitions if partition.leader >= 0)
    return {broker: counted[broker] for broker in sorted({*brokers, *counted})}


def _leader_skew(
    partitions: Sequence[Partition], brokers: Sequence[int], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    led = leaders(partitions, brokers)
    preferred = sum(row.leader >= 0 and row.replicas[:1] != (row.leader,) for row in partitions)
    if len(led) < 2 or not sum(led.values()):
        return ClusterFinding("leaders", ok("one broker leads, nothing to spread"), {"brokers": len(led)})
    mean = sum(led.values()) / len(led)
    most = max(led, key=lambda broker: led[broker])
    percent = 100 * (led[most] / mean - 1)
    said = f"{_broker(most, names)} leads {led[most]} partitions, the mean of {len(led)} brokers is {mean:.1f}"
    facts = {
        "skew_percent": round(percent),
        "leaders": led,
        "not_preferred": preferred,
        "groups": len(alike(partitions)),
    }
    few = mean < limits["leader_skew_min_partitions_per_broker"]
    if percent >= limits["leader_skew_percent_warning"] and not few:
        away = f"; {preferred} partitions are not led by their preferred broker" if preferred else ""
        least = limits["leader_skew_percent_warning"]
        said = f"{said}: {percent:.0f} % more, should be below {least} %{away}"
        return ClusterFinding("leaders", warning(said), facts)
    return ClusterFinding("leaders", ok(said), facts)


def _topic_skew(
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
            crowded.append((excess, f"{topic} ({_broker(most, names)} leads {led[most]} of {len(rows)})"))
    crowded.sort(reverse=True)
    facts = {"topics": len(topics), "crowded": len(crowded), "uneven_by_count": uneven}
    if crowded:
        said = f"{len(crowded)} topics lean on one broker: {some([words for _excess, words in crowded], 3)}"
        return ClusterFinding("topic_leaders", warning(said), facts)
    said = f"{len(topics)} topics are as even as their partitions allow, {uneven} do not divide by their brokers"
    return ClusterFinding("topic_leaders", ok(said), facts)


def alike(partitions: Iterable[Partition]) -> dict[frozenset[int], list[str]]:
    """Topics by the brokers that lead them: those of one group share their load on the same brokers."""
    led: dict[str, set[int]] = {}
    for partition in partitions:
        if partition.leader >= 0:
            led.setdefault(partition.topic, set()).add(partition.leader)
    found: dict[frozenset[int], list[str]] = {}
    for topic, brokers in sorted(led.items()):
        found.setdefault(frozenset(brokers), []).append(topic)
    return found


def _count(rows: Sequence[Partition]) -> str:
    topics = len({row.topic for row in rows})
    return f"{len(rows)} partition{'s' * (len(rows) > 1)} of {topics} topic{'s' * (topics > 1)}"


def _listed(rows: Sequence[Partition], limits: Mapping[str, Any]) -> str:
    return some([row.name[:80] for row in rows], limits["named"])


def _on(rows: Sequence[Partition], names: Mapping[int, str]) -> str:
    return some([_broker(broker, names) for broker in sorted({broker for row in rows for broker in row.replicas})])


def _broker(broker: int, names: Mapping[int, str]) -> str:
    return f"broker {broker} ({names[broker]})" if broker in names else f"broker {broker}"
