"""Is there room for what must move, on the disks that stay?

A disk of a JBOD broker that is replaced: its partitions go to the broker's other log dirs when it is taken out of
log.dirs (Cruise Control's rule for removing disks). A broker that is decommissioned: its partitions go to the others.

Log dirs of one file system share its room. Of a log dir that has failed, the other replicas tell how much must move;
where Kafka tells no size (before 3.3), the machine does.

Failed: what is used altogether is more than 80 % of what stays.

Cannot tell: neither Kafka nor the machine tells a log dir's size, or nobody that of a partition in a failed one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.status import critical
from smoketests.cluster.view import CannotTell, NotAsked, findings, some, told
from smoketests.gate import wording
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION, REPLACE_DISK
from smoketests.gate.replaced_disk import below, disk_below, is_seen, mounts_of, smart_of
from smoketests.gate.situation import Situation

if TYPE_CHECKING:
    from inventory.model import Host
    from smoketests.readers.kafka import LogDir

LIMITS: Mapping[str, Any] = {"used_percent": 80}
PURPOSES = (REPLACE_DISK, DECOMMISSION)
WHEN = ("before",)
CHECKS = ("smart", "mounts", "disk_usage")
FINAL = ""
GB = 1e9


class Usage(NamedTuple):
    """What is read of disk_usage."""

    path: str
    data: bool
    free_bytes: int
    total_bytes: int


class Room(NamedTuple):
    """A file system, in bytes."""

    total: int
    used: int


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    wording.held(situation)  # raises where no broker leaves
    if situation.kafka.log_dirs is None:
        raise CannotTell("; ".join(situation.kafka.untold) or "Kafka did not tell its log dirs")
    moving, staying = _split(situation, situation.kafka.log_dirs)
    rooms = _rooms(situation, staying)
    total, used = sum(room.total for room in rooms), sum(room.used for room in rooms)
    moved = sum(row.replicas_bytes for row in moving) + _in_failed(situation, moving)
    percent = 100 * (used + moved) / max(total, 1)
    most = limits["used_percent"]
    sums = f"{used / GB:.1f} GB used and {moved / GB:.1f} GB more"
    said = f"{len(staying)} log dirs stay: {sums} are {percent:.0f} % of {total / GB:.1f} GB"
    evidence = {"moved_bytes": moved, "used_bytes": used, "total_bytes": total, "percent": round(percent, 1)}
    verdicts = [critical(f"{said}, should be at most {most} %")] if percent > most else []
    return ruled(verdicts, said, **evidence)


def _rooms(situation: Situation, rows: Sequence[LogDir]) -> Collection[Room]:
    """The file systems of these log dirs, each once; CannotTell where neither Kafka nor the machine tells its size."""
    mounts = {
        (mount.host.name, mount.facts.path): mount.facts
        for mount in told(situation.view, "disk_usage", Usage)
        if mount.facts.data
    }
    rooms, bad = {}, []
    for row in rows:
        host = situation.broker_names.get(row.broker, "")
        paths = [path for name, path in mounts if name == host and below(row.path, [path])]
        path = max(paths, key=len, default=row.path)
        room = _room(row, mounts.get((host, path)))
        if room is None:
            bad.append(row)
        else:
            rooms[row.broker, path] = room
    if bad:
        raise CannotTell(f"how full {some([_name(situation, row) for row in bad], 3)} is: {bad[0].error or 'not told'}")
    return rooms.values()


def _room(row: LogDir, mount: Usage | None) -> Room | None:
    if row.error:
        return None
    if row.total_bytes is not None and row.usable_bytes is not None:
        return Room(row.total_bytes, row.total_bytes - row.usable_bytes)
    return Room(mount.total_bytes, mount.total_bytes - mount.free_bytes) if mount else None


def _in_failed(situation: Situation, moving: Sequence[LogDir]) -> int:
    """Bytes of the partitions in log dirs that have failed, which tell nothing any more: as large as elsewhere."""
    brokers = {row.broker for row in moving if row.error}
    sizes = {row.name: row.size_bytes for row in situation.partitions if brokers & set(row.offline)}
    untold = [name for name, size in sizes.items() if size is None]
    if untold:
        raise CannotTell(f"how large {some(untold, 3)} in a failed log dir is: no other replica tells")
    return sum(size or 0 for size in sizes.values())


def _split(situation: Situation, rows: Sequence[LogDir]) -> tuple[list[LogDir], list[LogDir]]:
    """The log dirs of which the partitions move, and those that may take them."""
    ours = situation.leaving_ids
    untold = ours - {row.broker for row in rows}
    if untold:
        raise CannotTell(f"{wording.brokers(situation, untold)} did not tell its log dirs")
    if situation.purpose == DECOMMISSION:
        missing = {row.id for row in situation.registered} - {row.broker for row in rows}
        if missing:
            raise CannotTell(f"{wording.brokers(situation, missing)} did not tell its log dirs")
        return _of(rows, ours), [row for row in rows if row.broker not in ours]
    return _of_disk(situation, _of(rows, ours))


def _of(rows: Iterable[LogDir], brokers: frozenset[int]) -> list[LogDir]:
    return [row for row in rows if row.broker in brokers]


def _of_disk(situation: Situation, rows: Sequence[LogDir]) -> tuple[list[LogDir], list[LogDir]]:
    """The log dirs on the disk, and the broker's others; NotAsked where there are no others."""
    (host,) = situation.leaving
    disk = situation.maintenance.disk
    mounts = mounts_of(situation, host, disk)
    if not mounts and _all_elsewhere(situation, host, disk):
        raise NotAsked(f"no data mount of {host.name} is on the disk {disk}")
    if not mounts:
        raise CannotTell(f"which mount of {host.name} is on the disk {disk}")
    here = [row for row in rows if below(row.path, mounts)]
    others = [row for row in rows if row not in here]
    if not here:
        raise NotAsked(f"no log dir is on {', '.join(mounts)}")
    if not others:
        raise NotAsked("it is the broker's only log dir: its partitions wait for the new disk")
    return here, others


def _all_elsewhere(situation: Situation, host: Host, disk: str) -> bool:
    """Whether the machine shows this disk, and under each of its data mounts another one."""
    paths = [str(row.get("item")) for _host, row in findings(situation.view, "mounts", (host,))]
    seen = smart_of(situation, host, disk)
    return bool(seen and is_seen(seen) and paths) and all(disk_below(situation, host, path) for path in paths)


def _name(situation: Situation, row: LogDir) -> str:
    return f"{row.path} of {situation.broker(row.broker)}"
