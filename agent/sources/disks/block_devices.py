"""Which physical disks carry a mount, a partition or an array: /sys/dev/block, /sys/block/*/slaves and udev's names."""

from __future__ import annotations

import os
from typing import Dict, List, Set

from agent.host import CannotTell, Disk, Host, Missing, cached_per_run
from agent.sources.disks import mount_table
from agent.sources.kafka import processes as kafka


@cached_per_run
def disks(host: Host) -> Dict[str, Disk]:
    """Every whole disk by its kernel name; CannotTell if the machine shows none at all."""
    found = {disk.name: disk for disk in host.disks()}
    if not found:
        raise CannotTell("the kernel lists no block device")
    return found


def physical(host: Host) -> List[str]:
    """The kernel names of the disks that hardware stands behind (a RAID controller's virtual disk is one)."""
    return sorted(name for name, disk in disks(host).items() if disk.kind == "physical")


def describe(host: Host, name: str) -> str:
    """A disk as a person finds it in the rack.

    For example `sdd (ST8000NM0055, serial ZA1BC2, slot pci-0000:03:00.0-ata-4)`; just the name where nothing is known.
    """
    try:
        disk = disks(host).get(name)
    except CannotTell:
        disk = None
    if disk is None:
        return name
    known = [disk.model, disk.serial and f"serial {disk.serial}", disk.slot and f"slot {disk.slot}"]
    words = ", ".join(word for word in known if word)
    return f"{name} ({words})" if words else name


def behind(host: Host, device: str) -> List[str]:
    """The disks behind a device, sorted, as kernel names: through partitions, LVM, dm-crypt, multipath and md.

    device: `8:17` as mountinfo has it, `sdb1`, or a path such as `/dev/mapper/vg-data`. A device that stands on
    nothing else is its own answer. CannotTell if there is no such device.
    """
    found = _below(host, disk_of(host, device), set())
    if not found:
        raise CannotTell(f"{device} is its own parent device")
    return sorted(found)


def stack(host: Host, device: str) -> Set[str]:
    """Every whole device that this one stands on, itself included: `dm-0`, `md0`, `sda`, `sdb`."""
    seen: Set[str] = set()
    _below(host, disk_of(host, device), seen)
    return seen


def behind_mount(host: Host, path: str) -> List[str]:
    """The disks behind the file system that is mounted exactly at `path`; CannotTell if none is."""
    return sorted({name for device in _mounted_devices(host, path) for name in behind(host, device)})


def stack_of_mount(host: Host, path: str) -> Set[str]:
    """Every whole device below the file system that is mounted exactly at `path`; CannotTell if none is."""
    return {name for device in _mounted_devices(host, path) for name in stack(host, device)}


def _mounted_devices(host: Host, path: str) -> List[str]:
    mount = mount_table.mount_at(host, path)
    if mount is None:
        raise CannotTell(f"nothing is mounted at {path}")
    # btrfs and others give their mounts a number of no device
    device = mount.source if mount.dev.startswith("0:") else mount.dev
    return (btrfs_devices(host, _name(host, device)) if mount.fstype == "btrfs" else []) or [device]


@cached_per_run
def btrfs_devices(host: Host, device: str) -> List[str]:
    """All devices of the btrfs file system that this one belongs to, as kernel names; none of another file system."""
    try:
        for uuid in host.list_dir("/sys/fs/btrfs"):
            if host.exists(f"/sys/fs/btrfs/{uuid}/devices/{device}"):
                return host.list_dir(f"/sys/fs/btrfs/{uuid}/devices")
    except CannotTell:
        return []
    return []


def disk_of(host: Host, device: str) -> str:
    """The whole disk that a device is or is a partition of."""
    name = _name(host, device)
    whole = whole_disks(host)
    if name in whole:
        return name
    for disk in whole:
        if name.startswith(disk) and host.exists(f"/sys/block/{disk}/{name}"):
            return disk
    raise Missing(f"{device} is not a block device of this machine")


@cached_per_run
def whole_disks(host: Host) -> List[str]:
    return host.list_dir("/sys/block")


def slaves(host: Host, disk: str) -> List[str]:
    """What a disk stands on directly: member partitions or disks, as kernel names; empty for a real one."""
    try:
        return host.list_dir(f"/sys/block/{disk}/slaves")
    except Missing:
        return []


def _below(host: Host, disk: str, seen: Set[str]) -> Set[str]:
    if disk in seen:  # the kernel allows no loops, a broken recording may have one
        return set()
    seen.add(disk)
    members = slaves(host, disk)
    return {real for member in members for real in _below(host, disk_of(host, member), seen)} if members else {disk}


def _name(host: Host, device: str) -> str:
    major, separator, minor = device.partition(":")
    if separator and major.isdigit() and minor.isdigit():
        return os.path.basename(host.link(f"/sys/dev/block/{device}"))
    if device.startswith("/"):
        try:
            return os.path.basename(host.link(device))
        except Missing:
            return os.path.basename(device)
    return device


def carrying_data(host: Host) -> Dict[str, List[str]]:
    """The physical disks below the expected mounts, each with its mounts; all physical disks where no mount is known.

    An expected mount that is not there is the business of the check `mounts`. NotApplicable where the machine has
    neither a mount to look at nor a role; CannotTell when none of the expected mounts could be followed.
    """
    if not host.expected.mounts:
        if not host.expected.unsure:
            kafka.need_role(host)
        return {name: [] for name in physical(host) if disks(host)[name].size_bytes}  # not an empty card reader
    found: Dict[str, List[str]] = {}
    why = ""
    for path in host.expected.mount_paths:
        try:
            for name in behind_mount(host, path):
                found.setdefault(name, []).append(path)
        except CannotTell as error:
            why = str(error)
    if not found:
        raise CannotTell(f"no disk found behind the data mounts: {why}")
    return found
