"""Is this the disk that should be mounted here? What the inventory and fstab name, against what is there."""

from __future__ import annotations

import os
import re
from typing import Callable, List, Set, Tuple

from agent.expected import ExpectedMount
from agent.host import CannotTell, Host, Missing
from agent.named_tuples import NamedTuple
from agent.sources.disks import block_devices, mount_table
from agent.sources.disks.mount_table import Mount

# Where the runtimes of containers mount their volumes
OF_CONTAINERS = (
    "/var/lib/kubelet/", "/var/lib/docker/", "/var/lib/containers/", "/var/lib/containerd/", "/run/containerd/",
    "/var/lib/rancher/", "/var/lib/lxc/", "/var/lib/lxd/", "/var/snap/",
)  # fmt: skip


class Comparison(NamedTuple):
    """wrong: what was expected and is not so. untold: why something could not be compared. same: what fits."""

    wrong: Tuple[str, ...]
    untold: Tuple[str, ...]
    same: Tuple[str, ...]


class Drift(NamedTuple):
    """How a reboot would change a mount. lost: options of fstab not in effect; only_now: in effect, not in fstab."""

    problem: str = ""
    untold: Tuple[str, ...] = ()
    lost: Tuple[str, ...] = ()
    only_now: Tuple[str, ...] = ()


def device_of(host: Host, mount: Mount) -> str:
    """The kernel's name of the mounted device, such as `sdd1` or `dm-3`; the source as given where it is none."""
    for path in (f"/sys/dev/block/{mount.dev}", mount.source):
        try:
            return os.path.basename(host.link(path))
        except CannotTell:
            continue
    return os.path.basename(mount.source)


def where(host: Host, mount: Mount) -> str:
    """A mount as a person finds it: `/kafka/d3 on sdd (ST8000NM0055, serial ZA1BC2, slot …)`."""
    disks = _disks(host, mount)
    if len(disks) == 1:
        return f"{mount.path} on {block_devices.describe(host, disks[0])}"
    return f"{mount.path} on {device_of(host, mount)}" + (f" over {len(disks)} disks" if disks else "")


def covered(host: Host, mount: Mount) -> str:
    """The device whose file system this mount hides at the same place; empty if it hides none."""
    hidden = [other for other in mount_table.mounts(host) if other.path == mount.path and other.number != mount.number]
    return hidden[-1].source if hidden else ""


def compare(host: Host, expected: ExpectedMount, mount: Mount) -> Comparison:
    """Serial number (or WWN), file-system UUID and device of what is mounted, against the expected."""
    wrong: List[str] = []
    unreported: List[str] = []
    same: List[str] = []
    for words, test in _questions(host, expected, mount):
        try:
            (same if test() else wrong).append(words)
        except CannotTell as error:
            unreported.append(f"whether it is {words}: {error}")
    return Comparison(tuple(wrong), tuple(unreported), tuple(same))


def owner(host: Host, mount: Mount) -> str:
    """The other expected mount whose disk is mounted here; empty if it is nobody's."""
    for other in host.expected.mounts:
        if os.path.normpath(other.path) != mount.path:
            compared = compare(host, other, mount)
            if compared.same and not compared.wrong:
                return other.path
    return ""


def whereabouts(host: Host, expected: ExpectedMount) -> str:
    """Where the disk that belongs to a mount is now, in words; empty where neither inventory nor fstab names it."""
    try:
        disk = _named_disk(host, expected)
    except Missing as error:
        return str(error)
    except CannotTell:
        return ""
    if not disk:
        return ""
    at = [mount.path for mount in mount_table.mounts(host) if disk in (*_disks(host, mount), _whole(host, mount))]
    place = f"is mounted at {', '.join(dict.fromkeys(at))}" if at else "is present, not mounted"
    return f"{block_devices.describe(host, disk)} {place}"


def drift(host: Host, mount: Mount) -> Drift:
    """What fstab, or a mount unit of systemd, says of a mount against what is in effect."""
    entry = mount_table.fstab_entry(host, mount.path)
    if entry is None:
        kept = _is_mounted_by_others(host, mount) or host.exists(mount_table.mount_unit(mount.path))
        return Drift("" if kept else "not in /etc/fstab: not mounted after a reboot")
    listed = mount_table.in_effect(entry.options)
    now = set(mount.options) & set(mount_table.SHOWN)
    problem, unreported = _other_device(host, entry.source, mount)
    if "noauto" in entry.options and "x-systemd.automount" not in entry.options:
        problem = problem or "noauto in /etc/fstab: not mounted after a reboot"
    return Drift(problem, unreported, tuple(sorted(listed - now)), tuple(sorted(now - listed)))


