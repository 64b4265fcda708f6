"""One disk of an array with its serial, and the faults that its controller, its array and SMART report."""

from __future__ import annotations

from typing import Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.sources.disks import block_devices
from agent.sources.raid.arrays import Array, Member
from agent.sources.smart import disks as smart_disks
from agent.sources.smart import rules as smart_rules
from agent.sources.smart import smartctl
from agent.state import Incident
from agent.status import UNKNOWN

# Of the last copy one sector that cannot be read is one too many: its data are nowhere else.
LAST_COPY = {"pending_warning": 1}


def with_serial(host: Host, member: Member) -> Member:
    """The member named as a person finds it: `sdc1 (serial ZA1BC2)`."""
    try:
        disk = block_devices.disks(host).get(member.disk)
    except CannotTell:
        return member
    return member._replace(name=f"{member.name} (serial {disk.serial})") if disk and disk.serial else member


def health(host: Host, last: Member) -> Tuple[str, str]:
    """What is wrong with the last disk of a mirror by its array, its controller and SMART; and what is not known."""
    said = [last.trouble, f"{last.errors} read errors" if last.errors else ""]
    trouble, note = _smart(host, last)
    return ", ".join(filter(None, (*said, trouble))), note


def _smart(host: Host, member: Member) -> Tuple[str, str]:
    """What SMART has against a disk by the rules of the check smart, and what is to say if that is nothing."""
    if not member.disk:
        return "", "its SMART data are not accessible"
    try:
        facts = smartctl.read(host, f"/dev/{member.disk}", member.kind)
    except (CannotTell, NotApplicable) as error:
        return "", f"its SMART data cannot be read ({error})"
    item = smart_disks.item_at(host, f"/dev/{member.disk}", member.kind)
    found = smart_rules.verdicts(facts, host.limits("smart", {**smart_rules.LIMITS, **LAST_COPY}, item))
    unreported = [verdict.reason for verdict in found if verdict.status == UNKNOWN]
    reported = [verdict.reason for verdict in found if verdict.status != UNKNOWN]
    return "; ".join(reported), unreported[0] if unreported else "SMART reports no fault"


def errors_of(host: Host, array: Array, member: Member) -> Tuple[str, int, float]:
    """Read errors of the last 7 days that were not told before this boot, and how many hours ago they were seen."""
    key = f"raid/errors/{array.name}/{member.name}"
    before = host.state.remembered(key)
    host.state.remember(key, member.errors)
    new = member.errors - before if isinstance(before, int) and before <= member.errors else member.errors
    item = f"{array.name} {member.name}"
    if new:
        host.state.add_incidents("raid_errors", item, [Incident("read errors", host.now(), new)])
    noted = host.state.incidents("raid_errors", item)
    hours = (host.now() - noted[-1].at) / 3600 if noted else -1.0
    return member.name, sum(incident.times for incident in noted), round(hours, 1)
