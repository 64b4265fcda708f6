"""The processes of this machine, straight from /proc: a tenth of what psutil takes, no directory service asked."""

from __future__ import annotations

import os
from collections import Counter
from typing import Counter as Counts
from typing import Dict, List, Optional, Tuple

from agent.host import Process

# The longest command line that is read; a class path of 300 jars has 30 kB.
LONGEST_COMMAND_LINE = 256 << 10
# The more words, the more memory: two letters take 64 bytes.
MOST_WORDS = 2048
# What is read of one user's command lines, all together; of more processes of that user the program's name alone.
MOST_OF_A_USER = 8 << 20
LONGEST_PROGRAM = 256
# The kernel keeps so much of a program's name.
KERNEL_NAME_LENGTH = 15
# PF_KTHREAD of include/linux/sched.h, in the 9th field of /proc/<pid>/stat
KERNEL_THREAD = 0x00200000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processes() -> List[Process]:
    """All that may be seen; of one whose files may not be read, the number alone."""
    booted_at = _booted_at()
    names = _local_names()
    read: Counts[int] = Counter()
    found = (_process(int(name), booted_at, names, read) for name in os.listdir("/proc") if name.isdigit())
    return sorted(process for process in found if process)


def _process(pid: int, booted_at: float, names: Dict[int, str], read: Counts[int]) -> Optional[Process]:
    """None of one that ended while we listed.

    4242 (java) S 1 4242 4242 0 -1 4194560 … (the 22nd field: when it began, in ticks since the boot)
    """
    try:
        head, _, rest = _read(f"/proc/{pid}/stat", 4096).rpartition(b")")
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        words = rest.split()
        if int(words[6]) & KERNEL_THREAD:  # has no command line, and is root's
            return Process(pid, name, (), names.get(0, "0"), booted_at + int(words[19]) / TICKS_PER_S)
        uid = os.stat(f"/proc/{pid}").st_uid
        most = LONGEST_COMMAND_LINE if read[uid] < MOST_OF_A_USER else LONGEST_PROGRAM
        line = _read(f"/proc/{pid}/cmdline", most)
        read[uid] += len(line)
        argv = _argv(line if most > LONGEST_PROGRAM else line.partition(b"\0")[0])
        started_at = booted_at + int(words[19]) / TICKS_PER_S
        return Process(pid, _whole(name, argv), argv, names.get(uid, str(uid)), started_at)
    except PermissionError:
        return Process(pid, "", (), "", 0.0)
    except (OSError, IndexError, ValueError):
        return None


def _argv(line: bytes) -> Tuple[str, ...]:
    """Words end with NUL; a program that wrote its own title there (nginx, Chrome) has spaces between them."""
    text = line.decode("utf-8", "surrogateescape")
    separator = "\0" if "\0" in text else " "  # also of one that was cut
    words = text.removesuffix("\0").split(separator, MOST_WORDS)[:MOST_WORDS] if text else []
    return tuple(words[0].split(" ", MOST_WORDS)[:MOST_WORDS] if len(words) == 1 else words)


def _whole(name: str, argv: Tuple[str, ...]) -> str:
    """The kernel cuts names: what the command line has of the same beginning is the whole one."""
    program = os.path.basename(argv[0]) if argv else ""
    return program if len(name.encode()) >= KERNEL_NAME_LENGTH and program.startswith(name) else name


def _local_names() -> Dict[int, str]:
    """The users of this machine itself. Those of a directory (LDAP) keep their numbers: its server may be slow.

    kafka:x:997:995:Apache Kafka:/var/lib/kafka:/usr/sbin/nologin
    """
    try:
        rows = [row.split(":") for row in _read("/etc/passwd", 1 << 20).decode("utf-8", "replace").splitlines()]
    except OSError:
        return {}
    return {int(row[2]): row[0] for row in rows[::-1] if len(row) > 2 and row[2].isdigit()}


def _booted_at() -> float:
    """btime 1795000000"""
    rows = _read("/proc/stat", 4 << 20).decode("ascii", "replace").splitlines()
    return next((float(row.split()[1]) for row in rows if row.startswith("btime ")), 0.0)


def _read(path: str, most: int) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    try:
        parts = [os.read(handle, 1 << 16)]
        while parts[-1] and sum(map(len, parts)) < most:
            parts.append(os.read(handle, 1 << 16))
        return b"".join(parts)[:most]
    finally:
        os.close(handle)
