"""Does every array still have all its disks, and would it survive the loss of one more?

Arrays of Linux (md) and of RAID controllers (storcli, perccli, ssacli, MegaCli, arcconf); the controllers themselves
(battery, foreign and bad disks), and the layout that the inventory names.
Warning: an array rebuilds, copies differed in the last check, a member had read errors or is predicted to fail, a
write cache has lost its battery, the layout is not what the inventory says. A missing spare is no fault.
Critical: an array is degraded or does not run; a mirror's last disk is itself in trouble (one failure from data loss).
Unknown: a RAID controller is there and its tool is not installed, or says something that we do not know.
Ok again: as soon as the array is whole; read errors 7 days after the last one.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

from agent.host import CannotTell, Host, NotApplicable, shared
from agent.sources import block_devices, md, raid_controllers
from agent.sources import raid_arrays as raid
from agent.sources.raid_arrays import Array, Controller, Member
from agent.state import Incident
from agent.status import Verdict, combine, critical, unknown, warning

LIMITS = {"mismatches_warning": 1, "member_errors_warning": 1, "clear_after_hours": 168}
PLAYBOOK = "replace-raid10-disk"
DEADLINE_S = 45.0

LAYOUT = "layout"
LAYOUTS = ("jbod", "raid10")

Subject = Union[Array, Controller, CannotTell]


class Facts(NamedTuple):
    """kind: array, controller or layout. percent and left_s: -1 when not told.

    exposed: mirrors with one disk left, as (gone, last, what is wrong with the last). member_errors: (disk, read
    errors, hours since the last was seen).
    """

    kind: str
    level: str
    state: str
    said: str
    disks: int
    gone: Tuple[str, ...] = ()
    rebuilding: Tuple[str, ...] = ()
    lost: Tuple[str, ...] = ()
    exposed: Tuple[Tuple[str, str, str], ...] = ()
    action: str = ""
    percent: float = -1.0
    left_s: float = -1.0
    mismatches: int = 0
    member_errors: Tuple[Tuple[str, int, float], ...] = ()
    faults: Tuple[str, ...] = ()
    troubles: Tuple[str, ...] = ()


def find(host: Host) -> Sequence[str]:
    found = _subjects(host)
    items = list(found)
    if host.expected.layout in LAYOUTS and not any(isinstance(subject, CannotTell) for subject in found.values()):
        items.append(LAYOUT)
    if not items:
        raise NotApplicable("no RAID array and no RAID controller on this machine")
    return items


def look(host: Host, item: str) -> Facts:
    if item == LAYOUT:
        return _layout(host)
    subject = _subjects(host)[item]
    if isinstance(subject, CannotTell):
        raise subject
    if isinstance(subject, Controller):
        return Facts(
            "controller", "", raid.OPTIMAL, subject.model, subject.disks, faults=subject.faults, troubles=subject.troubles
        )
    return _array(host, subject)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    rules = (_running, _redundancy, _work, _reports, _errors)
    healthy = f"{facts.level} {facts.said}, {facts.disks} disks".strip()
    return combine([verdict for rule in rules for verdict in rule(facts, limits)], healthy)


@shared
def _subjects(host: Host) -> Dict[str, Subject]:
    """Every array and controller by its item; an error stands for those that could not be asked."""
    found: Dict[str, Subject] = {}
    _gather(found, "md", lambda: list(md.arrays(host).values()))
    _gather(found, "volumes", lambda: raid_controllers.volumes(host))
    for driver in sorted({card.driver for card in raid_controllers.cards(host)}):
        _gather(found, driver, lambda driver=driver: raid_controllers.controllers(host, driver))  # type: ignore[misc]
    return found


def _gather(found: Dict[str, Subject], name: str, ask: Callable[[], Sequence[Union[Array, Controller]]]) -> None:
    try:
        for subject in ask():
            found[subject.name] = subject
            if isinstance(subject, Controller):
                found.update({array.name: array for array in subject.arrays})
    except CannotTell as error:
        found[name] = error


def _array(host: Host, array: Array) -> Facts:
    absent = (raid.FAILED, raid.MISSING)
    return Facts(
        kind="array",
        level=array.level,
        state=array.state,
        said=array.said,
        disks=sum(member.state not in absent for member in array.members),
        gone=tuple(member.name for member in array.members if member.state in absent),
        rebuilding=tuple(member.name for member in array.members if member.state == raid.REBUILDING),
        lost=tuple(" and ".join(names) for names in raid.lost(array)),
        exposed=tuple((" and ".join(gone), last.name, _against(last)) for gone, last in raid.exposed(array)),
        action=array.action,
        percent=array.percent,
        left_s=array.left_s,
        mismatches=array.mismatches,
        member_errors=tuple(_errors_of(host, array, member) for member in array.members if member.errors),
        troubles=tuple(f"{member.name}: {member.trouble}" for member in array.members if member.trouble),
    )
