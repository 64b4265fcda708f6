"""Is a file system filling up?

When a data disk is full, the broker takes its log dir offline.
Warning: a data mount has 75 % of its space or of its inodes in use; `/`, or `/root` and `/var` where they are mounts
of their own, 80 %.
Critical: 85 % of a data mount, 90 % of the others.
Percent as in `df`: used / (used + available); blocks reserved for root are neither.
Unknown: the mount is missing, hangs or returns errors (see `mounts`).
Ok again: as soon as there is room. Delete or move partitions; do not delete segment files by hand.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.disks import data_mounts, file_system, mount_table
from agent.status import Verdict, combine, critical, ok, warning

LIMITS = {
    "data_percent_warning": 75,
    "data_percent_critical": 85,
    "system_percent_warning": 80,
    "system_percent_critical": 90,
}
PLAYBOOK = "full-disk"
SYSTEM_MOUNTS = ("/", "/root", "/var")
GB = 1e9


class Facts(NamedTuple):
    """data: whether this is a data mount, else one of the system's. free_bytes: for unprivileged processes."""

    path: str
    data: bool
    used_percent: float
    used_bytes: int
    free_bytes: int
    total_bytes: int
    inodes_used_percent: float
    inodes: int
    inodes_free: int


def find(host: Host) -> Sequence[str]:
    system = [path for path in SYSTEM_MOUNTS if mount_table.mount_at(host, path)]
    return [*data_mounts.paths(host), *system]


def look(host: Host, item: str) -> Facts:
    seen = file_system.usage(host, item)
    return Facts(
        path=item,
        data=item in data_mounts.paths(host),
        used_percent=file_system.percent_used(seen.used_bytes, seen.free_bytes),
        used_bytes=seen.used_bytes,
        free_bytes=seen.free_bytes,
        total_bytes=seen.total_bytes,
        inodes_used_percent=file_system.percent_used(seen.inodes - seen.inodes_free, seen.inodes_free),
        inodes=seen.inodes,
        inodes_free=seen.inodes_free,
    )


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    space = (
        f"{facts.path}: {facts.used_percent:.1f} % used, {_gb(facts.free_bytes)} of {_gb(facts.total_bytes)} GB free"
    )
    inodes = f"{facts.path}: {facts.inodes_used_percent:.1f} % of inodes used, {facts.inodes_free} free"
    kind = "data" if facts.data else "system"
    warn, alarm = limits[f"{kind}_percent_warning"], limits[f"{kind}_percent_critical"]
    verdicts = [
        _level(facts.used_percent, space, warn, alarm),
        _level(facts.inodes_used_percent, inodes, warn, alarm),
    ]
    return combine([verdict for verdict in verdicts if verdict.status != "ok"], healthy=space)


def _level(percent: float, said: str, warn: float, alarm: float) -> Verdict:
    if percent >= alarm:
        return critical(f"{said}, limit {alarm} %", PLAYBOOK)
    if percent >= warn:
        return warning(f"{said}, limit {warn} %", PLAYBOOK)
    return ok(said)


def _gb(size: int) -> str:
    return f"{size / GB:.0f}" if size >= 10 * GB else f"{size / GB:.2g}"
