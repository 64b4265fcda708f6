"""Which TCP ports are listened on, from /proc/<pid>/net/tcp and tcp6."""

from __future__ import annotations

import re
from typing import FrozenSet, Set

from agent.host import CannotTell, Host, Missing, cached_per_run
from agent.lazy_regex import pattern

#    0: 0100007F:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 1472 1 0000000055c80193 100 0 0 10 0
# 0A is LISTEN; addresses are 8 hexadecimal digits, or 32 for IPv6
LISTENING = pattern(r"\s*\d+:\s+[0-9A-F]{8,32}:([0-9A-F]{4})\s+[0-9A-F]{8,32}:0000\s+0A\s", re.ASCII)


@cached_per_run
def listening_ports(host: Host, pid: int) -> FrozenSet[int]:
    """The TCP ports that somebody listens on in the network namespace of a process.

    The kernel lists listening sockets before all others, so a table cut at the read limit is long enough.
    """
    found: Set[int] = set()
    missing = 0
    for table in ("tcp", "tcp6"):
        try:
            found |= parse_listening(host.read(f"/proc/{pid}/net/{table}"))
        except Missing:  # a kernel without IPv6 has no tcp6
            missing += 1
    if missing == 2:
        raise CannotTell(f"process {pid} has no /proc/{pid}/net/tcp: listening ports unknown")
    return frozenset(found)


def parse_listening(text: str) -> FrozenSet[int]:
    """Ports in state LISTEN of one table; CannotTell if it is not such a table."""
    rows = text.splitlines()
    if not rows or "local_address" not in rows[0]:
        raise CannotTell("the kernel's table of TCP sockets has no header line")
    matches = (LISTENING.match(row) for row in rows[1:])
    return frozenset(int(match.group(1), 16) for match in matches if match)
