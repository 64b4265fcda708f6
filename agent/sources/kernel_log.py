"""The kernel's own words: /dev/kmsg records, and the incidents that a check made of them.

A record is told once: (boot id, sequence number) is kept as a cursor for each subject. The incidents made of it stay
in the state for 7 days or until a reboot; each check's limits say when an incident is old enough to be ok again.
"""

from __future__ import annotations

import re
from typing import Callable, Iterable, List, NamedTuple, Optional, Tuple

from agent.host import Host, shared
from agent.state import Incident

KERNEL_FACILITY = 0

# 3,1042,5140900,-;blk_update_request: I/O error, dev sdb, sector 0
RECORD = re.compile(r"(\d{1,10}),(\d{1,19}),(\d{1,19}),[^;]*;")
# \x0a, \x5c: bytes that the kernel does not print as they are
ESCAPE = re.compile(r"\\x([0-9a-f]{2})")

# What a check makes of a record: the items it speaks of and what happened to each, or nothing.
Classifier = Callable[["Record"], Iterable[Tuple[str, Incident]]]


class Record(NamedTuple):
    """One record. at: seconds since the epoch. device: `b8:0` (block), `n3` (interface index), `+pci:…`, or empty."""

    seq: int
    facility: int
    level: int
    at: float
    text: str
    device: str


def parse(raw: str, booted_at: float) -> Optional[Record]:
    """A record as /dev/kmsg gives it, or None if it is not one."""
    match = RECORD.match(raw)
    if not match:
        return None
    priority, seq, microseconds = (int(group) for group in match.groups())
    first, *rest = raw[match.end() :].split("\n")
    device = next((row.strip()[len("DEVICE=") :] for row in rest if row.strip().startswith("DEVICE=")), "")
    text = ESCAPE.sub(lambda escape: chr(int(escape.group(1), 16)), first)
    return Record(seq, priority >> 3, priority & 7, booted_at + microseconds / 1e6, text, device)


@shared
def records(host: Host) -> List[Record]:
    """All that the ring buffer still holds of the kernel itself; anyone may write the other facilities."""
    booted_at = host.now() - host.uptime_s()
    parsed = (parse(raw, booted_at) for raw in host.kernel_records())
    return [record for record in parsed if record and record.facility == KERNEL_FACILITY]


def note_new(host: Host, subject: str, classify: Classifier) -> None:
    """Hand each record that `subject` has not seen to `classify`, and note the incidents in the host's state.

    Once per run and subject, however many items ask.
    """
    host.once(("kernel_log.note_new", subject), lambda: _note_new(host, subject, classify))


def _note_new(host: Host, subject: str, classify: Classifier) -> bool:
    seen = host.state.cursor(f"kmsg/{subject}")
    last = seen if isinstance(seen, int) else -1
    for record in records(host):
        if record.seq > last:
            for item, incident in classify(record):
                host.state.add_incidents(subject, item, [incident])
    newest = max((record.seq for record in records(host)), default=last)
    host.state.set_cursor(f"kmsg/{subject}", max(newest, last))
    return True


def incident(kind: str, record: Record) -> Incident:
    """A record as an incident of this kind."""
    return Incident(kind, record.at, 1, record.text[:200])
