"""Does the disk's mirror partner hold its data alone, safely?

In a RAID 10 the partner of the disk that is pulled is the only one with its data until the new disk is rebuilt.

Failed: the partner has a fault, or is this very disk's last copy; another disk of the array is gone or rebuilding; the
array does not run.

Warned: SMART has a warning for the partner.

Cannot tell: the array or its partner's SMART data could not be read; which disk the partner is, and not all are well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.status import CRITICAL, OK, WARNING, Verdict, critical, unknown, warning
from inventory.model import Host
from smoketests.cluster.view import CannotTell, NotAsked, Told, some
from smoketests.gate import arrays, machines, replaced_disk
from smoketests.gate.arrays import Array
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import REPLACE_DISK
from smoketests.gate.situation import RAID10, Situation

LIMITS: Mapping[str, Any] = {}
PURPOSES = (REPLACE_DISK,)
WHEN = ("before",)
CHECKS = ("raid", "smart")
FINAL = ""


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    (host,) = situation.leaving
    serial = situation.maintenance.disk
    rows = arrays.of(situation, host)
    ours = [row for row in rows if any(arrays.names(member, serial) for member in _members(row.facts))]
    if not ours and host.layout != RAID10:
        raise NotAsked(f"{host.name} has no RAID 10 with the disk {serial}")
    if not rows:
        raise CannotTell(f"{host.name} told of no array: {_why(situation, host)}")
    verdicts = [verdict for row in ours or rows for verdict in _array(situation, host, row, serial)]
    partners = sorted({name for row in ours for name in _partners(row.facts, serial)})
    said = some(partners) if partners else f"every other disk of {host.name}"
    return ruled(verdicts, f"{said} is well and holds the data alone meanwhile", partners=partners)


def _members(array: Array) -> list[str]:
    exposed = [name for gone, last, *_ in array.exposed for name in (gone, last)]
    return [*array.gone, *array.rebuilding, *exposed, *(name for mirror in array.mirrors for name in mirror)]


def _why(situation: Situation, host: Host) -> str:
    if not machines.answers(situation, host):
        return machines.why_silent(situation, host)
    reasons = [str(row.get("reason", "")) for _host, row in machines.rows(situation, ("raid",), (host,))]
    return "; ".join(reasons)[:200] or "its report has no such finding"


def _array(situation: Situation, host: Host, row: Told[Array], serial: str) -> Iterator[Verdict]:
    array = row.facts
    others = [name for name in (*array.gone, *array.rebuilding) if not arrays.names(name, serial)]
    if array.state in ("failed", "unknown"):
        yield critical(f"{row.item} is {array.said or array.state}")
    if others:
        yield critical(f"{row.item}: {some(others)} failed or rebuilding already; mend that first")
    last = [(gone, trouble) for gone, last, trouble, _note in array.exposed if arrays.names(last, serial)]
    if last:
        yield critical(f"{serial} alone holds the data of {last[0][0]}: pulling it loses them")
    for gone, name, trouble, _note in array.exposed:
        if arrays.names(gone, serial) and trouble:
            yield critical(f"its partner {name} has {trouble}")
    yield from _smart(situation, host, _partners(array, serial), serial)


def _partners(array: Array, serial: str) -> Sequence[str]:
    """The disks with the same data; none where the array does not tell."""
    mirrors = [mirror for mirror in array.mirrors if any(arrays.names(name, serial) for name in mirror)]
    found = [name for mirror in mirrors for name in mirror if not arrays.names(name, serial)]
    found += [last for gone, last, *_ in array.exposed if arrays.names(gone, serial)]
    return list(dict.fromkeys(found))


def _smart(situation: Situation, host: Host, partners: Sequence[str], serial: str) -> Iterator[Verdict]:
    """SMART of the partners; of all other disks where nobody tells which one it is."""
    rows = [
        row
        for row in replaced_disk.smart_rows(situation, host)
        if replaced_disk.plain(serial) not in replaced_disk.serials_of(row)
    ]
    if not partners:
        if not rows:
            yield unknown("neither the partner nor the SMART data of any other disk are told")
        for row in rows:
            yield from _judged(row, f"{row.get('item')}, which may be its partner,")
        return
    for name in partners:
        found = [row for row in rows if any(word in name.lower() for word in replaced_disk.serials_of(row))]
        if not found:
            yield unknown(f"SMART data of its partner {name} are not told")
        for row in found:
            yield from _judged(row, f"its partner {name}")


def _judged(row: Mapping[str, Any], who: str) -> Iterator[Verdict]:
    said = f"{who}: {str(row.get('reason', ''))[:160]}"
    if row.get("status") == CRITICAL:
        yield critical(said)
    elif row.get("status") == WARNING:
        yield warning(said)
    elif row.get("status") != OK:
        yield unknown(said)
