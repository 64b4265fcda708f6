"""Can the disk's mirror partner safely hold its data alone?

In a RAID 10 the partner of the disk that is pulled is the only one with its data until the new disk is rebuilt.

Failed: the partner has a fault, or this disk holds the last copy; another disk of the array is gone or rebuilding; the
array does not run.

Warned: SMART has a warning for the partner.

Cannot tell: the array or its partner's SMART data could not be read; the partner is unknown, and not all disks are
healthy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agent.host import CannotTell, NotApplicable
from agent.status import CRITICAL, OK, SKIPPED, UNKNOWN, WARNING, Verdict, critical, unknown, warning
from inventory.model import Host
from inventory.names import some
from smoketests.cluster.view import Told, findings
from smoketests.gate import arrays, host_findings, replaced_disk
from smoketests.gate.arrays import Array
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import REPLACE_DISK

PURPOSES = (REPLACE_DISK,)
WHEN = ("before",)
CHECKS = ("raid", "smart")
NOT_RUNNING = ("failed", "unknown")


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    (host,) = situation.leaving
    disk = arrays.disk(situation.view, host, situation.maintenance.disk)
    rows = arrays.of(situation.view, host)
    ours = arrays.with_disk(situation.view, host, disk.serial)
    if not situation.stays_up:
        raise NotApplicable(f"no mirror or array with parity of {host.name} has the disk {disk.serial}")
    if not rows:
        raise CannotTell(f"{host.name} reported no array: {_why(situation, host)}")
    if ours:
        partners = sorted({name for row in ours for name in _partners(row.facts, disk)})
        verdicts = [verdict for row in ours for verdict in _array(row, disk)]
        verdicts += _smart(situation, host, [row.facts for row in ours], partners, disk)
        return ruled(verdicts, f"{some(partners)} is healthy and holds the data alone meanwhile", partners=partners)
    verdicts = [verdict for row in rows for verdict in _unnamed(row, disk)]
    verdicts += [*_untold(situation, host), *_all_others(situation, host, disk)]
    return ruled(verdicts, f"whichever its partner is, every other disk of {host.name} is healthy", partners=[])


def _why(situation: GateContext, host: Host) -> str:
    if not host_findings.answers(situation, host):
        return host_findings.why_silent(situation, host)
    reasons = [str(row.get("reason", "")) for _host, row in host_findings.rows(situation, ("raid",), (host,))]
    return "; ".join(reasons)[:200] or "not in its report"


def _array(row: Told[Array], disk: arrays.Disk) -> Iterator[Verdict]:
    """What speaks against pulling this disk out of this array."""
    array = row.facts
    absent = (*array.gone, *array.rebuilding)
    others = [name for name in absent if name not in disk.among(array, absent)]
    if array.state in NOT_RUNNING:
        yield critical(f"{row.item} is {array.said or array.state}")
    if others:
        yield critical(f"{row.item}: {some(others)} failed or rebuilding already; repair that first")
    for gone, last, trouble, _note in array.exposed:
        if disk.among(array, [last]):
            yield critical(f"{disk.serial} alone holds the data of {gone}: pulling it loses the data")
        if disk.among(array, [gone]) and trouble:
            yield critical(f"its partner {last} has {trouble}")


def _unnamed(row: Told[Array], disk: arrays.Disk) -> Iterator[Verdict]:
    """An array of which nobody tells which member this disk is: nothing may be wrong with it."""
    array = row.facts
    if array.state in NOT_RUNNING:
        yield critical(f"{row.item} is {array.said or array.state}")
    if array.gone or array.rebuilding:
        names = some([*array.gone, *array.rebuilding])
        yield unknown(f"{row.item}: {names} failed or rebuilding; whether that is the disk {disk.serial} is unknown")


def _untold(situation: GateContext, host: Host) -> Iterator[Verdict]:
    """An array or a controller that could not be read may be the one that has the disk."""
    for _host, row in findings(situation.view, "raid", (host,)):
        if row.get("status") == UNKNOWN:
            yield unknown(f"{row.get('item')}: {str(row.get('reason', ''))[:160]}")


def _partners(array: Array, disk: arrays.Disk) -> Sequence[str]:
    """The disks with the same data; none where the array does not tell."""
    found = []
    for mirror in array.mirrors:
        own = disk.among(array, mirror)
        found += [name for name in mirror if own and name not in own]
    found += [last for gone, last, *_ in array.exposed if disk.among(array, [gone])]
    return list(dict.fromkeys(found))


def _smart(
    situation: GateContext, host: Host, of: Sequence[Array], partners: Sequence[str], disk: arrays.Disk
) -> list[Verdict]:
    """SMART of the partners; of all other disks where the array does not tell which one it is."""
    if not partners:
        return _all_others(situation, host, disk)
    found = []
    for name in partners:
        kinds = {kind for array in of for member, kind in array.asked_as if member == name}
        rows = [row for row in _others(situation, host, disk) if _is(row, name, kinds)]
        found += [verdict for row in rows for verdict in _judged(row, f"its partner {name}")]
        if not rows:
            found.append(unknown(f"no SMART data of its partner {name}"))
    return found


def _is(row: Mapping[str, Any], name: str, kinds: Collection[str]) -> bool:
    return bool(arrays.serials(name) & replaced_disk.serials_of(row)) or replaced_disk.kind_of(row) in kinds


def _all_others(situation: GateContext, host: Host, disk: arrays.Disk) -> list[Verdict]:
    rows = _others(situation, host, disk)
    if not rows:
        return [unknown("partner unknown, and no SMART data of any other disk")]
    return [verdict for row in rows for verdict in _judged(row, f"{row.get('item')}, which may be its partner,")]


def _others(situation: GateContext, host: Host, disk: arrays.Disk) -> list[Mapping[str, Any]]:
    plain = replaced_disk.plain(disk.serial)
    rows = replaced_disk.smart_rows(situation.view, host)
    return [row for row in rows if row.get("status") != SKIPPED and plain not in replaced_disk.serials_of(row)]


def _judged(row: Mapping[str, Any], who: str) -> Iterator[Verdict]:
    said = f"{who}: {str(row.get('reason', ''))[:160]}"
    if row.get("status") == CRITICAL:
        yield critical(said)
    elif row.get("status") == WARNING:
        yield warning(said)
    elif row.get("status") != OK:
        yield unknown(said)
