"""/proc/self/mountinfo and /etc/fstab: what is mounted where, and what should be."""

from __future__ import annotations

import os
import re
from typing import Iterable, List, Match, Optional, Set, Tuple

from agent.host import CannotTell, Host, Missing, shared
from agent.named_tuples import NamedTuple

# fstab's names for a device, and where udev keeps them.
UDEV_FOLDERS = {
    "UUID": "/dev/disk/by-uuid",
    "LABEL": "/dev/disk/by-label",
    "PARTUUID": "/dev/disk/by-partuuid",
    "PARTLABEL": "/dev/disk/by-partlabel",
    "ID": "/dev/disk/by-id",
}

# Options that the kernel always shows when they are in effect, and what takes each back in fstab.
SHOWN = {
    "ro": ("rw",),
    "noatime": ("atime", "relatime", "strictatime"),
    "nodiratime": ("diratime",),
    "nosuid": ("suid",),
    "nodev": ("dev",),
    "noexec": ("exec",),
    "sync": ("async",),
    "lazytime": ("nolazytime",),
}
# Options of fstab that put others into effect.
IMPLIED = {
    "user": ("noexec", "nosuid", "nodev"),
    "users": ("noexec", "nosuid", "nodev"),
    "owner": ("nosuid", "nodev"),
    "group": ("nosuid", "nodev"),
}


MEMORY = "in memory, gone after a reboot"
OVERLAY = "an overlay, not the file system of a data disk"
NETWORK = "a network file system, no disk of this machine"
NO_DISK = {
    **dict.fromkeys(("tmpfs", "ramfs", "devtmpfs"), MEMORY),
    **dict.fromkeys(("overlay", "aufs", "squashfs"), OVERLAY),
    **dict.fromkeys(
        ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "beegfs", "9p", "afs"), NETWORK
    ),
    **dict.fromkeys(("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone"), NETWORK),
}


class Mount(NamedTuple):
    """One mounted file system. dev: major:minor. options: those of the mount and of the file system together.

    number: the kernel's number of this mount; another disk mounted at the same place has another one.
    """

    path: str
    source: str
    fstype: str
    options: Tuple[str, ...]
    dev: str
    number: int = 0


class FstabEntry(NamedTuple):
    source: str
    path: str
    fstype: str
    options: Tuple[str, ...]


@shared
def mounts(host: Host) -> List[Mount]:
    """All mounts, the one on top last."""
    return parse_mountinfo(host.read("/proc/self/mountinfo"))


@shared
def fstab(host: Host) -> List[FstabEntry]:
    try:
        return parse_fstab(host.read("/etc/fstab"))
    except Missing:
        return []


def parse_mountinfo(text: str) -> List[Mount]:
    """36 35 8:17 / /kafka/d1 rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=remount-ro"""
    found = []
    for row in text.split("\n"):
        left, separator, right = row.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if separator and len(before) >= 6 and len(after) >= 3:
            options = dict.fromkeys(before[5].split(",") + after[2].split(","))
            number = int(before[0]) if before[0].isascii() and before[0].isdigit() else 0
            found.append(Mount(unescape(before[4]), unescape(after[1]), after[0], tuple(options), before[2], number))
    return found


def parse_fstab(text: str) -> List[FstabEntry]:
    """UUID=0a1b… /kafka/d1 xfs noatime,nofail 0 2"""
    found = []
    for row in text.split("\n"):
        words = row.split()
        if len(words) >= 4 and not words[0].startswith("#"):
            found.append(FstabEntry(unescape(words[0]), unescape(words[1]), words[2], tuple(words[3].split(","))))
    return found


def unescape(word: str) -> str:
    """Blanks in these files are written as octal numbers.

    >>> unescape("/data/my\\\\040disk")
    '/data/my disk'
    """
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), word)


def no_disk(fstype: str) -> str:
    """What a file system of this type stands on, in words, if that is no disk of this machine; else empty."""
    return NO_DISK.get(fstype, "")


def mount_at(host: Host, path: str) -> Optional[Mount]:
    """The mount exactly at `path`, or None."""
    return next((mount for mount in reversed(mounts(host)) if mount.path == os.path.normpath(path)), None)


def mount_of(host: Host, path: str) -> Optional[Mount]:
    """The mount that holds `path`, whether or not the path exists."""
    path = os.path.normpath(path)
    holding = [mount for mount in mounts(host) if path == mount.path or path.startswith(mount.path.rstrip("/") + "/")]
    return max(holding, key=lambda mount: len(mount.path), default=None)


def fstab_entry(host: Host, path: str) -> Optional[FstabEntry]:
    """The last entry for this mount point, or None."""
    path = os.path.normpath(path)
    return next((entry for entry in reversed(fstab(host)) if os.path.normpath(entry.path) == path), None)


def fstab_of(host: Host, path: str) -> Optional[FstabEntry]:
    """The entry whose mount would hold `path`, or None."""
    path = os.path.normpath(path)
    holding = [entry for entry in fstab(host) if path == entry.path or path.startswith(entry.path.rstrip("/") + "/")]
    return max(holding, key=lambda entry: len(entry.path), default=None)


def device(host: Host, source: str) -> str:
    """The kernel's name (`sdd1`) of the device that `UUID=…`, `LABEL=…`, `/dev/…` or `sdd1` means.

    Missing if this machine has no such device; CannotTell where udev names none at all.
    """
    kind, separator, value = source.partition("=")
    folder = UDEV_FOLDERS.get(kind.upper(), "") if separator else ""
    if folder:
        if not host.exists(folder):
            raise CannotTell(f"{source} cannot be followed: no {folder} (udev)")
        path = f"{folder}/{udev_name(value.strip(chr(34)))}"
    else:
        path = source if source.startswith("/") else f"/dev/{source}"
    try:
        return os.path.basename(host.link(path))
    except Missing:
        raise Missing(f"no device {source} on this machine") from None


def udev_name(label: str) -> str:
    """A label as udev writes it in a file name.

    >>> udev_name("my disk")
    'my\\\\x20disk'
    """
    return re.sub(r"(?a)[^\w#+.:=@\x80-\U0010ffff-]", _hex, label)


def in_effect(options: Iterable[str]) -> Set[str]:
    """Which of SHOWN these options of an fstab entry put into effect.

    >>> sorted(in_effect(["rw", "noexec", "noatime", "exec"]))
    ['noatime']
    """
    found: Set[str] = set()
    for option in options:
        found.update(IMPLIED.get(option, (option,) if option in SHOWN else ()))
        found.difference_update(shown for shown, back in SHOWN.items() if option in back)
    return found


def mount_unit(path: str) -> str:
    """Where systemd keeps a mount that is not in fstab.

    >>> mount_unit("/kafka/d-1")
    '/etc/systemd/system/kafka-d\\\\x2d1.mount'
    """
    plain = os.path.normpath(path).strip("/").encode("utf-8", "surrogateescape").decode("latin-1")
    name = re.sub(r"(?a)[^\w.:/]", _hex, plain).replace("/", "-")
    return f"/etc/systemd/system/{name or '-'}.mount"


def _hex(character: Match[str]) -> str:
    return f"\\x{ord(character.group()):02x}"
