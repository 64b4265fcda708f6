"""Is any disk much slower than its peers?

A failing disk often slows down long before SMART reports an error, and one slow disk slows its whole broker.
Each disk is compared with the disks of its model in this cluster (of its kind, rotating or solid-state, where there
are too few of its model), and only when it had I/O. Averages are since the last run on each host.

Warning: reads or writes take 3 times the median of the peers, are 5 robust deviations above it, and are slower by
10 ms (2 ms on a solid-state disk). When most disks of one host are slow, the host is named, not the disks.

Unknown: no disk data from a host. (A busy disk with too few peers to compare with, as in a cluster of three
machines with one array each, is named and is not a fault: skipped where that holds for all.)

Ok again: in the first run in which it is as fast as its peers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from agent.status import combine, skipped, warning
from inventory.names import some
from smoketests.cluster import statistics
from smoketests.cluster.view import ClusterFinding, ClusterView, Told, told, untold

LIMITS = {
    "times_median_warning": 3,
    "score_warning": 5,
    "rotational_slower_ms_warning": 10,
    "solid_state_slower_ms_warning": 2,
    "min_ios": 100,
    "min_utilisation_percent": 2,
    "min_peers": 4,
    "host_share_percent": 60,
}
PLAYBOOK = "replace-jbod-disk"
# a deviation below this share of the median is noise, not agreement
LEAST_SPREAD = 0.1
LEAST_MS = 0.01


class Latency(NamedTuple):
    disk: str
    model: str
    rotational: bool
    reads: int
    writes: int
    r_await_ms: float | None
    w_await_ms: float | None
    utilisation_percent: float


READS = {"disk_latency": Latency}
Disk = Told[Latency]


class Slow(NamedTuple):
    """One disk, one direction: what it took and what its peers take."""

    disk: Disk
    what: str
    ms: float
    peers_ms: float
    score: float


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    disks = told(view, "disk_latency", Latency)
    verdicts = untold(view, "disk_latency", view.hosts, {disk.host.name for disk in disks})
    busy = [disk for disk in disks if disk.facts.utilisation_percent >= limits["min_utilisation_percent"]]
    slow: list[Slow] = []
    alone: list[str] = []
    compared = 0
    for what in ("reads", "writes"):
        working = [disk for disk in busy if _ms(disk, what) is not None and _count(disk, what) >= limits["min_ios"]]
        usual = _usual(working, what, limits["min_peers"])
        for disk in working:
            peers = usual.get(_model(disk)) or usual.get(_kind(disk))
            if peers:
                slow += _compared(disk, what, peers, limits)
                compared += 1
            else:
                alone.append(f"{disk.item} of {disk.host.name}")
    too_few = f"too few peers to compare with: {some(sorted(set(alone)), 3)}" if alone else ""
    if alone and not compared:
        verdicts.append(skipped(too_few))
    whole_hosts, of_disks = _by_host(slow, busy, limits)
    healthy = f"{len(busy)} of {len(disks)} disks are at work, " + (too_few or "each is compared with its peers")
    facts = {"disks": len(disks), "compared": len(busy)}
    return [*whole_hosts, *of_disks, ClusterFinding("disks", combine(verdicts, healthy), facts)]


def _ms(disk: Disk, what: str) -> float | None:
    return disk.facts.r_await_ms if what == "reads" else disk.facts.w_await_ms


def _count(disk: Disk, what: str) -> int:
    return disk.facts.reads if what == "reads" else disk.facts.writes


def _kind(disk: Disk) -> str:
    return "rotational" if disk.facts.rotational else "solid_state"


def _model(disk: Disk) -> str:
    return f"{_kind(disk)} {disk.facts.model}" if disk.facts.model else ""


def _usual(working: Sequence[Disk], what: str, least: int) -> dict[str, tuple[float, float]]:
    """Median and deviation of each model, and of each kind, that has so many others to compare one with."""
    groups: dict[str, dict[str, list[float]]] = {}
    for disk in working:
        for group in filter(None, (_model(disk), _kind(disk))):
            groups.setdefault(group, {}).setdefault(disk.host.name, []).append(_ms(disk, what) or 0.0)
    each = {name: _fair(of_hosts) for name, of_hosts in groups.items()}
    return {name: (median(ms), statistics.deviation(ms)) for name, ms in each.items() if len(ms) > least}


def _fair(of_hosts: Mapping[str, Sequence[float]]) -> list[float]:
    """What the disks took, of no host more disks than half of the hosts have: one that tells of a thousand disks does
    not decide what is usual.
    """
    counts = sorted(map(len, of_hosts.values()))
    most = counts[(len(counts) - 1) // 2]
    middles = ((sorted(ms), max(len(ms) - most, 0) // 2) for ms in of_hosts.values())
    return [one for ms, skip in middles for one in ms[skip : skip + most]]


def _compared(disk: Disk, what: str, peers: tuple[float, float], limits: Mapping[str, Any]) -> list[Slow]:
    ms, (middle, deviation) = _ms(disk, what) or 0.0, peers
    score = (ms - middle) / max(deviation, middle * LEAST_SPREAD, LEAST_MS)
    is_slow = (
        ms >= limits["times_median_warning"] * middle
        and score >= limits["score_warning"]
        and ms - middle >= limits[f"{_kind(disk)}_slower_ms_warning"]
    )
    return [Slow(disk, what, ms, middle, round(score, 1))] if is_slow else []


def _by_host(
    slow: Sequence[Slow], busy: Sequence[Disk], limits: Mapping[str, Any]
) -> tuple[list[ClusterFinding], list[ClusterFinding]]:
    """Hosts of which most disks are slow (their controller, or their load), and the single disks of the others."""
    whole, single = [], []
    at_work = Counter(disk.host.name for disk in busy)
    of_host: dict[str, list[Slow]] = {}
    for one in slow:
        of_host.setdefault(one.disk.host.name, []).append(one)
    for name, here in sorted(of_host.items()):
        of_item: dict[str, list[Slow]] = {}
        for one in here:
            of_item.setdefault(one.disk.item, []).append(one)
        items = sorted(of_item)
        working = at_work[name]
        if len(items) > 2 and len(items) * 100 >= working * limits["host_share_percent"]:
            whole.append(_host_finding(name, items, working, here))
        else:
            single += [_disk_finding(of_item[item]) for item in items]
    return whole, single


def _host_finding(name: str, items: Sequence[str], working: int, here: Sequence[Slow]) -> ClusterFinding:
    worst = max(here, key=lambda one: one.score)
    said = (
        f"{len(items)} of {working} disks of {name} are slow at once, {worst.what} up to {worst.ms:.0f} ms where peers "
        f"take {worst.peers_ms:.0f} ms: its controller, its backplane or its load, not one disk"
    )
    return ClusterFinding(f"disks of {name}", warning(said, "hung-disk"), {"disks": list(items)}, name)


def _disk_finding(here: Sequence[Slow]) -> ClusterFinding:
    disk = here[0].disk
    said = " and ".join(f"{one.what} take {one.ms:.1f} ms where its peers take {one.peers_ms:.1f} ms" for one in here)
    worst = max(here, key=lambda one: one.score)
    facts = {"what": worst.what, "ms": worst.ms, "peers_ms": round(worst.peers_ms, 2), "score": worst.score}
    playbook = "replace-raid10-disk" if disk.host.layout == "raid10" else PLAYBOOK
    return ClusterFinding(disk.item, warning(f"{disk.facts.disk}: {said}", playbook), facts, disk.host.name)
