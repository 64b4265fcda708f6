"""Btrfs file systems under the data mounts, as arrays: their devices and what the kernel counted against each."""

from __future__ import annotations

import os
from typing import Dict, List, Tuple

from agent.host import CannotTell, Host
from agent.sources.disks import block_devices, mount_table
from agent.sources.disks.mount_table import Mount
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Member

ROOT = "/sys/fs/btrfs"
# What /sys/fs/btrfs/UUID/allocation/data may hold a folder of, by how many lost devices the data survive.
PROFILES = {
    "raid1c4": 3,
    "raid1c3": 2,
    "raid6": 2,
    "raid10": 1,
    "raid1": 1,
    "raid5": 1,
    "raid0": 0,
    "dup": 0,
    "single": 0,
}
ERRORS_ARE = "read, write or checksum errors"


def arrays(host: Host) -> List[Array]:
    """One for each file system that holds data mounts, by the path of the first of them."""
    mounts = [mount_table.mount_at(host, path) for path in host.expected.mount_paths]
    found: Dict[str, Array] = {}
    for mount in mounts:
        if mount and mount.fstype == "btrfs":
            device = os.path.basename(_target(host, mount.source))
            base = _base(host, device)
            if base not in found:
                found[base] = _array(host, mount, device, base)
    return list(found.values())


def _array(host: Host, mount: Mount, device: str, base: str) -> Array:
    profiles = host.list_dir(f"{base}/allocation/data")
    found = [profile for profile in PROFILES if profile in profiles]
    members = _members(host, base)
    gone = sum(member.state == raid.MISSING for member in members)
    survives = min((PROFILES[profile] for profile in found), default=0)
    state = raid.OPTIMAL if not gone else raid.DEGRADED if gone <= survives else raid.FAILED
    return Array(
        name=f"btrfs {mount.path}",
        level=" and ".join(found) or "unknown level",
        state=state if found and members else raid.UNKNOWN,
        said=f"{gone} of its devices missing" if gone else "all devices present",
        members=members,
        groups=(tuple(range(len(members))),) if found == ["raid1"] and len(members) == 2 else (),
        disk=block_devices.disk_of(host, device),
        errors_are=ERRORS_ARE,
    )


def _target(host: Host, source: str) -> str:
    try:
        return host.link(source)
    except CannotTell:
        return source


def _base(host: Host, device: str) -> str:
    """The kernel's folder of the file system that this device belongs to."""
    for uuid in host.list_dir(ROOT):
        if host.exists(f"{ROOT}/{uuid}/devices/{device}"):
            return f"{ROOT}/{uuid}"
    raise CannotTell(f"the kernel lists no btrfs on {device}")


def _members(host: Host, base: str) -> Tuple[Member, ...]:
    """Its devices. The kernel counts them and tells their names apart from that; one device has but one name."""
    numbers = sorted((name for name in host.list_dir(f"{base}/devinfo") if name.isdigit()), key=int)
    names = host.list_dir(f"{base}/devices")
    found = []
    for at, number in enumerate(numbers):
        missing = host.read(f"{base}/devinfo/{number}/missing", 64).strip() == "1"
        name = names[0] if len(names) == len(numbers) == 1 else f"device {number}"
        errors = 0 if missing else _errors(host.read(f"{base}/devinfo/{number}/error_stats", 4096))
        found.append(Member(name, at, raid.MISSING if missing else raid.ONLINE, errors=errors))
    return tuple(found)


def _errors(text: str) -> int:
    """The sum of `write_errs 0`, `read_errs 0`, … as the kernel has them since 5.14; CannotTell if it tells none."""
    counts = [row.split() for row in text.splitlines()]
    numbers = [int(words[1]) for words in counts if len(words) == 2 and words[1].isdecimal() and len(words[1]) < 20]
    if not numbers:
        raise CannotTell("this kernel reports no errors of btrfs devices: run btrfs device stats")
    return sum(numbers)
