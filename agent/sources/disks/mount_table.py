"""/proc/self/mountinfo and /etc/fstab: what is mounted where, and what should be."""

from __future__ import annotations

import os
import re
from typing import Iterable, List, Match, Optional, Sequence, Set, Tuple

from agent.host import CannotTell, Host, Missing, cached_per_run
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


class Mount(NamedTuple):
    """One mounted file system. dev: major:minor. options: those of the mount and of the file system together.

    number: the kernel's number of this mount; another disk mounted at the same place has another one.
    root: the folder of the file system that is mounted here; another one than / of a bind mount.
    """

    path: str
    source: str
    fstype: str
    options: Tuple[str, ...]
    dev: str
    number: int = 0
    root: str = "/"


class FstabEntry(NamedTuple):
    source: str
    path: str
    fstype: str
    options: Tuple[str, ...]


@cached_per_run
def own_mounts(host: Host) -> List[Mount]:
    """All mounts as this process sees them, the one on top last."""
    return parse_mountinfo(host.read("/proc/self/mountinfo"))


@cached_per_run
def mounts(host: Host) -> List[Mount]:
    """All mounts, the one on top last, without those by which a systemd unit makes folders read-only for us alone.

    ProtectSystem=, ProtectHome= and ReadOnlyPaths= mount a folder upon itself, or its mount anew, with `ro`.
    """
    own = own_mounts(host)
    theirs = of_init(host)
    if not theirs:
        return own
    seen = {(mount.path, mount.dev, mount.root): mount for mount in theirs}
    as_seen = [
        seen.get((mount.path, mount.dev, mount.root), mount) if "ro" in mount.options else mount for mount in own
    ]
    return [mount for mount in as_seen if "ro" not in mount.options or not _upon_itself(mount, theirs)]


@cached_per_run
def of_init(host: Host) -> List[Mount]:
    """The mounts of the machine's first process where they differ from ours; none where they may not be seen."""
    try:
        theirs = parse_mountinfo(host.read("/proc/1/mountinfo"))
    except CannotTell:
        return []
    same = {mount.number for mount in theirs} == {mount.number for mount in own_mounts(host)}
    return [] if same else theirs


def _upon_itself(mount: Mount, theirs: List[Mount]) -> bool:
    """Whether a folder is mounted at its own place, where the first process sees no mount."""
    held = holding(theirs, mount.path)
    if held is None or held.path == mount.path or held.dev != mount.dev:
        return False
    return moved(mount.path, held.path, held.root) == mount.root


@cached_per_run
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
            path, source, root = unescape(before[4]), unescape(after[1]), unescape(before[3])
            found.append(Mount(path, source, after[0], tuple(options), before[2], number, root))
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


def mount_at(host: Host, path: str) -> Optional[Mount]:
    """The mount exactly at `path`, or None."""
    return next((mount for mount in reversed(mounts(host)) if mount.path == os.path.normpath(path)), None)


def mount_of(host: Host, path: str) -> Optional[Mount]:
    """The mount that holds `path`, whether or not the path exists."""
    return holding(mounts(host), path)


def holding(table: Sequence[Mount], path: str) -> Optional[Mount]:
    """The mount of this table that holds `path`; of several at one place the one on top."""
    path = os.path.normpath(path)
    return max((mount for mount in reversed(table) if is_below(path, mount.path)), key=_length, default=None)


def _length(mount: Mount) -> int:
    return len(mount.path)


def moved(path: str, folder: str, onto: str) -> str:
    """The path below another folder.

    >>> moved("/kafka/d1/data", "/kafka/d1", "/"), moved("/kafka", "/", "/host")
    ('/data', '/host/kafka')
    """
    return os.path.normpath(f"{onto.rstrip('/')}/{os.path.relpath(path, folder)}")


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


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
            raise CannotTell(f"cannot resolve {source}: no {folder} (udev)")
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
