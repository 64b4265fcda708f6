"""Arrays of Linux (md) and their members, from /proc/mdstat and `mdadm --detail --export`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agent.api.disks import arrays as raid_arrays
from agent.api.disks import mdstat
from agent.host import CannotTell, Missing
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look, blocks
from playbooks.facts.blocks import Block
from playbooks.view import View

NAME = re.compile(r"md[\w.-]*", re.ASCII)
# MD_DEVICE_dev_sdc1_ROLE=2
EXPORTED = re.compile(r"MD_DEVICE_(?:ev|dev)_(\w+)_(ROLE|DEV)=(.*)")


class Member(NamedTuple):
    """A device of an array. role: its place there, -1 for a spare or a failed one without a place."""

    name: str
    role: int
    failed: bool


class Array(NamedTuple):
    name: str
    level: str
    members: tuple[Member, ...]

    @property
    def device(self) -> str:
        return f"/dev/{self.name}"


def known(view: View) -> list[Array]:
    """Every array, with the roles that mdadm tells."""
    try:
        text = view.read("/proc/mdstat")
    except Missing:
        return []  # no md driver
    return [_with_roles(view, row.name, row.level, mdstat.devices(row)) for row in named(text)]


def named(mdstat_text: str) -> list[mdstat.Row]:
    """The arrays whose name may be part of a command."""
    return [row for row in mdstat.rows(mdstat_text) if NAME.fullmatch(row.name)]


def _with_roles(view: View, name: str, level: str, listed: Sequence[tuple[str, bool]]) -> Array:
    rows = view.out("mdadm", "--detail", "--export", f"/dev/{name}").splitlines()
    devices: dict[str, dict[str, str]] = {}
    for match in filter(None, map(EXPORTED.fullmatch, rows)):
        devices.setdefault(match[1], {})[match[2]] = match[3]
    roles = {said.get("DEV", "").rpartition("/")[2]: said.get("ROLE", "") for said in devices.values()}
    places = {device: int(role) for device, role in roles.items() if role.isdigit()}
    return Array(name, level, tuple(Member(one, places.get(one, -1), failed) for one, failed in sorted(listed)))


def arrays(look: Look, _of: Fact | None) -> list[Candidate]:
    """Every array; its values are its own name, device and level."""
    return [
        Candidate(
            (array.name, array.device), f"{array.device} ({array.level}, {len(array.members)} members)",
            lambda array=array: {"name": array.name, "device": array.device, "level": array.level},  # type: ignore[misc]
        )
        for array in known(look.view)
    ]  # fmt: skip


def disks(look: Look, _of: Fact | None) -> list[Candidate]:
    """Every member of every array. A member that failed comes first to mind: findings name it by its serial number."""
    found = known(look.view)
    there = [_disk(look, array, member) for array in found for member in array.members]
    return [*there, *(_gone(look, array) for array in found if _lacks_one(look.view, array))]


def _lacks_one(view: View, array: Array) -> bool:
    """Whether one place is empty, and no failed member is listed that it could be."""
    return not any(member.failed for member in array.members) and _missing(_slots(view, array), array) >= 0


def _gone(look: Look, array: Array) -> Candidate:
    """The place of a member that md no longer lists: its disk vanished, or was removed before."""

    def values() -> Mapping[str, object]:
        partner = _partner(look.view, array, Member("", -1, True))
        number = blocks.partition_number(look.view, str(partner.get("partner", "")).rpartition("/")[2])
        return {**_of_array(array, number), **partner, "role": str(_missing(_slots(look.view, array), array))}

    vanished = _vanished(look)
    shown = f"{array.device}: missing member {vanished}".strip()
    return Candidate((array.name, array.device, vanished), shown, lambda: {**values(), "serial": vanished})


def _vanished(look: Look) -> str:
    """The serial number of the one disk that the agent misses."""
    missed = [str(one["item"]) for one in look.findings if one["check"] == "smart" and one["facts"].get("vanished")]
    return missed[0] if len(missed) == 1 else ""


def _of_array(array: Array, partition_number: str) -> dict[str, object]:
    return {
        "array": array.device, "raid_item": array.name, "array_sysfs": f"/sys/block/{array.name}/md", "tool": "mdadm",
        "level": array.level, "partition_number": partition_number, "whole": "" if partition_number else "yes",
    }  # fmt: skip


def _disk(look: Look, array: Array, member: Member) -> Candidate:
    disk = blocks.disk_of(look.view, member.name) or _by_name(look.view, member.name)
    state = " (failed)" if member.failed else ""
    shown = f"{array.device}: /dev/{member.name}{state}" + (f", {blocks.words(disk)}" if disk else ", disk not found")
    findings = (array.name,) if member.failed and sum(other.failed for other in array.members) == 1 else ()

    def values() -> Mapping[str, object]:
        about = blocks.about(look.view, disk) if disk else {}
        number = blocks.partition_number(look.view, member.name)
        return {
            **about, **_partner(look.view, array, member), "member": f"/dev/{member.name}",
            "partition": f"/dev/{member.name}", "sysfs": f"/sys/block/{array.name}/md/dev-{member.name}",
            "role": str(member.role) if member.role >= 0 else "", **_of_array(array, number),
        }  # fmt: skip

    return Candidate((member.name, *findings, *(blocks.names(disk) if disk else ())), shown, values)


def _by_name(view: View, member: str) -> Block | None:
    """The disk of a member that md has given up: it no longer stands below the array."""
    return next((disk for disk in blocks.disks(view) if any(one.name == member for one in disk.tree())), None)


def _partner(view: View, array: Array, member: Member) -> dict[str, object]:
    """The members that hold the same data; the first of them stands for all."""
    slots = _slots(view, array)
    place = member.role if member.role >= 0 else _missing(slots, array)
    mirror = next((group for group in slots if place in group), ())
    others = [other for other in array.members if other.role in mirror and other.role != place and not other.failed]
    if not others:
        return {}
    disk = blocks.disk_of(view, others[0].name) or _by_name(view, others[0].name)
    about = {"partner_serial": disk.serial, "partner_device": disk.device} if disk else {}
    return {"partner": f"/dev/{others[0].name}", **about}


def _missing(slots: tuple[tuple[int, ...], ...], array: Array) -> int:
    """The place that nobody has, if it is one: that of a failed member."""
    gone = {slot for group in slots for slot in group} - {member.role for member in array.members if not member.failed}
    return gone.pop() if len(gone) == 1 else -1


def _slots(view: View, array: Array) -> tuple[tuple[int, ...], ...]:
    base = f"/sys/block/{array.name}/md"
    try:
        disks, layout = view.read(f"{base}/raid_disks").split()[0], view.read(f"{base}/layout").strip()
        return raid_arrays.md_mirrors(array.level, int(layout or 0), int(disks))
    except (CannotTell, ValueError, IndexError):
        return ()
