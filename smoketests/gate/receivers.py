"""Where the replicas of a broker that goes for good may go: by bytes, free room and rack. Pure.

An interim: one broker is drained, nothing else is moved. The largest partitions choose first, each the disk that would
be the least full with it; a broker puts a new partition into its log dir with the fewest, so that one must have room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import SmokeError

if TYPE_CHECKING:
    from inventory.model import Cluster
    from smoketests.readers.kafka.model import LogDir, Partition
    from smoketests.readers.zookeeper.ensemble import Registered

MOST_PERCENT = 80.0
GB = 1e9


def limit_of(cluster: Cluster) -> float:
    """How full a disk may be made, in percent: as the inventory has it for the gate's rule disk_room."""
    return float(cluster.limits.get("gate_disk_room", {}).get("used_percent", MOST_PERCENT))


class NoPlace(SmokeError):
    """A replica has no place; the message says which and why."""


@dataclass
class Disk:
    """A file system of a broker with its log dirs. total, used: bytes; total is None where nobody tells it."""

    broker: int
    path: str
    total: int | None
    used: int
    kept: int
    replicas: int

    def percent(self, more: int = 0) -> float:
        """How full it would be; 0 where its size is not known."""
        return 100 * (self.used + more) / self.total if self.total else 0.0

    def take(self, size: int) -> None:
        self.used += size
        self.kept += size
        self.replicas += 1


def disks_of(rows: Iterable[LogDir]) -> list[Disk]:
    """The disks that Kafka tells of; log dirs of one broker with the same size and the same free room share one."""
    found: dict[tuple[object, ...], Disk] = {}
    for row in rows:
        if row.error:
            continue
        told = row.total_bytes is not None and row.usable_bytes is not None
        key = (row.broker, row.total_bytes, row.usable_bytes) if told else (row.broker, row.path)
        if key in found:
            found[key].kept += row.replicas_bytes
            found[key].replicas += row.replicas
        else:
            used = (row.total_bytes or 0) - (row.usable_bytes or 0) if told else row.replicas_bytes
            total = row.total_bytes if told else None
            found[key] = Disk(row.broker, row.path, total, used, row.replicas_bytes, row.replicas)
    return list(found.values())


def place(
    partitions: Sequence[Partition], brokers: Sequence[Registered], leaving: Collection[int], disks: Sequence[Disk],
    most_percent: float = MOST_PERCENT,
) -> dict[Partition, tuple[int, ...]]:  # fmt: skip
    """Each partition of the leaving brokers with its replicas then; the disks are filled on the way. NoPlace.

    Every partition lies in as many racks as before. disks: of the brokers that stay; a broker of which none is known
    takes nothing where the others' are known.
    """
    racks = {one.id: one.rack for one in brokers}
    alive = [one.id for one in brokers if not one.fenced and one.id not in leaving]
    of = {broker: [disk for disk in disks if disk.broker == broker] for broker in alive}
    counted = Counter(replica for one in partitions for replica in one.replicas)
    load = {broker: counted[broker] for broker in alive}
    if not any(of.values()):  # nobody tells of any log dir: by number alone
        of = {broker: [Disk(broker, "", None, 0, 0, load[broker])] for broker in alive}
    moves: dict[Partition, tuple[int, ...]] = {}
    rows = [one for one in partitions if set(leaving) & set(one.replicas)]
    for one in sorted(rows, key=lambda row: (-(row.size_bytes or 0), row.topic, row.number)):
        replicas = list(one.replicas)
        for position, replica in enumerate(one.replicas):
            if replica in leaving:
                replicas[position] = _receiver(one, replicas, leaving, of, racks, load, most_percent)
        moves[one] = tuple(replicas)
    return moves


def _receiver(
    one: Partition, replicas: Sequence[int], leaving: Collection[int], of: Mapping[int, Sequence[Disk]],
    racks: Mapping[int, str], load: dict[int, int], most_percent: float,
) -> int:  # fmt: skip
    """The broker whose disk is the least full then; its disk and load are changed."""
    free = [broker for broker in of if broker not in replicas]
    if not free:
        raise NoPlace(f"{one.name} has {len(one.replicas)} replicas and only {len(of)} other brokers are live")
    kept = {racks.get(replica, "") for replica in replicas if replica not in leaving}
    still = len([replica for replica in replicas if replica in leaving]) - 1
    wanted = len({racks.get(replica, "") for replica in one.replicas}) - still
    spread = [broker for broker in free if len(kept | {racks.get(broker, "")}) >= wanted]
    if not spread:
        ids = ", ".join(map(str, free))
        raise NoPlace(f"{one.name} would lie in fewer racks: none of brokers {ids} is in a rack of its own")
    size = one.size_bytes or 0
    takers = {broker: min(of[broker], key=lambda disk: (disk.replicas, disk.path)) for broker in spread if of[broker]}
    if not takers:
        raise NoPlace(f"{one.name}: no log-dir data from any broker that could take it")
    best = min(takers, key=lambda broker: (takers[broker].percent(size), takers[broker].kept, load[broker], broker))
    disk = takers[best]
    if disk.percent(size) > most_percent:
        full = f"broker {best} {disk.path} would be {disk.percent(size):.0f} % full"
        raise NoPlace(f"{one.name} ({size / GB:.1f} GB) has no room: even {full}, limit {most_percent:g} %")
    disk.take(size)
    load[best] += 1
    return best