def _is_mounted_by_others(host: Host, mount: Mount) -> bool:
    """Whether neither fstab nor a unit is needed: the kernel's command line mounts the root, ZFS what its pools name,
    and a container's runtime its volumes, also all that is seen from within one.
    """
    root = mount_table.mount_at(host, "/")
    within = root is not None and root.fstype in ("overlay", "aufs")
    return mount.path == "/" or mount.fstype == "zfs" or within or f"{mount.path}/".startswith(OF_CONTAINERS)


def _other_device(host: Host, source: str, mount: Mount) -> Tuple[str, Tuple[str, ...]]:
    if source == mount.source:
        return "", ()
    try:
        named = mount_table.device(host, source)
    except Missing:
        return f"/etc/fstab names {source}, which does not exist: not mounted after a reboot", ()
    except CannotTell as error:
        return "", (f"whether it is what /etc/fstab names: {error}",)
    mounted = device_of(host, mount)
    return (
        ""
        if named == mounted or named in block_devices.btrfs_devices(host, mounted)
        else f"/etc/fstab names {source} ({named}), but {mounted} is mounted"
    ), ()


def _questions(host: Host, expected: ExpectedMount, mount: Mount) -> List[Tuple[str, Callable[[], bool]]]:
    """What can be asked of the disk: words for a person, and the test."""
    asked: List[Tuple[str, Callable[[], bool]]] = []
    if expected.serial:
        asked.append((f"serial {expected.serial}", lambda: _plain(expected.serial) in _serials(host, mount)))
    if expected.uuid:
        asked.append((f"UUID {expected.uuid}", lambda: _is_device(host, f"UUID={expected.uuid}", mount)))
    if expected.device:
        asked.append((f"device {expected.device}", lambda: _is_device(host, expected.device, mount)))
    return asked


def _plain(serial: str) -> str:
    """A serial number or WWN without the differences between tools: 0x5000c500a1b2c3d4, naa.5000C500A1B2C3D4."""
    plain = serial.strip().lower()
    return re.sub(r"^(0x|naa\.|eui\.|wwn-0x)", "", plain)


def _serials(host: Host, mount: Mount) -> Set[str]:
    names = _disks(host, mount)
    disks = block_devices.disks(host)
    known = {_plain(word) for name in names if name in disks for word in (disks[name].serial, disks[name].wwn)} - {""}
    if not known:
        raise CannotTell(f"{', '.join(names) or mount.source} reports no serial number")
    return known


def _is_device(host: Host, source: str, mount: Mount) -> bool:
    """Whether the mounted device, or the disk below it, is the one named."""
    try:
        named = mount_table.device(host, source)
    except Missing:
        return False
    mounted = device_of(host, mount)
    together = block_devices.btrfs_devices(host, mounted) if mount.fstype == "btrfs" else ()
    return named in (mounted, _whole(host, mount), *_disks(host, mount), *together)


def _disks(host: Host, mount: Mount) -> List[str]:
    """The disks behind a mount; none where it stands on no block device."""
    try:
        return block_devices.behind_mount(host, mount.path)
    except CannotTell:
        return []


def _whole(host: Host, mount: Mount) -> str:
    try:
        return block_devices.disk_of(host, mount.dev)
    except CannotTell:
        return ""


def _named_disk(host: Host, expected: ExpectedMount) -> str:
    """The whole disk that inventory or fstab names for a mount; empty where they name none; Missing if it is gone."""
    if expected.serial:
        for name, disk in block_devices.disks(host).items():
            if _plain(expected.serial) in (_plain(disk.serial), _plain(disk.wwn)):
                return name
        raise Missing(f"no disk with serial {expected.serial} on this machine")
    entry = mount_table.fstab_entry(host, expected.path)
    source = (expected.uuid and f"UUID={expected.uuid}") or expected.device or (entry.source if entry else "")
    return block_devices.disk_of(host, mount_table.device(host, source)) if source else ""
