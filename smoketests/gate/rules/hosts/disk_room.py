"""Is there room for what must move, on each disk that would receive it?

A disk of a JBOD broker that is replaced: its partitions go to the broker's other log dirs when it is taken out of
log.dirs, each to the one with the fewest partitions, whatever its room. A broker that is decommissioned: its partitions
go to the others as the playbook would move them (smoketests/gate/receivers.py): by bytes, free room and rack. Log dirs
of one file system share its room. For a failed log dir, the other replicas give the size that must move; where Kafka
reports no size (before 3.3), the machine does.

Failed: a disk would be more than 80 % full then, or has no room for the largest partition; a partition has no place.

Cannot tell: neither Kafka nor the machine reports a log dir's size, or no replica that of a partition in a failed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.host import CannotTell, NotApplicable
from agent.status import count_of, critical
from inventory.names import some
from smoketests.cluster.view import findings, told
from smoketests.gate import formatting, receivers
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION, REPLACE_DISK
from smoketests.gate.receivers import Disk
from smoketests.gate.replaced_disk import below, disk_below, is_seen, mounts_of, smart_of

if TYPE_CHECKING:
    from inventory.model import Host
    from smoketests.readers.kafka.cluster import LogDir

LIMITS: Mapping[str, Any] = {"used_percent": 80}
PURPOSES = (REPLACE_DISK, DECOMMISSION)
WHEN = ("before",)
CHECKS = ("smart", "mounts", "disk_usage")
GB = 1e9
# more than that are moved as so many equal parts
MOST_PARTITIONS = 2000


class Usage(NamedTuple):
    """What is read of disk_usage."""

    path: str
    data: bool
    free_bytes: int
    total_bytes: int


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    formatting.held(situation)  # raises where no broker leaves
    if situation.kafka.log_dirs is None:
        raise CannotTell("; ".join(situation.kafka.untold) or "no log-dir data from Kafka")
    moving, staying = _split(situation, situation.kafka.log_dirs)
    disks = _disks(situation, staying)
    before = [disk.percent() for disk in disks]
    if situation.purpose == DECOMMISSION:
        return _of_broker(situation, disks, before, limits["used_percent"])
    return _on_others(situation, moving, disks, limits["used_percent"])


def _of_broker(situation: GateContext, disks: list[Disk], before: Sequence[float], most: float) -> RuleResult:
    """As the playbook would move them; a disk that takes nothing may be as full as it is."""
    brokers = list(situation.registered)
    try:
        moves = receivers.place(situation.partitions, brokers, situation.leaving_ids, disks, most)
    except receivers.NoPlace as error:
        return ruled([critical(str(error))], "", room=_evidence(situation, disks, before))
    moved = sum(row.size_bytes or 0 for row in moves)
    untold = [row.name for row in moves if row.size_bytes is None]
    if untold:
        raise CannotTell(f"size of {some(untold, 3)}: not reported by any broker")
    taken = [disk for disk, percent in zip(disks, before) if disk.percent() > percent]
    fullest = max(taken or disks, key=Disk.percent, default=None)
    then = (
        f"; the fullest that takes some is {_on(situation, fullest)} with {fullest.percent():.0f} %" if fullest else ""
    )
    said = f"{count_of(len(moves), 'replica')} and {moved / GB:.1f} GB move to {count_of(len(taken), 'disk')}{then}"
    return ruled([], said, moved_bytes=moved, room=_evidence(situation, disks, before))


def _on_others(situation: GateContext, moving: Sequence[LogDir], disks: list[Disk], most: float) -> RuleResult:
    """The broker's other disks: Kafka gives each partition to the one with the fewest, and looks at no room."""
    before = [disk.percent() for disk in disks]
    moved = sum(row.replicas_bytes for row in moving) + _in_failed(situation, moving)
    ours = situation.leaving_ids
    count = max(
        sum(row.replicas for row in moving), len([1 for row in situation.partitions if ours & {*row.offline}]), 1
    )
    largest = max((row.size_bytes or 0 for row in situation.partitions if ours & {*row.replicas}), default=0)
    for _one in range(min(count, MOST_PARTITIONS)):
        min(disks, key=lambda disk: disk.replicas).take(moved // min(count, MOST_PARTITIONS))
    full = [disk for disk in disks if disk.percent() > most]
    free = [(disk.total or 0) * (1 - percent / 100) for disk, percent in zip(disks, before)]
    tight = [disk for disk, room in zip(disks, free) if disk.total and min(largest, moved) > room]
    verdicts = []
    if full:
        rows = [f"{_on(situation, disk)} would be {disk.percent():.0f} % full" for disk in full]
        verdicts.append(critical(f"{moved / GB:.1f} GB move: {some(rows, 3)}, limit {most} %"))
    if tight and not full:
        rows = [_on(situation, disk) for disk in tight]
        verdicts.append(critical(f"the largest partition ({largest / GB:.1f} GB) does not fit on {some(rows, 3)}"))
    fullest = max(disks, key=Disk.percent)
    said = f"{moved / GB:.1f} GB move to {count_of(len(disks), 'disk')}, the fullest would be {_on(situation, fullest)}"
    said += f" with {fullest.percent():.0f} %"
    return ruled(verdicts, said, moved_bytes=moved, room=_evidence(situation, disks, before))


def _on(situation: GateContext, disk: Disk) -> str:
    return f"{disk.path} of {situation.broker(disk.broker)}"


def _evidence(situation: GateContext, disks: Sequence[Disk], before: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {
            "broker": disk.broker,
            "path": disk.path,
            "percent": round(percent, 1),
            "percent_then": round(disk.percent(), 1),
        }
        for disk, percent in list(zip(disks, before))[:200]
    ]


def _disks(situation: GateContext, rows: Sequence[LogDir]) -> list[Disk]:
    """The file systems of these log dirs, each once; CannotTell where neither Kafka nor the machine tells its size."""
    mounts = {
        (mount.host.name, mount.facts.path): mount.facts
        for mount in told(situation.view, "disk_usage", Usage)
        if mount.facts.data
    }
    found: dict[tuple[object, ...], Disk] = {}
    bad = []
    for row in rows:
        host = situation.broker_names.get(row.broker, "")
        paths = [path for name, path in mounts if name == host and below(row.path, [path])]
        path = max(paths, key=len, default="")
        room = _room(row, mounts.get((host, path)))
        if room is None:
            bad.append(row)
            continue
        # no mount is known: the same size and the same free room are one file system, as for receivers.disks_of
        key = (row.broker, path) if path else (row.broker, row.total_bytes, row.usable_bytes)
        disk = found.setdefault(key, Disk(row.broker, path or row.path, *room, 0, 0))
        disk.kept += row.replicas_bytes
        disk.replicas += row.replicas
    if bad:
        raise CannotTell(
            f"usage of {some([_name(situation, row) for row in bad], 3)}: {bad[0].error or 'not reported'}"
        )
    return list(found.values())


def _room(row: LogDir, mount: Usage | None) -> tuple[int, int] | None:
    """Its size, and how much of it is used, in bytes."""
    if row.error:
        return None
    if row.total_bytes is not None and row.usable_bytes is not None:
        return row.total_bytes, row.total_bytes - row.usable_bytes
    return (mount.total_bytes, mount.total_bytes - mount.free_bytes) if mount else None


def _in_failed(situation: GateContext, moving: Sequence[LogDir]) -> int:
    """Bytes of the partitions in log dirs that have failed, which tell nothing any more: as large as elsewhere."""
    brokers = {row.broker for row in moving if row.error}
    sizes = {row.name: row.size_bytes for row in situation.partitions if brokers & set(row.offline)}
    untold = [name for name, size in sizes.items() if size is None]
    if untold:
        raise CannotTell(f"size of {some(untold, 3)} in a failed log dir: not reported by any other replica")
    return sum(size or 0 for size in sizes.values())


def _split(situation: GateContext, rows: Sequence[LogDir]) -> tuple[list[LogDir], list[LogDir]]:
    """The log dirs of which the partitions move, and those that may take them."""
    ours = situation.leaving_ids
    untold = ours - {row.broker for row in rows}
    if untold:
        raise CannotTell(f"no log-dir data from {formatting.brokers(situation, untold)}")
    if situation.purpose == DECOMMISSION:
        missing = {row.id for row in situation.registered} - {row.broker for row in rows}
        if missing:
            raise CannotTell(f"no log-dir data from {formatting.brokers(situation, missing)}")
        return _of(rows, ours), [row for row in rows if row.broker not in ours]
    return _of_disk(situation, _of(rows, ours))


def _of(rows: Iterable[LogDir], brokers: frozenset[int]) -> list[LogDir]:
    return [row for row in rows if row.broker in brokers]


def _of_disk(situation: GateContext, rows: Sequence[LogDir]) -> tuple[list[LogDir], list[LogDir]]:
    """The log dirs on the disk, and the broker's others; NotApplicable where there are no others."""
    (host,) = situation.leaving
    disk = situation.maintenance.disk
    mounts = mounts_of(situation.view, host, disk)
    if not mounts and _all_elsewhere(situation, host, disk):
        raise NotApplicable(f"no data mount of {host.name} is on the disk {disk}")
    if not mounts:
        raise CannotTell(f"which mount of {host.name} is on the disk {disk}")
    here = [row for row in rows if below(row.path, mounts)]
    others = [row for row in rows if row not in here]
    if not here:
        raise NotApplicable(f"no log dir is on {', '.join(mounts)}")
    if not others:
        raise NotApplicable("the broker's only log dir: its partitions wait for the new disk")
    return here, others


def _all_elsewhere(situation: GateContext, host: Host, disk: str) -> bool:
    """Whether the machine shows this disk, and under each of its data mounts another one."""
    paths = [str(row.get("item")) for _host, row in findings(situation.view, "mounts", (host,))]
    seen = smart_of(situation.view, host, disk)
    return bool(seen and is_seen(seen) and paths) and all(disk_below(situation.view, host, path) for path in paths)


def _name(situation: GateContext, row: LogDir) -> str:
    return f"{row.path} of {situation.broker(row.broker)}"
