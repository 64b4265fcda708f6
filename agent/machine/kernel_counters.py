"""Memory, processor time and one process's limits, straight from /proc.

psutil reports the same numbers (tests/agent/machine/test_live.py holds them equal), but loading it costs 15 ms a run.
"""

from __future__ import annotations

import os
from typing import Callable

from agent.host import CannotTell, CpuTimes, Load, Memory, ProcessUse

Read = Callable[[str, int], str]
LIMIT = 4 << 20
MOST_MAPS = 64 << 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


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
        raise CannotTell("/proc/stat does not begin with the time of all CPUs")
    user, nice, system, idle, iowait, irq, softirq, *more = (int(word) / TICKS_PER_S for word in words[1:])
    # guest time is already counted in user time
    total = user + nice + system + idle + iowait + irq + softirq + sum(more[:1])
    return CpuTimes(user + nice, system, iowait, softirq, total)


def load() -> Load:
    return Load(*os.getloadavg(), max(os.sysconf("SC_NPROCESSORS_ONLN"), 1))


def process_use(pid: int, read: Read) -> ProcessUse:
    """Max open files            1024                 524288               files"""
    limits = read(f"/proc/{pid}/limits", LIMIT)
    soft = next((row[26:].split()[0] for row in limits.splitlines() if row.startswith("Max open files")), "")
    if soft != "unlimited" and not soft.isdecimal():
        raise CannotTell(f"/proc/{pid}/limits has no limit of open files")
    opened = len(os.listdir(f"/proc/{pid}/fd"))
    maps = read(f"/proc/{pid}/maps", MOST_MAPS).count("\n")
    return ProcessUse(opened, -1 if soft == "unlimited" else int(soft), maps)
