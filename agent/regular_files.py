"""Opening files that others name: regular ones alone, and with no more rights than who names them has."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def take_rights_of(pid: int) -> None:
    """From now on files are opened as that process's user and groups, if we are root; for a child of the server only.

    The real user stays root, so that the other user can neither stop nor trace this process.
    """
    if os.geteuid() != 0:
        return
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        said = dict(row.partition(":")[::2] for row in file)
    os.setgroups([int(group) for group in said["Groups"].split()])
    os.setegid(int(said["Gid"].split()[1]))
    os.seteuid(int(said["Uid"].split()[1]))


def opened(path: str) -> BinaryIO:
    """A regular file, for reading. A device or a pipe is not even opened: that alone can hang, or arm a watchdog."""
    seen = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(seen).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return open(os.open(f"/proc/self/fd/{seen}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    finally:
        os.close(seen)
