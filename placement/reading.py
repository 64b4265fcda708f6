"""A snapshot of a live cluster: Kafka's own metadata and log dirs, and the hardware findings of its hosts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from agent import report
from placement.errors import PlacementError
from placement.snapshot import Broker, LogDir, Partition, Snapshot, check
from smoketests.cluster.checks.broker_ids import whole_names_in, whole_names_of

if TYPE_CHECKING:
    from inventory.model import Cluster
    from smoketests.readers.kafka.model import KafkaFacts
    from smoketests.results.run import RunOptions

# A broker with a critical finding of one of these receives nothing, one with an unknown only if it is accepted.
HARDWARE = ("mounts", "smart", "raid", "disk_errors", "memory_errors", "nic_link", "power")
BITS = 8


def read(wanted: RunOptions) -> Snapshot:
    """Of the one cluster that the inventory or --cluster names. PlacementError, or run.CannotAsk."""
    from smoketests.cluster import services
    from smoketests.results import run

    inventory, hosts = run.load(wanted)
    clusters = [one for one in inventory.clusters if {host.name for host in hosts} & {host.name for host in one.hosts}]
    if len(clusters) != 1:
        names = ", ".join(one.name for one in clusters) or "none"
        raise PlacementError(f"one cluster is needed, --cluster NAME chooses it; the inventory has {names}")
    cluster = clusters[0]
    brokers = [host for host in hosts if "broker" in host.roles]
    ask = replace(wanted, limit=",".join(host.name for host in brokers))
    seen = hardware(run.host_reports(ask, brokers, HARDWARE, uuid.uuid4().hex))
    view = services.look(cluster, {})
    if view.kafka is None:
        raise PlacementError(view.problems.get("kafka", f"the inventory names no Kafka servers of {cluster.name}"))
    return snapshot_of(cluster, view.kafka, seen, report.timestamp(time.time()))


class Hardware(NamedTuple):
    """What one host's agent says. critical, unknown: a sentence each. mounts: its data mounts."""

    critical: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ("no report: its host is not in the inventory",)
    mounts: tuple[str, ...] = ()
    network_bytes_per_s: int = 0


NOT_ASKED = Hardware()


def hardware(reports: Iterable[Any]) -> dict[str, Hardware]:
    """By host, from what the fan-out gives. A check without a row, and a host not heard to its end, are unknown."""
    return {one.host.name: _of_host(one) for one in reports}


def _of_host(one: Any) -> Hardware:
    rows = [row for row in one.report.findings if row["check"] in HARDWARE]
    found = {
        status: [f"{row['check']} {row['item']}: {row['reason']}" for row in rows if row["status"] == status]
        for status in ("critical", "unknown")
    }
    missing = [check for check in HARDWARE if check not in {row["check"] for row in rows}]
    if one.reach.status != "ok":
        found["unknown"].append(f"incomplete report: {one.reach.reason}")
    elif missing:
        found["unknown"].append(f"no report of {', '.join(missing)}")
    speeds = [row["facts"].get("speed_mbps") for row in rows if row["check"] == "nic_link"]
    return Hardware(
        tuple(found["critical"]), tuple(found["unknown"]),
        tuple(row["item"] for row in rows if row["check"] == "mounts" and str(row["item"]).startswith("/")),
        max((speed for speed in speeds if isinstance(speed, int)), default=0) * 1_000_000 // BITS,
    )  # fmt: skip


def snapshot_of(cluster: Cluster, kafka: KafkaFacts, seen: Mapping[str, Hardware], at: str) -> Snapshot:
    """Pure. A broker of the inventory that Kafka does not list is there, not live; so are holders of replicas.

    seen: by host. PlacementError where sizes, partitions or the moves under way are not known.
    """
    if kafka.partitions is None or kafka.log_dirs is None:
        raise PlacementError("; ".join(kafka.untold) or "Kafka reports neither partitions nor log dirs")
    if not kafka.tells_moves:
        raise PlacementError(
            "the reassignments under way are not known (Kafka before 2.4, or no answer): a plan could cancel them"
        )
    names = hosts_of(cluster, kafka)
    registered = {row.id: row for row in kafka.brokers}
    doubted = {row.broker for row in kafka.doubts}
    holders = {one for row in kafka.partitions for one in (*row.replicas, *row.adding)}
    brokers = []
    for one in sorted({*names, *registered, *holders}):
        row, host = registered.get(one), names.get(one, "")
        of = seen.get(host, NOT_ASKED)
        brokers.append(Broker(
            one, host or (row.host if row else ""), row.rack if row else "", _log_dirs(kafka, one, of.mounts),
            row is not None and not row.fenced and one not in doubted, of.critical, of.unknown,
            of.network_bytes_per_s or None,
        ))  # fmt: skip
    notes = (*kafka.untold, *(f"broker {row.broker}: {row.why}" for row in kafka.doubts))
    partitions = tuple(_partition(kafka, row) for row in kafka.partitions)
    found = Snapshot(cluster.name, kafka.cluster_id, at, tuple(brokers), partitions, notes)
    check(found)
    return found


def hosts_of(cluster: Cluster, kafka: KafkaFacts) -> dict[int, str]:
    """The host of each broker: by the inventory's broker_id, else by the name or address it registered with."""
    brokers = {host.name for host in cluster.hosts if "broker" in host.roles}  # a controller has an id, too
    found = {number: name for name, number in cluster.broker_ids.items() if name in brokers}
    for row in kafka.brokers:
        same = [host.name for host in cluster.hosts if whole_names_of(host) & whole_names_in(row)]
        if row.id not in found and len(same) == 1:
            found[row.id] = same[0]
    return found


def _partition(kafka: KafkaFacts, row: Any) -> Partition:
    places = [kafka.replicas.get((row.topic, row.number, one), ("", None)) for one in row.replicas]
    return Partition(
        row.topic, row.number, row.replicas, row.isr, row.leader, tuple(size for _path, size in places),
        tuple(path for path, _size in places), (*row.adding, *row.removing),
    )  # fmt: skip


def _log_dirs(kafka: KafkaFacts, broker: int, mounts: Sequence[str]) -> tuple[LogDir, ...]:
    found = [row for row in kafka.log_dirs or () if row.broker == broker]
    untold = [row.path for row in found if not row.error and (row.total_bytes is None or row.usable_bytes is None)]
    if untold:
        raise PlacementError(
            f"broker {broker} does not report the size of {untold[0]}: brokers before Kafka 3.3 do not; a plan needs it"
        )
    return tuple(
        LogDir(row.path, row.total_bytes or 0, row.usable_bytes or 0, row.error, _mount_of(row.path, mounts))
        for row in found
    )


def _mount_of(path: str, mounts: Sequence[str]) -> str:
    """The data mount that a log dir lies on; empty where none is above it."""
    above = [one for one in mounts if path == one or path.startswith(one.rstrip("/") + "/")]
    return max(above, key=len, default="")
