"""Are all partitions led, fully replicated, and spread evenly over the brokers, and does every log dir work?

Read from Kafka itself. A partition without a leader can be neither written nor read; one below min.insync.replicas
rejects writes with acks=all; an under-replicated one has fewer copies than configured. A log dir with an error is a
disk that its broker took offline: its replicas are unavailable on that broker until the disk is repaired.

Critical: partitions without a leader; partitions below min.insync.replicas; a log dir with an error.

Warning: under-replicated partitions (not those that only a reassignment still fills); topics that cannot lose a
replica even when all brokers are healthy; a leftover replication throttle; one broker leads 50 % more partitions than
the mean of all, or 50 % more data than another; a topic's leaders are on fewer brokers than possible; more than
10 % of a broker's partitions are led elsewhere though it could lead them.

Unknown: no reply from Kafka, or only a partial one.

Ok again: as soon as the replicas are back; a preferred leader election (kafka-leader-election.sh) moves leaders back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agent.status import combine, critical, ok, unknown, warning
from inventory.names import some
from smoketests.cluster import leader_balance
from smoketests.cluster.leader_balance import broker_name
from smoketests.cluster.log_dirs import judge as judge_log_dirs
from smoketests.cluster.view import ClusterFinding, ClusterView, kafka_of, partitions_of
from smoketests.readers.kafka.model import Partition

LIMITS = {**leader_balance.LIMITS, "spare_replicas_min_warning": 1, "named": 5}
READS: Mapping[str, Any] = {}
PLAYBOOK = "broker-down"


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    kafka, partitions = kafka_of(view), partitions_of(view)
    names = {broker_id: name for name, broker_id in view.cluster.broker_ids.items()}
    brokers = sorted({broker.id for broker in kafka.brokers if not broker.fenced})
    found = [
        _offline(partitions, names, limits),
        _below_min_isr(partitions, names, limits),
        _under_replicated(partitions, names, limits),
        _spare_replicas(partitions, limits),
        _reassignments(partitions, kafka.throttled, names),
        *leader_balance.judge(partitions, brokers, names, limits),
        *judge_log_dirs(view, kafka.log_dirs, brokers, names),
    ]
    untold = [unknown(reason) for reason in kafka.untold]
    return [*found, ClusterFinding("asked", combine(untold, f"{len(partitions)} partitions are known"))]


def is_offline(partition: Partition) -> bool:
    return partition.leader < 0 or not partition.isr


def is_below_min_isr(partition: Partition) -> bool:
    return partition.min_isr is not None and len(partition.isr) < partition.min_isr


def missing(partition: Partition) -> set[int]:
    """The replicas that are out of step or offline, without those that a reassignment has only begun to fill."""
    return (set(partition.replicas) - set(partition.isr) - set(partition.adding)) | set(partition.offline)


def spare_replicas(partition: Partition) -> int | None:
    """How many replicas it could lose and still take writes with acks=all, were all well; None where not told."""
    if partition.min_isr is None:
        return None
    return len(set(partition.replicas) - set(partition.adding)) - max(partition.min_isr, 1)


def _offline(partitions: Sequence[Partition], names: Mapping[int, str], limits: Mapping[str, Any]) -> ClusterFinding:
    rows = [partition for partition in partitions if is_offline(partition)]
    if not rows:
        return ClusterFinding("offline", ok(f"all {len(partitions)} partitions have a leader"), {"partitions": 0})
    said = f"{counted(rows)} without a leader: {_listed(rows, limits)}; replicas only on {_on(rows, names)}"
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
        said = f"{counted(rows)} below min.insync.replicas, writes with acks=all fail: {_listed(rows, limits)}"
        said += f"; {some(never)} have fewer replicas than that even when all brokers are healthy" if never else ""
        verdicts.append(critical(said, PLAYBOOK))
    if untold:
        verdicts.append(unknown(f"min.insync.replicas is unknown for {len(untold)} topics: {some(sorted(untold), 3)}"))
    return ClusterFinding("min_isr", combine(verdicts, "none below min.insync.replicas"), facts)


def _under_replicated(
    partitions: Sequence[Partition], names: Mapping[int, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    rows = [partition for partition in partitions if missing(partition)]
    facts = {"partitions": len(rows), "offline_replicas": sum(len(row.offline) for row in rows)}
    if not rows:
        return ClusterFinding("under_replicated", ok("no partition is under-replicated"), facts)
    absent = Counter(broker for row in rows for broker in missing(row))
    who = ", ".join(f"{broker_name(broker, names)} {count} times" for broker, count in absent.most_common(4))
    said = f"{counted(rows)} under-replicated: {_listed(rows, limits)}; missing are {who}"
    return ClusterFinding(
        "under_replicated", warning(said, PLAYBOOK), {**facts, "missing": dict(absent.most_common(20))}
    )


def _spare_replicas(partitions: Sequence[Partition], limits: Mapping[str, Any]) -> ClusterFinding:
    """Topics for which every restart of a broker is an outage."""
    least = limits["spare_replicas_min_warning"]
    short: dict[str, int] = {}
    for row in partitions:
        spare = spare_replicas(row)
        if spare is not None and spare < least:
            short[row.topic] = min(spare, short.get(row.topic, spare))
    facts = {"topics": len(short)}
    if not short:
        return ClusterFinding("spare_replicas", ok("every topic can lose a replica and still take writes"), facts)
    who = some(sorted(short), limits["named"])
    said = f"{len(short)} topics cannot lose a replica without losing writes (replicas <= min.insync.replicas): {who}"
    return ClusterFinding("spare_replicas", warning(said), facts)


def _reassignments(
    partitions: Sequence[Partition], throttled: Sequence[str] | None, names: Mapping[int, str]
) -> ClusterFinding:
    moving = [row for row in partitions if row.adding or row.removing]
    facts = {"partitions": len(moving), "throttled": list(throttled or ())[:20]}
    if moving:
        to = some(
            [broker_name(broker, names) for broker in sorted({broker for row in moving for broker in row.adding})]
        )
        said = f"{counted(moving)} being reassigned" + (f" to {to}" if to else "")
        return ClusterFinding("reassignments", ok(said), facts)
    if throttled:
        said = f"nothing is being reassigned, but replication is still throttled for {some(throttled)}"
        mend = "replicas that fall behind may never catch up; kafka-reassign-partitions.sh --verify takes it away"
        return ClusterFinding("reassignments", warning(f"{said}: {mend}"), facts)
    return ClusterFinding("reassignments", ok("nothing is being reassigned"), facts)


def counted(rows: Sequence[Partition]) -> str:
    """7 partitions of 2 topics"""
    topics = len({row.topic for row in rows})
    return f"{len(rows)} partition{'s' * (len(rows) > 1)} of {topics} topic{'s' * (topics > 1)}"


def _listed(rows: Sequence[Partition], limits: Mapping[str, Any]) -> str:
    return some([row.name[:80] for row in rows], limits["named"])


def _on(rows: Sequence[Partition], names: Mapping[int, str]) -> str:
    return some([broker_name(broker, names) for broker in sorted({broker for row in rows for broker in row.replicas})])
