"""Hosts and drives as shared_fate sees them: what is wrong with each, and which parts it shares with others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agent.status import CRITICAL, OK, SKIPPED, UNKNOWN, WARNING
from inventory.model import Host
from smoketests.cluster.view import ClusterView, Told, findings, told

# A kind of problem, in the words of the finding -> the host checks that show it.
HOST_KINDS: Mapping[str, tuple[str, ...]] = {
    "hosts without an answer": (),
    "hosts with power problems": ("power",),
    "hosts with temperature or fan problems": ("cooling",),
    "hosts with network problems": ("nic_link", "nic_resets"),
    "hosts with disk problems": ("smart", "raid", "mounts", "disk_errors"),
    "hosts with memory errors": ("memory_errors",),
    "hosts with chassis problems": ("chassis",),
}
DISK_KIND = "disks with problems"
UNREACHED = "hosts without an answer"

# pci-0000:03:00.0-ata-4   pci-0000:3b:00.0-scsi-0:0:4:0
PCI = re.compile(r"pci-([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9])")

# a host with so many times the drives of its like is left out
TIMES_USUAL = 4


class Drive(NamedTuple):
    """What is read of smart."""

    model: str
    firmware: str
    slot: str
    path: str


class HostFate(NamedTuple):
    host: Host
    problems: frozenset[str]


class DriveFate(NamedTuple):
    """batch: model and firmware. controller: host and what the disk hangs on."""

    problem: bool
    model: str
    batch: str
    controller: str


class Part(NamedTuple):
    """Something that several have in common."""

    name: str
    members: frozenset[str]


def answered(view: ClusterView, host: Host) -> bool:
    return host.name in view.reports and bool(view.reports[host.name].report.findings)


def of_hosts(view: ClusterView) -> dict[str, HostFate]:
    """Each host with the kinds of problem that it has. One that did not answer has that problem, others unseen."""
    bad: dict[str, set[str]] = {host.name: set() for host in view.hosts}
    for kind, checks in HOST_KINDS.items():
        for check in checks:
            for host, row in findings(view, check):
                if row.get("status") in (WARNING, CRITICAL):
                    bad[host.name].add(kind)
    for host in view.hosts:
        report = view.reports.get(host.name)
        if report is not None and report.reach.status == UNKNOWN and not report.report.findings:
            bad[host.name].add(UNREACHED)
    return {host.name: HostFate(host, frozenset(bad[host.name])) for host in view.hosts}


def host_parts(hosts: Mapping[str, HostFate]) -> list[Part]:
    """Racks, drawers and feeds with two hosts or more; a drawer is one of its rack."""
    shared: dict[str, list[str]] = {}
    for name, fate in hosts.items():
        host = fate.host
        drawer = f"drawer {host.drawer}" + (f" of rack {host.rack}" if host.rack else "")
        for said, part in ((host.rack, f"rack {host.rack}"), (host.drawer, drawer),
                           (host.power_feed, f"power feed {host.power_feed}")):  # fmt: skip
            if said:
                shared.setdefault(part, []).append(name)
    return _parts(shared)


def of_drives(view: ClusterView) -> dict[str, DriveFate]:
    """Each drive that tells its model, by host and serial; what SMART could not judge is no drive with a problem."""
    told_of: Sequence[Told[Drive]] = told(view, "smart", Drive)
    rows = [row for row in told_of if row.status != SKIPPED and row.facts.model]
    counts = Counter(row.host.name for row in rows)
    most = TIMES_USUAL * _usual_count(view.hosts, counts)
    return {f"{row.host.name} {row.item}": _drive(row) for row in rows if counts[row.host.name] <= most}


def _usual_count(hosts: Sequence[Host], counts: Mapping[str, int]) -> int:
    """How many drives a host has, where half of those of its roles and layout have no more; of the kind with the most.

    One host that tells of a thousand drives would decide for all; so a kind of which there is only one does not count,
    unless there is no other.
    """
    kinds: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for host in hosts:
        if host.name in counts:
            kinds.setdefault((host.roles, host.layout), []).append(counts[host.name])
    several = [kind for kind in kinds.values() if len(kind) > 1]
    each = several or [[count for kind in kinds.values() for count in kind] or [0]]
    return max(sorted(kind)[(len(kind) - 1) // 2] for kind in each)


def _drive(row: Told[Drive]) -> DriveFate:
    facts = row.facts
    firmware = f" firmware {facts.firmware}" if facts.firmware else ""
    pci = PCI.search(facts.slot)
    port = f"controller {pci[1]}" if pci else f"controller {facts.path.partition(' ')[0]}" if " " in facts.path else ""
    problem = row.status not in (OK, UNKNOWN, SKIPPED)
    return DriveFate(problem, facts.model, f"{facts.model}{firmware}", f"{port} of {row.host.name}" if port else "")


def drive_parts(drives: Mapping[str, DriveFate]) -> list[Part]:
    shared: dict[str, list[str]] = {}
    for name, drive in drives.items():
        for part in dict.fromkeys((f"drives {drive.model}", f"drives {drive.batch}", drive.controller)):
            if part:
                shared.setdefault(part, []).append(name)
    return _parts(shared)


def _parts(shared: Mapping[str, list[str]]) -> list[Part]:
    return [Part(name, frozenset(members)) for name, members in sorted(shared.items()) if len(members) > 1]
