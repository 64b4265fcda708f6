"""Who listens to file accesses: the kernel's fanotify marks, whatever the product is called.

A scanner asks the kernel to tell it of accesses to a mount, a file system or single directories, and may ask to hold
each access up until it has answered. Both stand in /proc/<pid>/fdinfo/<descriptor>.
"""

from __future__ import annotations

from typing import List, Tuple

from agent.host import CannotTell, Host, Missing, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.disks import mount_table

GROUP = "anon_inode:[fanotify]"

# fanotify sdev:fe00000 mflags:0 mask:400003fb ignored_mask:0                                    a file system
# fanotify mnt_id:1b mflags:0 mask:3b ignored_mask:40000000                                       a mount
# fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000 fhandle-bytes:8 f_handle… a directory or file
MARK = pattern(
    r"fanotify (?:ino:[0-9a-f]{1,16} )?(?:sdev:(?P<dev>[0-9a-f]{1,8})|mnt_id:(?P<mount>[0-9a-f]{1,8})) "
    r"mflags:[0-9a-f]{1,8} mask:(?P<mask>[0-9a-f]{1,16})\b"
)
# Opening, reading, writing, closing, executing. The others (create, delete, move, error) look at no content.
CONTENT = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x1000
# The kernel waits for the listener's permission.
PERMISSION = 0x10000 | 0x20000 | 0x40000 | 0x100000
MINOR_BITS = 20


class Mark(NamedTuple):
    """kind: filesystem, mount or inode. dev: major:minor, empty for a mount, which has its number instead."""

    kind: str
    dev: str
    mount: int
    mask: int

    @property
    def sees_content(self) -> bool:
        return bool(self.mask & (CONTENT | PERMISSION))

    @property
    def holds_up(self) -> bool:
        return bool(self.mask & PERMISSION)


class Listener(NamedTuple):
    """A process and its marks that see file contents; those of mounts have their device filled in."""

    pid: int
    marks: Tuple[Mark, ...]


class Listeners(NamedTuple):
    """hidden: processes that we may not look into."""

    seen: Tuple[Listener, ...]
    hidden: Tuple[int, ...]


@cached_per_run
def listeners(host: Host) -> Listeners:
    """All processes that the kernel tells of file accesses."""
    groups, hidden = host.descriptors(GROUP)
    found = []
    for pid, number in groups:
        try:
            marks = parse_marks(host.read(f"/proc/{pid}/fdinfo/{number}"))
        except Missing:
            continue  # it ended, or let go, since we listed it
        found.append(Listener(pid, tuple(_with_device(host, pid, mark) for mark in marks if mark.sees_content)))
    return Listeners(tuple(listener for listener in found if listener.marks), hidden)


def parse_marks(text: str) -> List[Mark]:
    """The marks of one fanotify group; other lines are passed over."""
    found = []
    for row in text.splitlines():
        match = MARK.match(row)
        if match:
            kind = "mount" if match["mount"] else "inode" if "ino:" in match.group() else "filesystem"
            mount = int(match["mount"] or "0", 16)
            found.append(Mark(kind, _device(match["dev"]) if match["dev"] else "", mount, int(match["mask"], 16)))
    return found


def _device(number: str) -> str:
    value = int(number, 16)
    return f"{value >> MINOR_BITS}:{value & ((1 << MINOR_BITS) - 1)}"


def _with_device(host: Host, pid: int, mark: Mark) -> Mark:
    """A mount's number as its device; a process in a container has mounts of its own."""
    if mark.kind != "mount":
        return mark
    mounts = mount_table.mounts(host)
    if all(mount.number != mark.mount for mount in mounts):
        try:
            mounts = mount_table.parse_mountinfo(host.read(f"/proc/{pid}/mountinfo"))
        except CannotTell:
            mounts = []
    return mark._replace(dev=next((mount.dev for mount in mounts if mount.number == mark.mount), ""))
