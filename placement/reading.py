"""A snapshot of a living cluster: Kafka's own metadata and log dirs, and the hardware findings of its hosts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent import report
from placement.errors import CannotTell
from placement.snapshot import Broker, LogDir, Partition, Snapshot, check

if TYPE_CHECKING:
    from inventory.model import Cluster
    from smoketests.asking import Wanted
    from smoketests.readers.kafka_facts import KafkaFacts

# A broker with a critical or unknown finding of one of these receives nothing.
HARDWARE = ("mounts", "smart", "raid", "disk_errors", "memory_errors", "nic_link", "power")
BAD = ("critical", "unknown")
BITS = 8


def read(wanted: Wanted) -> Snapshot:
    """Of the one cluster that the inventory or --cluster names. CannotTell, or asking.CannotAsk."""
    from smoketests import asking, readers

    inventory, hosts = asking.load(wanted)
    clusters = [one for one in inventory.clusters if {host.name for host in hosts} & {host.name for host in one.hosts}]
    if len(clusters) != 1:
        names = ", ".join(one.name for one in clusters) or "none"
        raise CannotTell(f"one cluster is needed, --cluster NAME chooses it; the inventory has {names}")
    cluster = clusters[0]
    brokers = [host for host in hosts if "broker" in host.roles]
    ask = replace(wanted, limit=",".join(host.name for host in brokers))
    trouble, speeds = hardware(asking.host_reports(ask, brokers, HARDWARE, uuid.uuid4().hex))
    view = readers.look(cluster, {})
    if view.kafka is None:
        raise CannotTell(view.problems.get("kafka", f"the inventory names no Kafka servers of {cluster.name}"))
    return snapshot_of(cluster, view.kafka, trouble, speeds, report.timestamp(time.time()))


def hardware(reports: Any) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """Of each host its bad findings, a sentence each, and the bytes/s of its fastest NIC with a link."""
    trouble: dict[str, tuple[str, ...]] = {}
    speeds: dict[str, int] = {}
    for one in reports:
        rows = one.report.findings
        bad = [f"{row['check']} {row['item']}: {row['reason']}" for row in rows if row["status"] in BAD]
        missing = not {row["check"] for row in rows} & set(HARDWARE)
        reason = f"no report: {one.reach.reason}" if missing else ""
        trouble[one.host.name] = (*((reason,) if reason else ()), *bad)
        mbps = [row["facts"].get("speed_mbps") for row in rows if row["check"] == "nic_link"]
        speeds[one.host.name] = (
            max((int(speed) for speed in mbps if isinstance(speed, int)), default=0) * 1_000_000 // BITS
        )
    return trouble, speeds


def snapshot_of(
    cluster: Cluster, kafka: KafkaFacts, trouble: Mapping[str, Sequence[str]], speeds: Mapping[str, int], at: str
) -> Snapshot:
    """Pure. A broker of the inventory that Kafka does not list is there, not live; so are holders of replicas."""
    if kafka.partitions is None or kafka.log_dirs is None:
        raise CannotTell("; ".join(kafka.untold) or "Kafka reports neither partitions nor log dirs")
    names = {number: name for name, number in cluster.broker_ids.items()}
    live = {row.id: row for row in kafka.brokers if not row.fenced}
    doubted = {row.broker for row in kafka.doubts}
    holders = {one for row in kafka.partitions for one in (*row.replicas, *row.adding)}
    known = sorted({*names, *live, *holders, *(row.id for row in kafka.brokers)})
    racks = {row.id: row.rack for row in kafka.brokers}
    brokers = tuple(
        Broker(
            one, names.get(one, live[one].host if one in live else ""), racks.get(one, ""), _log_dirs(kafka, one),
            one in live and one not in doubted, tuple(trouble.get(names.get(one, ""), ())),
            speeds.get(names.get(one, "")) or None,
        )
        for one in known
    )  # fmt: skip
    partitions = tuple(
        Partition(
            row.topic, row.number, row.replicas, row.isr, row.leader,
            tuple(kafka.replicas.get((row.topic, row.number, one), ("", None))[1] for one in row.replicas),
            tuple(kafka.replicas.get((row.topic, row.number, one), ("", None))[0] for one in row.replicas),
            row.adding,
        )
        for row in kafka.partitions
    )  # fmt: skip
    notes = (*kafka.untold, *(f"broker {row.broker}: {row.why}" for row in kafka.doubts))
    found = Snapshot(cluster.name, kafka.cluster_id, at, brokers, partitions, notes)
    check(found)
    return found


def _log_dirs(kafka: KafkaFacts, broker: int) -> tuple[LogDir, ...]:
    found = [row for row in kafka.log_dirs or () if row.broker == broker]
    untold = [row.path for row in found if not row.error and (row.total_bytes is None or row.usable_bytes is None)]
    if untold:
        raise CannotTell(
            f"broker {broker} does not report the size of {untold[0]}: brokers before Kafka 3.3 do not; a plan needs it"
        )
    return tuple(LogDir(row.path, row.total_bytes or 0, row.usable_bytes or 0, row.error) for row in found)
