"""Memory, processor time, disks' counters and one process's limits, straight from /proc.

psutil reports the same numbers (tests/agent/machine/test_live.py holds them equal), but loading it costs 15 ms a run.
"""

from __future__ import annotations

import os
from typing import Callable, Dict

from agent.host import CannotTell, CpuTimes, DiskIO, Load, Memory, ProcessUse

Read = Callable[[str, int], str]
LIMIT = 4 << 20
MOST_MAPS = 64 << 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Reads completed, ms reading, writes completed, ms writing, ms busy, among the words of a row of /proc/diskstats
DISK_WORDS = (3, 6, 7, 10, 12)


def memory(read: Read) -> Memory:
    """MemTotal:       16316412 kB"""
    rows = (row.split() for row in read("/proc/meminfo", LIMIT).splitlines())
    kilobytes = {words[0].rstrip(":"): int(words[1]) for words in rows if len(words) > 1 and words[1].isdecimal()}
    try:
        total, swap = kilobytes["MemTotal"], kilobytes["SwapTotal"]
        swap_used = swap - kilobytes["SwapFree"]
        available = kilobytes.get("MemAvailable", kilobytes["MemFree"])  # kernels before 3.14 do not reckon it
    except KeyError as error:
        raise CannotTell(f"/proc/meminfo has no {error.args[0]}") from None
    return Memory(total << 10, min(available, total) << 10, swap << 10, swap_used << 10)


def cpu_times(read: Read) -> CpuTimes:
    """cpu  user nice system idle iowait irq softirq steal guest guest_nice, in ticks"""
    words = read("/proc/stat", LIMIT).split("\n", 1)[0].split()
    if len(words) < 8 or words[0] != "cpu" or not all(word.isdecimal() for word in words[1:]):
        raise CannotTell("/proc/stat does not begin with the time of all processors")
    user, nice, system, idle, iowait, irq, softirq, *more = (int(word) / TICKS_PER_S for word in words[1:])
    # guest time is already counted in user time
    total = user + nice + system + idle + iowait + irq + softirq + sum(more[:1])
    return CpuTimes(user + nice, system, iowait, softirq, total)


def disk_io(read: Read) -> Dict[str, DiskIO]:
    """8      16 sdb 5456 18 667 4672 68 25 968 287 1 5337 4956 …; a row of fewer words is of Linux 2.6 or before."""
    rows = (row.split() for row in read("/proc/diskstats", LIMIT).splitlines())
    return {
        words[2]: DiskIO(reads=int(words[3]), read_ms=int(words[6]), writes=int(words[7]), write_ms=int(words[10]),
                         busy_ms=int(words[12]))
        for words in rows
        if len(words) >= 14 and all(words[at].isdecimal() for at in DISK_WORDS)
    }  # fmt: skip


def load() -> Load:
    return Load(*os.getloadavg(), max(os.sysconf("SC_NPROCESSORS_ONLN"), 1))


def process_use(pid: int, read: Read) -> ProcessUse:
    """Max open files            1024                 524288               files"""
    limits = read(f"/proc/{pid}/limits", LIMIT)
    soft = next((row[26:].split()[0] for row in limits.splitlines() if row.startswith("Max open files")), "")
    if soft != "unlimited" and not soft.isdecimal():
        raise CannotTell(f"/proc/{pid}/limits does not tell how many files may be open")
    opened = len(os.listdir(f"/proc/{pid}/fd"))
    maps = read(f"/proc/{pid}/maps", MOST_MAPS).count("\n")
    return ProcessUse(opened, -1 if soft == "unlimited" else int(soft), maps)
