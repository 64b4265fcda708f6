"""storcli and perccli (MegaRAID, PERC): what `/call show all` says, as JSON or as text.

The text's tables are read into the shape of the JSON, so that one reading of it serves both.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Mapping, Match, NamedTuple, Tuple

from agent.host import CannotTell
from agent.sources import raid_arrays as raid
from agent.sources import storcli_text
from agent.sources.megaraid_words import DISK_STATES, VIRTUAL_STATES
from agent.sources.raid_arrays import Array, Controller, Member

Row = Mapping[str, Any]

# Disks outside every array that are as they should be: unconfigured good, JBOD, hot spares, ready, sanitising.
AT_REST = ("ugood", "jbod", "ghs", "dhs", "rdy", "onln", "conf", "sntze", "rbld", "cpybck")
GOOD = ("optimal", "ok", "na", "n/a", "-", "", "0", "none", "charging", "learning", "optimal/learning")
# BBU Status 32: a learn cycle is under way; 0: all is well
BBU_BITS_AT_REST = 0x20

# Drive-ID /c0/e252/s1      section: Drive /c0/e252/s1 State
DRIVE = re.compile(r"/c(\d{1,3})(?:/e(\d{1,4}))?/s(\d{1,4})\b")


class Rebuild(NamedTuple):
    percent: float
    left_s: float


class DriveHealth(NamedTuple):
    """What the controller has against a drive, in words, and the media errors it counted."""

    trouble: str
    media_errors: int


def parse(text: str) -> List[Controller]:
    """The controllers of `/call show all` with or without J; CannotTell if it tells of none or is odd."""
    return [_controller(response) for response in _responses(text)]


def parse_rebuilds(text: str) -> Dict[str, Rebuild]:
    """The rebuilds of `/call/eall/sall show rebuild`: `c0 slot 252:1` -> progress."""
    found = {}
    for response in _responses(text):
        for row in _rows(response):
            drive = DRIVE.search(str(row.get("Drive-ID", "")))
            percent = re.match(r"\d{1,3}(?:\.\d+)?", str(row.get("Progress%", "")))
            if drive and percent:
                left_s = _seconds(str(row.get("Estimated Time Left", "")))
                found[_drive_name(drive)] = Rebuild(min(float(percent.group()), 100.0), left_s)
    return found


def parse_drives(text: str) -> Dict[str, DriveHealth]:
    """What `/call/eall/sall show all` has against its drives: `c0 slot 252:1` -> words and media errors."""
    found = {}
    for response in _responses(text):
        for name, section in _nested(response):
            drive = DRIVE.search(name) if name.endswith(" State") else None
            if drive and isinstance(section, dict):
                found[_drive_name(drive)] = _health(section)
    return found


def _drive_name(match: Match[str]) -> str:
    controller, enclosure, slot = match.groups()
    return f"c{controller} slot {enclosure or ' '}:{slot}"


def _health(state: Row) -> DriveHealth:
    said = []
    if _whole(state.get("Predictive Failure Count")):
        said.append(f"{_whole(state.get('Predictive Failure Count'))} predictive failures")
    if str(state.get("S.M.A.R.T alert flagged by drive", "")).strip().lower() == "yes":
        said.append("a SMART alert")
    return DriveHealth(" and ".join(said), _whole(state.get("Media Error Count")))


def _responses(text: str) -> Iterator[Dict[str, Any]]:
    """The `Response Data` of each controller that answered."""
    start = text.find("{")
    controllers = _from_json(text[start:]) if start >= 0 and '"Controllers"' in text else storcli_text.parse(text)
    refusals = []
    answered = 0
    for controller in controllers:
        command, response = controller.get("Command Status"), controller.get("Response Data")
        status = command if isinstance(command, dict) else {}
        if isinstance(response, list):
            response = {"rows": response}
        if isinstance(response, dict) and response:
            answered += 1
            yield {"Controller": status.get("Controller", 0), **response}
        else:
            refusals.append(str(status.get("Description", "no answer"))[:100])
    if not answered:
        raise CannotTell(f"storcli tells of no controller: {refusals[0] if refusals else 'odd output'}")


def _from_json(text: str) -> List[Dict[str, Any]]:
    try:
        given, _end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        raise CannotTell("storcli printed broken JSON") from None
    controllers = given.get("Controllers") if isinstance(given, dict) else None
    if not isinstance(controllers, list):
        raise CannotTell("storcli printed JSON without controllers")
    return [controller for controller in controllers if isinstance(controller, dict)]


def _controller(response: Mapping[str, Any]) -> Controller:
    basics = _dict(response, "Basics")
    number = basics.get("Controller", response.get("Controller", 0))
    model = basics.get("Model") or response.get("Product Name") or response.get("Model") or "RAID controller"
    virtual, disks = _table(response, "VD LIST"), _table(response, "PD LIST")
    expected = _whole(response.get("Virtual Drives"))
    if expected > len(virtual):
        raise CannotTell(f"storcli counts {expected} virtual drives of controller {number} and lists {len(virtual)}")
    if not virtual and not disks and not basics and "Product Name" not in response:
        raise CannotTell("storcli's answer lists neither drives nor controllers")
    name = f"c{_whole(number)}"
    faults, troubles = _complaints(response)
    foreign = [_place(row) for row in disks if str(row.get("DG")).strip() == "F"]
    troubles += [f"foreign disk in {place}" for place in foreign]
    troubles += [
        f"disk in {_place(row)} ({row.get('Model', '')}) is {row.get('State')}"
        for row in disks
        if str(row.get("DG")).strip() in ("-", "") and str(row.get("State", "")).lower() not in AT_REST
    ]
    arrays = tuple(_array(name, row, _table(response, "TOPOLOGY"), disks) for row in virtual)
    return Controller(name, str(model).strip(), arrays, len(disks), tuple(faults), tuple(troubles))


def _complaints(response: Mapping[str, Any]) -> Tuple[List[str], List[str]]:
    """What the controller says of itself, its memory and its battery, as faults and troubles."""
    status = _dict(response, "Status")
    faults, troubles = [], []
    said = str(status.get("Controller Status", "")).strip()
    if said.lower() in ("failed", "degraded", "fault"):
        faults.append(f"controller status {said}")
    elif said.lower() not in GOOD:
        troubles.append(f"controller status {said}")
    if _whole(status.get("Memory Uncorrectable Errors")):
        faults.append(f"{_whole(status.get('Memory Uncorrectable Errors'))} uncorrectable errors in its memory")
    if str(status.get("Any Offline VD Cache Preserved", "")).lower() == "yes":
        troubles.append("it keeps unwritten data of an offline virtual drive in its cache")
    packs = _table(response, "BBU_Info") + _table(response, "Cachevault_Info")
    for pack in packs:
        if str(pack.get("State", "")).strip().lower() not in GOOD:
            troubles.append(f"{pack.get('Model', 'battery')} is {pack.get('State')}: the write cache is not safe")
    bits = str(status.get("BBU Status", "")).strip().lower()
    if not packs and bits not in GOOD and _whole(bits) & ~BBU_BITS_AT_REST:
        troubles.append(f"battery status {bits}: the write cache is not safe")
    return faults, troubles


def _array(controller: str, row: Row, topology: List[Row], disks: List[Row]) -> Array:
    group, _, number = str(row.get("DG/VD", "-/-")).partition("/")
    said = str(row.get("State", "")).strip()
    members, mirrors = _members(group, topology, str(row.get("TYPE", "")))
    if not members:
        members = tuple(_member(disk, at) for at, disk in enumerate(disks) if str(disk.get("DG")).strip() == group)
    return Array(
        name=f"{controller}/v{number}",
        level=str(row.get("TYPE", "unknown level")).lower(),
        state=VIRTUAL_STATES.get(said.lower(), raid.UNKNOWN),
        said=said or "nothing",
        members=members,
        groups=mirrors,
        action="rebuild" if any(member.state == raid.REBUILDING for member in members) else "",
    )


def _members(group: str, topology: List[Row], level: str) -> Tuple[Tuple[Member, ...], Tuple[Tuple[int, ...], ...]]:
    """The drives of one drive group, and which mirror each other: neighbours within each span of RAID 1."""
    members: List[Member] = []
    spans: Dict[str, List[int]] = {}
    for row in topology:
        if str(row.get("DG")).strip() == group and str(row.get("Type", "")).upper() == "DRIVE":
            spans.setdefault(str(row.get("Arr")), []).append(len(members))
            members.append(_member(row, len(members)))
    mirrored = level.upper() in ("RAID1", "RAID10")
    return tuple(members), tuple(pair for slots in spans.values() for pair in raid.in_pairs(slots)) if mirrored else ()


def _member(row: Row, slot: int) -> Member:
    said = str(row.get("State", "")).strip()
    state = DISK_STATES.get(said.lower(), raid.ONLINE)
    odd = "" if said.lower() in DISK_STATES and said.lower() != "cpybck" else f"state {said or 'nothing'}"
    trouble = "a copyback under way" if said.lower() == "cpybck" else odd
    did = str(row.get("DID", "")).strip()
    return Member(_place(row), slot, state, trouble, kind=f"megaraid,{did}" if did.isdigit() else "")


def _place(row: Row) -> str:
    """`252:4`, enclosure and slot; `missing` for a drive that is not there."""
    place = str(row.get("EID:Slot", row.get("EID:Slt", "-"))).strip()
    if place in ("-", ""):
        return f"missing drive (row {row.get('Row', '?')})"
    return f"slot {place}"


def _seconds(words: str) -> float:
    """`3 Hours 5 Minutes`, or -1.

    >>> _seconds("3 Hours 5 Minutes")
    11100.0
    """
    units = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
    parts = re.findall(r"(\d{1,6}) (day|hour|minute|second)s?", words.lower())
    return float(sum(int(number) * units[unit] for number, unit in parts)) if parts else -1.0


def _whole(value: Any) -> int:
    """A count given as a number or as text; 0 for anything else."""
    match = re.match(r"\d{1,18}", str(value).strip())
    return int(match.group()) if match else 0


def _dict(response: Mapping[str, Any], name: str) -> Row:
    section = response.get(name)
    return section if isinstance(section, dict) else {}


def _table(response: Mapping[str, Any], name: str) -> List[Row]:
    section = response.get(name)
    return [row for row in section if isinstance(row, dict)] if isinstance(section, list) else []


def _rows(response: Mapping[str, Any]) -> List[Row]:
    return [row for name in response for row in _table(response, name)]


def _nested(response: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    """All sections, those inside `… - Detailed Information` too."""
    for name, section in response.items():
        yield name, section
        if isinstance(section, dict):
            yield from section.items()
