"""Disks that should be there and are not, and those that are back or that another one took the place of."""

from __future__ import annotations

from typing import Dict, List, Sequence

from agent.host import CannotTell, Disk, Host, cached_per_run
from agent.sources.disks import block_devices
from agent.sources.kernel import disk_events
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel.disk_event_kinds import BACK, OFFLINE
from agent.sources.raid import controllers
from agent.sources.smart import smartctl
from agent.state import Incident


def missing(host: Host, disks: Sequence[Disk]) -> List[str]:
    """The disks of the inventory that the kernel does not show; those behind a RAID card it never does (see smart)."""
    if controllers.cards(host):
        return []
    names = {word for disk in disks for word in (disk.name, disk.path)}
    return [
        name
        for name in host.expected.disks
        if name not in names and not any(smartctl.same_disk(name, disk.serial, disk.wwn) for disk in disks)
    ]


def still_true(host: Host, subject: str, item: str) -> List[Incident]:
    """What is remembered of an item, without what its return or its replacement made untrue."""
    remembered = host.state.incidents(subject, item)
    back = max((seen.at for seen in remembered if seen.kind == BACK), default=0.0)
    swapped = swaps(host).get(item, 0.0)
    return [
        seen
        for seen in remembered
        if seen.kind != BACK and seen.at > swapped and not (seen.kind == OFFLINE and seen.at <= back)
    ]


@cached_per_run
def swaps(host: Host) -> Dict[str, float]:
    """When a disk of another serial number came in the place of the one that earlier runs saw under its name."""
    swapped = dict(host.state.cursor("disk_errors/swapped") or {})
    try:
        now = {name: disk.serial for name, disk in block_devices.disks(host).items() if disk.serial}
    except CannotTell:
        return swapped
    before = host.state.cursor("disk_errors/serials") or {}
    for name in now:
        if before.get(name, now[name]) != now[name]:
            swapped[name] = disk_events.attached_at(kernel_log.records(host), name) or host.now()
    host.state.set_cursor("disk_errors/serials", {**before, **now})
    host.state.set_cursor("disk_errors/swapped", swapped)
    return swapped
