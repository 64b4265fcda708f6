"""The kernel's counters of TCP and of connection tracking, in the network namespace of the server where one runs."""

from __future__ import annotations

import os
from typing import Dict, Optional

from agent.host import CannotTell, Host, Missing, NotApplicable, cached_per_run
from agent.named_tuples import NamedTuple
from agent.sources.kafka import processes as kafka

TRACKING = "/proc/sys/net/netfilter"


class Tracking(NamedTuple):
    """Tracked connections, the most there may be, and how many packets were dropped for want of room since boot."""

    tracked: int
    most: int
    dropped: int


@cached_per_run
def counters(host: Host) -> Dict[str, int]:
    """`Tcp.RetransSegs`, `TcpExt.ListenOverflows` and the others, since boot; NotApplicable where none are shown."""
    base = _base(host)
    found: Dict[str, int] = {}
    for name in ("snmp", "netstat"):
        try:
            found.update(parse(host.read(f"{base}/{name}")))
        except Missing:
            continue
    if not found:
        raise NotApplicable("this kernel has no TCP counters")
    return found


def _base(host: Host) -> str:
    try:
        services = kafka.services(host)
    except CannotTell:
        services = []
    own = [f"/proc/{service.process.pid}/net" for service in services]
    return next((base for base in own if host.exists(f"{base}/snmp")), "/proc/net")


def namespace(host: Host) -> str:
    """Whose counters these are, such as `net:[4026531840]`; empty if it cannot be told.

    The link is resolved to /proc/4242/ns/net:[4026531840], and that number is the process's, new in each run.
    """
    process = _base(host).split("/")[2].replace("net", "self")
    try:
        return os.path.basename(host.link(f"/proc/{process}/ns/net"))
    except CannotTell:
        return ""


def parse(text: str) -> Dict[str, int]:
    """Rows in pairs, names above numbers.

    >>> parse("Tcp: OutSegs RetransSegs\\nTcp: 1000 7\\n")
    {'Tcp.OutSegs': 1000, 'Tcp.RetransSegs': 7}
    """
    found = {}
    rows = [row.split() for row in text.splitlines()]
    for names, numbers in zip(rows, rows[1:]):
        if names and numbers and names[0] == numbers[0] and len(names) == len(numbers):
            for name, number in zip(names[1:], numbers[1:]):
                if number.lstrip("-").isascii() and number.lstrip("-").isdigit() and not name[0].isdigit():
                    found[f"{names[0].rstrip(':')}.{name}"] = int(number)
    return found


def tracking(host: Host) -> Optional[Tracking]:
    """None where the kernel tracks no connections."""
    try:
        count, most = (host.read_int(f"{TRACKING}/nf_conntrack_{name}") for name in ("count", "max"))
    except Missing:
        return None
    if most <= 0:  # nf_conntrack_max=0: as many as there is memory for
        return None
    try:
        dropped = _dropped(host.read("/proc/net/stat/nf_conntrack"))
    except CannotTell:
        dropped = 0
    return Tracking(count, most, dropped)


def _dropped(text: str) -> int:
    """A row of names, then one of hexadecimal numbers for each processor.

    Two packets that raced for one new entry (DNS behind NAT) are counted as `drop` and as `insert_failed`, however
    empty the table is: only the other drops are for want of room.

    entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error …
    00000a1b  00000000 0000001c 00000000 0000012a 00000000 00000000 00000000 00000000 00000003 00000003 00000000 …
    """
    names, *rows = [row.split() for row in text.splitlines() if row.strip()] or [[]]
    if "drop" not in names:
        return 0
    at = {name: names.index(name) for name in ("drop", "insert_failed") if name in names}
    try:
        total = {name: sum(int(row[i], 16) for row in rows if len(row) > i) for name, i in at.items()}
        return max(total["drop"] - total.get("insert_failed", 0), 0)
    except ValueError:
        return 0
