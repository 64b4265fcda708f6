"""How the kernel and Java word that memory ran out."""

from __future__ import annotations

import re
from typing import Dict, List, Optional

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

# Out of memory: Killed process 4242 (java) total-vm:33554432kB, anon-rss:31457280kB, …  (RHEL 7: "(java), UID 993, …")
KILLED = pattern(r"Killed process (\d{1,10}) \((.{1,64}?)\),? (?:UID|total-vm)", re.ASCII)

# java.lang.OutOfMemoryError: Java heap space    Terminating due to java.lang.OutOfMemoryError: Map failed
JAVA_ERROR = pattern(r"java\.lang\.OutOfMemoryError(?:: ?[\w '(),.:-]{0,60})?", re.ASCII)

# [2026-11-18 10:47:22,123] ERROR …    2026-11-18 10:47:22,123 [myid:1] - ERROR …    in the machine's own time zone
STAMP = pattern(r"\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)[,.]\d", re.ASCII)
# 1795000000.123456 kafka-a01 java[4242]: …, as journalctl --output=short-unix
UNIX_STAMP = pattern(r"(\d{9,11})\.\d{6} ", re.ASCII)
# +0100, as `date +%z`
ZONE = pattern(r"([+-])(\d\d)(\d\d)", re.ASCII)


class Killed(NamedTuple):
    pid: int
    name: str


class JavaError(NamedTuple):
    """One kind of error in one log. at: seconds since the epoch of the last one, None if it is not dated."""

    words: str
    at: Optional[float]
    times: int


def killed_process(text: str) -> Optional[Killed]:
    """The process that a kernel line says was killed, or None."""
    match = KILLED.search(text)
    return Killed(int(match.group(1)), match.group(2)) if match else None


def errors(text: str, zone: str) -> List[JavaError]:
    """The kinds of OutOfMemoryError in some lines of a log, dated by their own or the last stamp before them."""
    found: Dict[str, JavaError] = {}
    at: Optional[float] = None
    for row in text.splitlines():
        at = stamp(row, zone) or at
        match = JAVA_ERROR.search(row)
        if match:
            words = match.group().rstrip(" :")
            times = found[words].times if words in found else 0
            found[words] = JavaError(words, at, times + 1)
    return list(found.values())


def stamp(row: str, zone: str) -> Optional[float]:
    """When a line was written, in seconds since the epoch; None if it does not begin with a date."""
    seconds = UNIX_STAMP.match(row)
    if seconds:
        return float(seconds.group(1))
    match = STAMP.match(row)
    if not match:
        return None
    import calendar  # seldom needed, slow to load

    year, month, day, hour, minute, second = (int(group) for group in match.groups())
    if not (1970 <= year <= 9000 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    return float(calendar.timegm((year, month, day, hour, minute, second)) - _zone_s(zone))


def _zone_s(zone: str) -> int:
    match = ZONE.fullmatch(zone)
    if not match:
        return 0
    seconds = int(match.group(2)) * 3600 + int(match.group(3)) * 60
    return -seconds if match.group(1) == "-" else seconds
