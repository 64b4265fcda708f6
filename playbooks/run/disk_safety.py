"""The last check before data is destroyed: the disk is the one in the plan, and nothing uses it."""

from __future__ import annotations

from collections.abc import Iterator

from agent.host import CannotTell
from playbooks.fact_schema import Fact
from playbooks.facts import blocks, disks
from playbooks.facts.blocks import Block
from playbooks.view import View

# what makes a disk part of something that is not mounted itself
MEMBERS = ("linux_raid_member", "isw_raid_member", "ddf_raid_member", "LVM2_member", "crypto_LUKS", "zfs_member",
           "bcache", "ceph_bluestore", "drbd", "mpath_member", "VMFS_volume_member", "swap")  # fmt: skip
# fields that name a device, with the field that tells which disk that is
DEVICES = {"device": "serial", "partition": "serial", "member": "serial", "disk": "serial",
           "partner_device": "partner_serial", "partner": "partner_serial"}  # fmt: skip


def refusals(view: View, target: Fact, old: Fact | None, untouched: bool) -> list[str]:
    """Why the disk of a fact must not be written to, a sentence each; none if it may. view: one without memory.

    old: the disk that it replaces. untouched: nothing of ours was written to it yet, so it must be empty.
    """
    try:
        return list(_refusals(view, target, old, untouched))
    except CannotTell as error:
        return [f"cannot check the disk: {error}"]


def _refusals(view: View, target: Fact, old: Fact | None, untouched: bool) -> Iterator[str]:
    device, serial = target.words("device"), target.words("serial")
    found = [disk for disk in blocks.disks(view, fresh=True) if disk.device == device]
    if not device or len(found) != 1:
        yield f"disk {device or '(unknown)'} no longer exists"
        return
    disk = found[0]
    if not serial or disk.serial != serial:
        yield f"{device} has serial {disk.serial or '(unknown)'}, the plan is for serial {serial or '(unknown)'}"
    yield from _in_use(view, disk)
    if old and disk.size_bytes < int(old.words("size_bytes") or 0):
        yield f"{device} has {disk.size_bytes} bytes, the disk to be replaced has {old.words('size_bytes')}"
    if untouched and target.kind == "empty-disk" and not disk.children:
        there = disks.signatures(view, device)
        if there:
            yield f"{device} is no longer empty: {', '.join(there)}"


def _in_use(view: View, disk: Block) -> Iterator[str]:
    for one in disk.tree():
        if one.mounts:
            yield f"{one.device} is mounted at {', '.join(one.mounts)}"
        if one.fstype in MEMBERS:
            yield f"{one.device} is a {one.fstype}"
        if one is not disk and one.type != "part":
            yield f"{one.device} ({one.type}) is built on it"
        for holder in _holders(view, one.name):
            yield f"{one.device} is held by {holder}"
    if disk.name in blocks.system_disks(view):
        yield f"{disk.device} is a system disk"
    for number, word in enumerate(_swaps(view)):
        if number and word in {one.device for one in disk.tree()}:
            yield f"{word} is swap"


def _holders(view: View, name: str) -> list[str]:
    try:
        return view.list_dir(f"/sys/class/block/{name}/holders")
    except CannotTell:
        return []  # a kind of device that has no such folder


def _swaps(view: View) -> list[str]:
    return [row.split()[0] for row in view.read("/proc/swaps").splitlines() if row.split()]


def moved(view: View, facts: Iterator[tuple[str, Fact, str]]) -> list[str]:
    """Devices that are another disk now than the facts say. facts: need, fact and the field that a command names.

    A device that is gone is no other disk: the command says what it makes of that.
    """
    found = []
    for need, fact, field in facts:
        serial = fact.words(DEVICES.get(field, ""))
        device = fact.words(field)
        if field in DEVICES and serial and device:
            now = blocks.disk_of(view, device.rpartition("/")[2])
            if now and now.serial != serial:
                found.append(f"{need}.{field} {device} now has serial {now.serial or '(unknown)'}, had {serial}")
    return list(dict.fromkeys(found))
