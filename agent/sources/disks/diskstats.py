"""/proc/diskstats: what every block device has done since the boot, and how much it has yet to answer."""

from __future__ import annotations

from typing import Dict

from agent.host import CannotTell, Host, cached_per_run
from agent.named_tuples import NamedTuple

# Fields that kernels since 2.6 have; those since 4.18 and 5.5 follow (discards, flushes).
LEAST_FIELDS = 14


class DiskStats(NamedTuple):
    """Completed requests and the time they took, since the boot; in_flight: requests that wait for an answer now."""

    reads: int
    read_ms: int
    writes: int
    write_ms: int
    in_flight: int
    busy_ms: int
    others: int = 0

    @property
    def completed(self) -> int:
        return self.reads + self.writes + self.others


@cached_per_run
def diskstats(host: Host) -> Dict[str, DiskStats]:
    """By kernel name; CannotTell if the kernel lists nothing that can be read."""
    found = parse(host.read("/proc/diskstats"))
    if not found:
        raise CannotTell("/proc/diskstats lists no disk")
    return found


def parse(text: str) -> Dict[str, DiskStats]:
    """8 16 sdb 5456 18 667 4672 68 25 968 287 1 5337 4956 [discards: 0 0 0 0] [flushes: 3 0]"""
    found = {}
    for row in text.splitlines():
        words = row.split()
        numbers = words[3:]
        if len(words) >= LEAST_FIELDS and all(word.isascii() and word.isdigit() for word in numbers):
            reads, _, _, read_ms, writes, _, _, write_ms, in_flight, busy_ms, _ = map(int, numbers[:11])
            others = sum(int(numbers[at]) for at in (11, 15) if at < len(numbers))
            found[words[2]] = DiskStats(reads, read_ms, writes, write_ms, in_flight, busy_ms, others)
    return found
