"""Opening files that others name: regular ones alone, and with no more rights than who names them has."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO, FrozenSet, List, Optional

from agent.named_tuples import NamedTuple


class Rights(NamedTuple):
    """Whose rights a file is read with."""

    uid: int
    groups: FrozenSet[int]

    def may_read(self, seen: os.stat_result) -> bool:
        """By the file's permission bits."""
        return self._may(seen, 4)

    def may_reach(self, path: str) -> bool:
        """By the permission bits of the folders above it."""
        above = [path[:at] or "/" for at, letter in enumerate(path) if letter == "/"]
        return all(self._may(os.stat(folder), 1) for folder in above)

    def may_write_in(self, path: str) -> Optional[bool]:
        """By the permission bits of a folder and of those above it; None where an access list may say otherwise."""
        above = [path[:at] or "/" for at, letter in enumerate(path) if letter == "/" and path != "/"]
        if any("system.posix_acl_access" in os.listxattr(folder) for folder in [*above, path]):
            return None
        seen = os.stat(path)
        return self.may_reach(path) and self._may(seen, 2) and self._may(seen, 1)

    def _may(self, seen: os.stat_result, bit: int) -> bool:
        shift = 6 if seen.st_uid == self.uid else 3 if seen.st_gid in self.groups else 0
        return self.uid == 0 or bool(seen.st_mode >> shift & bit)


class NotEntered(Exception):
    """The tree of another process may not be entered: what it names cannot be looked at."""


# The descriptors of this process, as /proc shows them: kept where another tree was entered, which may have no /proc.
_descriptors: List[int] = []


def enter_tree_of(pid: int) -> None:
    """From now on paths mean what they mean to that process: in its container, or with the mounts of its unit.

    For a child of the server only. NotEntered where that is not allowed (a systemd unit without CAP_SYS_CHROOT).
    """
    root = f"/proc/{pid}/root"
    _descriptors.append(os.open("/proc/self/fd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    try:
        os.chroot(root)
        os.chdir("/")
    except PermissionError:
        if not _is_root_folder(root):
            raise NotEntered(f"cannot enter the file tree of process {pid} (container or unit)") from None


def _is_root_folder(path: str) -> bool:
    """Whether this is our root folder, too: then the trees differ by some mounts at most."""
    try:
        return os.path.samestat(os.stat(path), os.stat("/"))
    except OSError:
        return False


def _sees_another_tree(pid: int) -> bool:
    """Whether a process has mounts or a root folder of its own; False where that may not be seen."""
    try:
        ours, theirs = os.stat("/proc/self/ns/mnt"), os.stat(f"/proc/{pid}/ns/mnt")
    except OSError:
        return False
    return not os.path.samestat(ours, theirs) or not _is_root_folder(f"/proc/{pid}/root")


def take_rights_of(pid: int, listed_at: float = 0.0) -> Optional[Rights]:
    """From now on files are opened as that process's user and groups and in its tree, if we are root.

    For a child of the server only. The real user stays root, so that the other user can neither stop nor trace this
    process. Where root itself may not do that (a systemd unit without CAP_SETUID), the rights to be held against each
    file's permission bits.
    listed_at: when the process was seen, in seconds since the boot; one that began later has only the same number.
    """
    if os.geteuid() != 0:
        return None
    if pid < 0:  # of a process that is gone its user is known
        return Rights(-pid, frozenset())
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        said = dict(row.partition(":")[::2] for row in file)
    uids, gids = (tuple(map(int, said[name].split()[:3])) for name in ("Uid", "Gid"))
    if len({*uids}) > 1 or len({*gids}) > 1:  # set-user-id: who started it chose its words, and has not its rights
        raise PermissionError(errno.EACCES, "named by a process of another user")
    if listed_at and _began_at(pid) > listed_at:
        raise PermissionError(errno.EACCES, "the process that names it ended, and its PID was reused")
    uid, gid = uids[0], gids[0]
    groups = [int(group) for group in said["Groups"].split()]
    if _sees_another_tree(pid):
        enter_tree_of(pid)
    try:
        os.setgroups(groups)
        os.setegid(gid)
        os.seteuid(uid)
    except OSError:
        return Rights(uid, frozenset((gid, *groups)))
    return None


def _began_at(pid: int) -> float:
    """In seconds since the boot.

    4242 (java) S 1 4242 4242 0 -1 4194560 … (the 22nd field: when it began, in ticks since the boot)
    """
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def opened(path: str, rights: Optional[Rights] = None) -> BinaryIO:
    """A regular file, for reading. A device or a pipe is not even opened: that alone can hang, or arm a watchdog."""
    seen = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(seen).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        at = {"dir_fd": _descriptors[-1]} if _descriptors else {}
        own = str(seen) if at else f"/proc/self/fd/{seen}"
        where = os.readlink(own, **at)
        if rights and not (rights.may_read(os.fstat(seen)) and rights.may_reach(where)):
            raise PermissionError(errno.EACCES, "Permission denied")
        return open(os.open(own, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, **at), "rb")
    finally:
        os.close(seen)
