"""/proc/self/mountinfo and /etc/fstab: what is mounted where, and what should be."""

from __future__ import annotations

import os
import re
from typing import List, NamedTuple, Optional, Tuple

from agent.host import Host, Missing, shared


class Mount(NamedTuple):
    """One mounted file system. dev: major:minor. options: those of the mount and of the file system together."""

    path: str
    source: str
    fstype: str
    options: Tuple[str, ...]
    dev: str


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
    for row in text.splitlines():
        left, separator, right = row.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if separator and len(before) >= 6 and len(after) >= 3:
            options = dict.fromkeys(before[5].split(",") + after[2].split(","))
            found.append(Mount(unescape(before[4]), unescape(after[1]), after[0], tuple(options), before[2]))
    return found


def parse_fstab(text: str) -> List[FstabEntry]:
    """UUID=0a1b… /kafka/d1 xfs noatime,nofail 0 2"""
    found = []
    for row in text.splitlines():
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
    path = os.path.normpath(path)
    holding = [mount for mount in mounts(host) if path == mount.path or path.startswith(mount.path.rstrip("/") + "/")]
    return max(holding, key=lambda mount: len(mount.path), default=None)
