"""Do several findings have one cause: a rack, a drawer, a power feed, a controller, a batch of drives?

Five brokers with one power supply out are five tickets, or one dead feed. Hosts with problems of a kind are compared
by rack, drawer and power feed, disks with problems by model, firmware and controller. Only groups that are unlikely to
be chance are reported: at random, as many problems would share a part in fewer than 1 of 10 cases.

Warning: 3 or more share a part, and chance is unlikely.

Unknown: no data from some hosts, so that a pattern may be missed.

Ok again: as soon as the findings behind it are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.status import combine, unknown, warning
from inventory.names import some
from smoketests.cluster import root_cause, shared_components
from smoketests.cluster.shared_components import DISK_KIND, HOST_KINDS, Part
from smoketests.cluster.statistics import by_chance
from smoketests.cluster.view import NO_REPORT, ClusterFinding, ClusterView

LIMITS = {"together_warning": 3, "chance_percent": 10.0, "times_elsewhere": 2.0}
READS = {"smart": shared_components.Drive}
# of these only what is wrong matters
ALSO_ASKS = (*(check for checks in HOST_KINDS.values() for check in checks), *root_cause.CHECKS)


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    hosts, drives = shared_components.of_hosts(view), shared_components.of_drives(view)
    found: dict[tuple[str, frozenset[str]], list[tuple[Part, float]]] = {}
    for kind, affected, everyone, parts in (*_host_kinds(hosts), *_drive_kinds(drives)):
        for part in parts:
            chance = _chance(affected, everyone, part, len(parts), limits)
            if chance is not None:
                found.setdefault((kind, frozenset(affected & part.members)), []).append((part, chance))
    findings = [_finding(kind, affected, parts) for (kind, affected), parts in found.items()]
    silent = [host.name for host in view.hosts if not shared_components.answered(view, host)]
    verdicts = [unknown(f"cannot tell for {some(silent)}: {NO_REPORT}")] if silent else []
    said = f"{len(hosts)} hosts and {len(drives)} disks: no problems that share a part"
    if findings:
        said = f"{len(findings)} groups of problems share a part"
    facts = {"hosts": len(hosts), "disks": len(drives), "groups": len(findings)}
    return [*findings, *root_cause.judge(view), ClusterFinding("all", combine(verdicts, said), facts)]


def _host_kinds(
    hosts: Mapping[str, shared_components.HostFate],
) -> list[tuple[str, frozenset[str], frozenset[str], list[Part]]]:
    everyone = frozenset(hosts)
    parts = shared_components.host_parts(hosts)
    return [(kind, frozenset(name for name in hosts if kind in hosts[name].problems), everyone, parts)
            for kind in HOST_KINDS]  # fmt: skip


def _drive_kinds(
    drives: Mapping[str, shared_components.DriveFate],
) -> list[tuple[str, frozenset[str], frozenset[str], list[Part]]]:
    everyone = frozenset(drives)
    affected = frozenset(name for name, drive in drives.items() if drive.problem)
    return [(DISK_KIND, affected, everyone, shared_components.drive_parts(drives))]


def _chance(
    affected: frozenset[str], everyone: frozenset[str], part: Part, tried: int, limits: Mapping[str, Any]
) -> float | None:
    """The chance of it, times the number of parts that could have shown it; None if it is not worth a word."""
    here = len(affected & part.members)
    others = len(everyone) - len(part.members)
    if here < limits["together_warning"] or not others:
        return None
    elsewhere = (len(affected) - here) / others
    if here / len(part.members) < limits["times_elsewhere"] * elsewhere:
        return None
    chance = by_chance(here, len(part.members), len(affected), len(everyone)) * tried
    return chance if chance * 100 <= limits["chance_percent"] else None


def _finding(kind: str, affected: frozenset[str], parts: Sequence[tuple[Part, float]]) -> ClusterFinding:
    """Parts with the very same problems are told together: which of them it is, nobody can tell from here."""
    names = [part.name for part, _chance in parts]
    whole = max(len(part.members) for part, _chance in parts)
    chance = min(chance for _part, chance in parts)
    said = (
        f"{len(affected)} {kind} share {' and '.join(names[:3])} ({len(affected)} of the {whole} there; by chance "
        f"once in {min(1 / chance, 1e6):.0f}): {some(sorted(affected))}"
    )
    facts = {"kind": kind, "parts": names, "affected": sorted(affected)[:100], "chance": chance}
    return ClusterFinding(", ".join(names[:3]), warning(said), facts)
