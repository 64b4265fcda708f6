"""Disks behind a RAID controller, as reported by its own tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agent.api.disks import Array, Member, controllers, members
from agent.host import CannotTell
from playbooks.fact_schema import Fact
from playbooks.facts import Candidate, Look, md
from playbooks.view import View

TOOLS = ("storcli64", "storcli", "perccli64", "perccli", "ssacli", "MegaCli64", "arcconf")
# c0/v0 of MegaRAID's tools
VOLUME = re.compile(r"c(\d+)/v(\d+)")
# 252:1 is enclosure and slot
SLOT = re.compile(r"(?<!\d)(\d{1,9}):(\d{1,9})")
# ssacli's: slot 0 ld 2, and port, box and bay of a drive: disk 1I:1:3
LOGICAL_DRIVE = re.compile(r"slot (\d+) ld (\d+)")
BAY = re.compile(r"disk (\d*[A-Z]*):(\d+):(\d+)")


def disks(look: Look, _of: Fact | None) -> list[Candidate]:
    """Every member of every volume of every controller."""
    view = look.view
    tool = _tool(view)
    return [_disk(look, tool, array, member) for array, member in _members(view)]


def of_any_kind(look: Look, of: Fact | None) -> list[Candidate]:
    """Members of mirrored arrays, whoever keeps them."""
    return [*md.disks(look, of), *disks(look, of)]


def _members(view: View) -> Iterator[tuple[Array, Member]]:
    for driver in sorted({card.driver for card in controllers.cards(view)}):
        for controller in controllers.controllers(view, driver):
            for array in controller.arrays:
                for member in array.members:
                    yield array, member


def _tool(view: View) -> str:
    for name in TOOLS:
        try:
            view.run(name, "-v")
        except CannotTell:
            continue
        return name
    return ""


def _disk(look: Look, tool: str, array: Array, member: Member) -> Candidate:
    place = where(array.name, member.name)
    named = members.with_serial(look.view, member).name
    serial = _serial(look.view, member)
    troubled = bool(member.trouble) or member.state not in ("online", "spare")

    def values() -> Mapping[str, object]:
        partner = {"partner_serial": _partner(look.view, array, member)} if serial else {}
        known = {"virtual_disk": array.name, "raid_item": array.name, **place, **partner}
        return {"tool": tool, "serial": serial, "state": member.state, **known}

    slot = f"{place['enclosure']}:{place['slot']}" if "enclosure" in place else ""
    names = (member.name, serial, slot, place.get("path", ""), *((array.name,) if troubled else ()))
    return Candidate(names, f"{array.name}: {named}, {member.state} {member.trouble}".strip(), values)


def where(array: str, member: str) -> dict[str, str]:
    """How the controller's tool calls a member, and where a person finds it.

    >>> where("c0/v1", "slot 252:3")
    {'controller': '0', 'virtual_disk': '1', 'path': '/c0/e252/s3', 'enclosure': '252', 'slot': '3'}
    >>> where("slot 0 ld 2", "disk 1I:1:4")
    {'controller': '0', 'virtual_disk': '2', 'path': '1I:1:4', 'slot': 'port 1I box 1 bay 4'}
    """
    volume, slot = VOLUME.fullmatch(array), SLOT.search(member)
    if volume and slot:
        path = f"/c{volume[1]}/e{slot[1]}/s{slot[2]}"
        return {"controller": volume[1], "virtual_disk": volume[2], "path": path, "enclosure": slot[1], "slot": slot[2]}
    drive, bay = LOGICAL_DRIVE.fullmatch(array), BAY.fullmatch(member)
    if drive and bay:
        place = f"port {bay[1]} box {bay[2]} bay {bay[3]}"
        return {"controller": drive[1], "virtual_disk": drive[2], "path": ":".join(bay.groups()), "slot": place}
    return {"enclosure": slot[1], "slot": slot[2]} if slot else {}


def _partner(view: View, array: Array, member: Member) -> str:
    """The serial number of the member that has the same data; empty where the controller does not tell."""
    group = next((slots for slots in array.groups if member.slot in slots), ())
    others = [other for other in array.members if other.slot in group and other.slot != member.slot]
    return _serial(view, others[0]) if others else ""


def _serial(view: View, member: Member) -> str:
    named = members.with_serial(view, member).name
    return next(iter(re.findall(r"serial ([^\s,;)]+)", named)), "")
