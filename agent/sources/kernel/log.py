"""The kernel log: /dev/kmsg records, and the incidents that a check made of them.

A record is told once: (boot id, sequence number) is kept as a cursor for each subject. The incidents made of it stay
in the state for 7 days or until a reboot; each check's limits say when an incident is old enough to be ok again.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterable, List, Optional, Pattern, Sequence, Tuple

from agent.host import CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.state import Incident

KERNEL_FACILITY = 0
TEXT_LENGTH = 200
LINE_LENGTH = 2000
# Of a line in a sentence: up to where it is told whole, what must be left without brackets, and the most.
QUOTED_WHOLE, QUOTED_LEAST, QUOTED_MOST = 90, 40, 120
SAME_EVENT_S = 60.0

# 3,1042,5140900,-;blk_update_request: I/O error, dev sdb, sector 0
# 6,339,5140900;NET: Registered protocol family 10        (before Linux 3.7: no flags)
# 4,2201,981234567,-,caller=T714;EXT4-fs warning …         (with CONFIG_PRINTK_CALLER)
RECORD = pattern(r"(\d{1,10}),(\d{1,20}),(\d{1,20})(?:,[^;\n]*)?;", re.ASCII)
# \x0a, \x5c: bytes that the kernel does not print as they are
ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")

# What a check makes of a record: the items it speaks of and what happened to each, or nothing.
Classifier = Callable[["Record"], Iterable[Tuple[str, Incident]]]
# The same for all new records together, where one line explains another.
Digest = Callable[[Sequence["Record"]], Iterable[Tuple[str, Incident]]]


class Record(NamedTuple):
    """One record. at: seconds since the epoch, never ahead of now. uptime_s: since the boot.

    device: `b8:0` (block), `n3` (interface index), `+pci:0000:05:00.0`, `+scsi:2:0:0:0`, or empty.
    """

    seq: int
    facility: int
    level: int
    at: float
    text: str
    device: str
    uptime_s: float


class Sighting(NamedTuple):
    """A line that says that something of this kind happened to the item, `times` times."""

    item: str
    kind: str
    record: Record
    form: Pattern[str]
    each: bool = True
    times: int = 1


class Ring(NamedTuple):
    """The ring buffer: what the kernel itself wrote, and the sequence numbers of everything in it, rising."""

    records: List[Record]
    numbers: List[int]


class News(NamedTuple):
    """What a subject had not seen before: incidents by item, and how many records are missing, overwritten unread.

    first: nobody looked before in this boot, so what is missing may be as old as the boot. not_read: why there is no
    news at all, for a subject that has counters too.
    """

    incidents: Dict[str, List[Incident]]
    lost: int
    first: bool
    not_read: str = ""


def parse(raw: str, booted_at: float, now: float = float("inf")) -> Optional[Record]:
    """A record as /dev/kmsg gives it, or None if it is not one."""
    match = RECORD.match(raw)
    if not match:
        return None
    priority, seq, microseconds = map(int, match.groups())
    first, _, more = raw[match.end() :].partition("\n")
    device = _device(more) if "DEVICE=" in more else ""
    uptime_s = microseconds / 1e6
    text = unescape(first)[:LINE_LENGTH]
    return Record(seq, priority >> 3, priority & 7, min(booted_at + uptime_s, now), text, device, uptime_s)


def _device(text: str) -> str:
    rows = (row.strip() for row in text.split("\n"))
    return next((row[len("DEVICE=") :] for row in rows if row.startswith("DEVICE=")), "")


def unescape(text: str) -> str:
    r"""The text of a record with its bytes as they were.

    >>> unescape(r"EXT4-fs error (device sda1): caf\xc3\xa9\x0anext")
    'EXT4-fs error (device sda1): café\nnext'
    """
    if "\\x" not in text:
        return text
    given = text.encode("utf-8", "surrogatepass")
    return ESCAPE.sub(lambda escape: bytes([int(escape.group(1), 16)]), given).decode("utf-8", "replace")


@cached_per_run
def ring(host: Host) -> Ring:
    """All that the ring buffer still holds."""
    now = host.now()
    booted_at = now - host.uptime_s()
    parsed = [record for record in (parse(raw, booted_at, now) for raw in host.kernel_records()) if record]
    return Ring(
        [record for record in parsed if record.facility == KERNEL_FACILITY],
        sorted({record.seq for record in parsed}),
    )


def records(host: Host) -> List[Record]:
    """What the kernel itself wrote, as far back as the buffer reaches; anyone may write the other facilities."""
    return ring(host).records


def note_new(host: Host, subject: str, classify: Classifier) -> News:
    """Hand each record that `subject` has not seen to `classify`, and note the incidents in the host's state.

    Once per run and subject, however many items ask.
    """
    return note_together(host, subject, lambda new: [found for record in new for found in classify(record)])


def note_where_readable(host: Host, subject: str, digest: Digest) -> News:
    """As `note_together`, for a subject that counters tell of as well: without the log it has less news, but can tell.

    That the log itself cannot be read is told once, by the check disk_errors.
    """
    try:
        return note_together(host, subject, digest)
    except CannotTell as error:
        return News({}, 0, False, str(error))


def note_together(host: Host, subject: str, digest: Digest) -> News:
    """As `note_new`, for a digest that sees all new records at once."""
    return host.once(("kernel_log.note", subject), lambda: _note(host, subject, digest))


def _note(host: Host, subject: str, digest: Digest) -> News:
    seen = ring(host)
    newest = seen.numbers[-1] if seen.numbers else -1
    cursor = host.state.cursor(f"kmsg/{subject}")
    last = cursor if isinstance(cursor, int) and cursor <= newest else None
    if last is None and isinstance(cursor, int) and not seen.numbers:
        last = cursor
    found: Dict[str, List[Incident]] = {}
    new = [record for record in seen.records if last is None or record.seq > last]
    for item, incident_ in digest(new):
        found.setdefault(item, []).append(incident_)
    for item, incidents in found.items():
        host.state.add_incidents(subject, item, incidents)
    host.state.set_cursor(f"kmsg/{subject}", newest if last is None else max(newest, last))
    return News(found, lost_between(seen.numbers, last), last is None)


def lost_between(numbers: Sequence[int], last: Optional[int]) -> int:
    """How many records after `last` (None: before the oldest in the buffer) are missing among rising `numbers`."""
    after = list(numbers) if last is None else [last] + [number for number in numbers if number > last]
    return after[-1] - after[0] + 1 - len(after) if after else 0


def incident(kind: str, record: Record) -> Incident:
    """A record as an incident of this kind."""
    return Incident(kind, record.at, 1, one_line(record.text))


def quoted(text: str) -> str:
    """A line for a sentence; a long one without the numbers in brackets at its end.

    >>> quoted("EDAC MC1: 64 CE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x2b67af")
    'EDAC MC1: 64 CE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0'
    """
    at = text.rfind(" (")
    return text[:at] if len(text) > QUOTED_WHOLE and at >= QUOTED_LEAST else text[:QUOTED_MOST]


def one_line(text: str) -> str:
    """A record's text as one short line, safe to print."""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))[:TEXT_LENGTH]


def gather(sightings: Iterable[Sighting]) -> List[Tuple[str, Incident]]:
    """Incidents: sightings of one kind on one item within a minute are told as one.

    The kernel tells one event in several lines (`Sense Key : Medium Error`, then `critical medium error`), so the
    events are as many as the most frequent form of line counts, not the sum of all forms.
    """
    bunches: Dict[Tuple[str, str], List[List[Sighting]]] = {}
    for seen in sightings:
        of_kind = bunches.setdefault((seen.item, seen.kind), [])
        if of_kind and 0 <= seen.record.at - of_kind[-1][0].record.at <= SAME_EVENT_S:
            of_kind[-1].append(seen)
        else:
            of_kind.append([seen])
    return [
        (item, Incident(kind, bunch[-1].record.at, _events(bunch), one_line(bunch[-1].record.text)))
        for (item, kind), of_kind in bunches.items()
        for bunch in of_kind
    ]


def _events(bunch: Sequence[Sighting]) -> int:
    times: Dict[Pattern[str], int] = {}
    for seen in bunch:
        times[seen.form] = times.get(seen.form, 0) + seen.times if seen.each else 1
    return max(times.values())
