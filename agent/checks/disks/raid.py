"""Does every array have all its disks, and would it survive the loss of one more?

Arrays of Linux (md; btrfs and ZFS below a data mount) and of RAID controllers (storcli and perccli of both generations,
ssacli, MegaCli, arcconf, mvcli); the controllers themselves (battery, write cache, foreign and bad disks), and the
layout that the inventory names.
Warning: an array is rebuilding, copies differed in the last check, a member had errors or is predicted to fail, a write
cache has lost its battery or is off where it could be on (writes are slow), the layout is not that of the inventory.
A missing spare is no fault.
Critical: an array is degraded, not running or has lost data; a mirror's last disk is failing too (one failure from
data loss).
Unknown: the tool of a RAID controller is not installed or its output cannot be read, or the agent supports no tool for
its driver (the reason names the one to use).
Ok again: as soon as the array is whole; errors of members 7 days after the last one.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays as raid
from agent.sources.raid import mdstat, members, subjects
from agent.sources.raid.arrays import Array, Controller, Member
from agent.status import Verdict, combine, count_of, critical, unknown, warning

LIMITS = {"mismatches_warning": 1, "member_errors_warning": 1, "clear_after_hours": 168}
PLAYBOOK = "replace-raid10-disk"
CONTROLLER_PLAYBOOK = "failed-motherboard"
DEADLINE_S = 45.0

LAYOUT = "layout"
LAYOUTS = ("jbod", "raid10")


class Facts(NamedTuple):
    """kind: array, controller or layout. percent and left_s: -1 when unknown.

    exposed: mirrors with one disk left, as (gone, last, what is wrong with the last, what else is known of it).
    member_errors: (disk, read errors, hours since the last was seen). mirrors: the disks that hold the same data.
    asked_as: (disk, how smartctl reaches it behind its controller, such as `megaraid,17`).
    """

    kind: str
    level: str
    state: str
    said: str
    disks: int
    gone: Tuple[str, ...] = ()
    rebuilding: Tuple[str, ...] = ()
    lost: Tuple[str, ...] = ()
    exposed: Tuple[Tuple[str, str, str, str], ...] = ()
    action: str = ""
    percent: float = -1.0
    left_s: float = -1.0
    mismatches: int = 0
    member_errors: Tuple[Tuple[str, int, float], ...] = ()
    faults: Tuple[str, ...] = ()
    troubles: Tuple[str, ...] = ()
    untold: Tuple[str, ...] = ()
    errors_are: str = "read errors repaired"
    mirrors: Tuple[Tuple[str, ...], ...] = ()
    asked_as: Tuple[Tuple[str, str], ...] = ()


def find(host: Host) -> Sequence[str]:
    found = subjects.subjects(host)
    items = list(found)
    if host.expected.layout in LAYOUTS and not any(isinstance(subject, CannotTell) for subject in found.values()):
        items.append(LAYOUT)
    if not items:
        raise NotApplicable("no RAID array and no RAID controller on this machine")
    return items


def look(host: Host, item: str) -> Facts:
    if item == LAYOUT:
        return _layout(host)
    subject = subjects.subjects(host)[item]
    if isinstance(subject, CannotTell):
        raise subject
    if isinstance(subject, Controller):
        return Facts(
            "controller",
            "",
            raid.OPTIMAL,
            subject.model,
            subject.disks,
            faults=subject.faults,
            troubles=subject.troubles,
            untold=subject.untold,
        )
    return _array(host, subject)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    rules = (_running, _redundancy, _work, _reports, _errors)
    healthy = f"{facts.level} {facts.said}".strip() + (f", {count_of(facts.disks, 'disk')}" if facts.disks else "")
    return combine([verdict for rule in rules for verdict in rule(facts, limits)], healthy)


def _array(host: Host, array: Array) -> Facts:
    errors = tuple(members.errors_of(host, array, member) for member in array.members if _has_errors(member))
    array = raid.settled(array._replace(members=tuple(members.with_serial(host, member) for member in array.members)))
    absent = (raid.FAILED, raid.MISSING)
    troubles = [f"{member.name}: {member.trouble}" for member in array.members if member.trouble]
    if array.state in (raid.OPTIMAL, raid.REBUILDING):
        troubles += [f"{member.name} failed and is still listed" for member in array.members if member.state in absent]
    return Facts(
        kind="array",
        level=array.level,
        state=array.state,
        said=array.said,
        disks=sum(member.state not in absent for member in array.members),
        gone=tuple(member.name for member in array.members if member.state in absent),
        rebuilding=tuple(member.name for member in array.members if member.state == raid.REBUILDING),
        lost=tuple(" and ".join(names) for names in raid.lost(array)),
        exposed=tuple(
            (" and ".join(gone), last.name, *members.health(host, last)) for gone, last in raid.exposed(array)
        ),
        action=array.action,
        percent=array.percent,
        left_s=array.left_s,
        mismatches=array.mismatches,
        member_errors=errors,
        faults=array.faults,
        troubles=(*array.troubles, *troubles),
        errors_are=array.errors_are,
        mirrors=tuple(raid.mirrors(array)),
        asked_as=tuple((member.name, member.kind) for member in array.members if member.kind),
    )


def _has_errors(member: Member) -> bool:
    """A failed member is reported as failed; its read errors are no longer repaired."""
    return member.errors > 0 and member.state not in (raid.FAILED, raid.MISSING)


def _layout(host: Host) -> Facts:
    seen, named = subjects.layout(host), host.expected.layout
    troubles = () if seen == named else (f"layout {seen}, the inventory expects {named}",)
    return Facts(LAYOUT, seen, raid.OPTIMAL, "as in the inventory", 0, troubles=troubles)


def _running(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    if facts.state == raid.FAILED:
        why = mdstat.NOT_RUNNING.get(facts.said, "not running")
        return [critical(f"{facts.level} array failed ({facts.said}): {why}{_gone(facts)}", PLAYBOOK)]
    if facts.state == raid.UNKNOWN:
        return [unknown(f"{facts.level} array: state unknown: {facts.said}")]
    return []


def _redundancy(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    found = [critical(f"data lost: {names} held the same data and both are gone", PLAYBOOK) for names in facts.lost]
    for gone, last, trouble, _ in facts.exposed:
        if trouble:
            what = "is rebuilding" if gone in facts.rebuilding else "failed"
            found.append(
                critical(f"{gone} {what} and its mirror {last} has {trouble}: one failure from data loss", PLAYBOOK)
            )
    if facts.state == raid.DEGRADED and not found:
        mirrors = "".join(f"; {last} alone holds the data of {gone}, {note}" for gone, last, _, note in facts.exposed)
        found.append(critical(f"{facts.level} array is degraded ({facts.said}){_gone(facts)}{mirrors}", PLAYBOOK))
    return found


def _gone(facts: Facts) -> str:
    return f": {', '.join(facts.gone)} failed or missing" if facts.gone else ""


def _work(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    """A rebuild or a first synchronisation; a check or a repair of whole arrays is no news."""
    if facts.state != raid.REBUILDING and not facts.rebuilding:
        return []
    what = f"rebuilding {', '.join(facts.rebuilding)}" if facts.rebuilding else f"{facts.action or 'rebuild'} under way"
    percent = f"{facts.percent:g} % done" if facts.percent >= 0 else "progress unknown"
    left = f", about {facts.left_s / 3600:.1f} h left" if facts.left_s >= 0 else ""
    return [warning(f"{facts.level} array: {what}, {percent}{left}", PLAYBOOK)]


def _reports(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    """What the controller or the members say against themselves, and the outcome of the last check."""
    playbook = PLAYBOOK if facts.kind == "array" else CONTROLLER_PLAYBOOK
    found = [critical(fault, playbook) for fault in facts.faults]
    found += [unknown(words) for words in facts.untold]
    found += [warning(trouble, _playbook(facts, trouble)) for trouble in facts.troubles]
    if facts.mismatches >= limits["mismatches_warning"]:
        found.append(warning(f"{facts.mismatches} sectors differed between copies in the last check", PLAYBOOK))
    return found


def _playbook(facts: Facts, trouble: str) -> str:
    """A new disk repairs no battery, fan or layout."""
    return PLAYBOOK if facts.kind == "array" or "disk" in trouble else ""


def _errors(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    return [
        warning(f"{name}: {errors} {facts.errors_are}, last {hours:.0f} h ago", PLAYBOOK)
        for name, errors, hours in facts.member_errors
        if errors >= limits["member_errors_warning"] and 0 <= hours < limits["clear_after_hours"]
    ]
