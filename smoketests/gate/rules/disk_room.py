"""Is there room for what must move, on the disks that stay?

A disk of a JBOD broker that is replaced: its partitions go to the broker's other log dirs when it is taken out of
log.dirs (Cruise Control's rule for removing disks). A broker that is decommissioned: its partitions go to the others.

Failed: what is used altogether is more than 80 % of what stays.

Cannot tell: a log dir's size is not told (Kafka before 3.3, or the dir has failed and was not seen before).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent.status import critical
from smoketests.cluster.view import CannotTell, NotAsked, some
from smoketests.gate import wording
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION, REPLACE_DISK
from smoketests.gate.replaced_disk import below, mounts_of
from smoketests.gate.situation import Situation

if TYPE_CHECKING:
    from smoketests.readers.kafka import LogDir

LIMITS: Mapping[str, Any] = {"used_percent": 80}
PURPOSES = (REPLACE_DISK, DECOMMISSION)
WHEN = ("before",)
CHECKS = ("smart", "mounts")
FINAL = ""
GB = 1e9


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    wording.held(situation)  # raises where no broker leaves
    if situation.kafka.log_dirs is None:
        raise CannotTell("; ".join(situation.kafka.untold) or "Kafka did not tell its log dirs")
    moving, staying = _split(situation, situation.kafka.log_dirs)
    bad = [row for row in staying if row.error or row.total_bytes is None or row.usable_bytes is None]
    if bad:
        raise CannotTell(f"how full {some([_name(situation, row) for row in bad], 3)} is: {bad[0].error or 'not told'}")
    total = sum(row.total_bytes or 0 for row in staying)
    used = sum((row.total_bytes or 0) - (row.usable_bytes or 0) for row in staying)
    moved = sum(row.replicas_bytes for row in moving)
    percent = 100 * (used + moved) / max(total, 1)
    most = limits["used_percent"]
    sums = f"{used / GB:.1f} GB used and {moved / GB:.1f} GB more"
    said = f"{len(staying)} log dirs stay: {sums} are {percent:.0f} % of {total / GB:.1f} GB"
    evidence = {"moved_bytes": moved, "used_bytes": used, "total_bytes": total, "percent": round(percent, 1)}
    verdicts = [critical(f"{said}, should be at most {most} %")] if percent > most else []
    return ruled(verdicts, said, **evidence)


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
    mounts = mounts_of(situation, host, situation.maintenance.disk)
    if not mounts:
        raise CannotTell(f"which mount of {host.name} is on the disk {situation.maintenance.disk}")
    here = [row for row in rows if below(row.path, mounts)]
    others = [row for row in rows if row not in here]
    if not here:
        raise NotAsked(f"no log dir is on {', '.join(mounts)}")
    if not others:
        raise NotAsked("it is the broker's only log dir: its partitions wait for the new disk")
    return here, others


def _name(situation: Situation, row: LogDir) -> str:
    return f"{row.path} of {situation.broker(row.broker)}"
