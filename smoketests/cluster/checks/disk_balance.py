"""Are the brokers of the cluster about equally full?

Kafka places partitions by count, not by size, and never moves them: one broker's disks fill up while others idle.

Warning: 20 points or more between the fullest and the emptiest broker, over all their data mounts.

Unknown: a broker does not report the usage of its data mounts, and the others are balanced.

Ok again: as soon as they are balanced; move partitions (kafka-reassign-partitions.sh).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from agent.host import NotApplicable
from agent.status import combine, warning
from smoketests.cluster.view import ClusterFinding, ClusterView, Told, told, untold

LIMITS = {"spread_points_warning": 20}
PLAYBOOK = "full-disk"


class Usage(NamedTuple):
    data: bool
    used_bytes: int
    free_bytes: int


READS = {"disk_usage": Usage}


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    brokers = view.with_role("broker")
    if len(brokers) < 2:
        raise NotApplicable(f"{len(brokers)} brokers in this cluster, nothing to balance")
    rows: dict[str, list[Told[Usage]]] = {}
    for row in told(view, "disk_usage", Usage, brokers):
        if row.facts.data:
            rows.setdefault(row.host.name, []).append(row)
    whole = {host.name for host in brokers if _is_whole(host.mounts, rows.get(host.name, []))}
    verdicts = untold(view, "disk_usage", brokers, whole)
    percents = {name: _percent(rows[name]) for name in sorted(whole)}
    full = {name: percent for name, percent in percents.items() if percent is not None}
    if len(full) < 2:
        return [ClusterFinding("brokers", combine(verdicts, "fewer than 2 brokers report how full they are"), full)]
    fullest, emptiest = max(full, key=lambda name: full[name]), min(full, key=lambda name: full[name])
    spread = full[fullest] - full[emptiest]
    said = (
        f"{spread:.0f} points between {fullest} ({full[fullest]:.0f} % full) and {emptiest} ({full[emptiest]:.0f} %); "
        f"the median of {len(full)} brokers is {median(full.values()):.0f} %"
    )
    if spread >= limits["spread_points_warning"]:
        verdicts.append(warning(f"{said}; should be below {limits['spread_points_warning']} points", PLAYBOOK))
    facts = {"spread_points": round(spread, 1), "used_percent": {name: round(used, 1) for name, used in full.items()}}
    return [ClusterFinding("brokers", combine(verdicts, said), facts)]


def _is_whole(mounts: Sequence[Any], rows: Sequence[Told[Usage]]) -> bool:
    """Whether every data mount of the inventory told; a broker of whose mounts nothing is said must tell of one."""
    return bool(rows) and {mount.path for mount in mounts} <= {row.item for row in rows}


def _percent(rows: Sequence[Told[Usage]]) -> float | None:
    used = sum(row.facts.used_bytes for row in rows)
    free = sum(row.facts.free_bytes for row in rows)
    return 100 * used / (used + free) if used >= 0 and free >= 0 and used + free else None
