"""storcli and perccli (MegaRAID, PERC): what `/call show all` says, as JSON or as text.

The text's tables are read into the shape of the JSON, so that one reading of it serves both.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Match, Tuple

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays as raid
from agent.sources.raid import storcli_health
from agent.sources.raid.arrays import Array, Controller, Member
from agent.sources.raid.megaraid_states import DISK_STATES, VIRTUAL_STATES
from agent.sources.raid.storcli_answer import Row, nested, responses, rows, rows_with, section, table, whole

# Disks outside every array that are as they should be: unconfigured good, JBOD, hot spares, ready, sanitising.
AT_REST = ("ugood", "jbod", "ghs", "dhs", "rdy", "onln", "conf", "sntze", "rbld", "cpybck", "good", "online", "ready")

# An array is in the worst state that its own row or a row of the topology gives it.
WORST_LAST = (raid.OPTIMAL, raid.REBUILDING, raid.UNKNOWN, raid.DEGRADED, raid.FAILED)

# Drive-ID /c0/e252/s1      section: Drive /c0/e252/s1 State
DRIVE = pattern(r"/c(\d{1,3})(?:/e(\d{1,4}))?/s(\d{1,4})\b")


class Rebuild(NamedTuple):
    percent: float
    left_s: float


class DriveHealth(NamedTuple):
    """What the controller has against a drive, in words, and the media errors it counted."""

    trouble: str
    media_errors: int


def parse(text: str) -> List[Controller]:
    """The controllers of `/call show all` with or without J; CannotTell if it tells of none or is odd."""
    return [_controller(response) for response in responses(text)]


def parse_rebuilds(text: str) -> Dict[str, Rebuild]:
    """The rebuilds of `/call/eall/sall show rebuild`: `c0 slot 252:1` -> progress."""
    found = {}
    for response in responses(text):
        for row in rows(response):
            drive = _drive_of(row, response)
            percent = re.match(r"\d{1,3}(?:\.\d+)?", str(row.get("Progress%", "")))
            if drive and percent:
                left_s = _seconds(str(row.get("Estimated Time Left", "")))
                found[drive] = Rebuild(min(float(percent.group()), 100.0), left_s)
    return found


def parse_drives(text: str) -> Dict[str, DriveHealth]:
    """What `/call/eall/sall show all` has against its drives: `c0 slot 252:1` -> words and media errors."""
    found = {}
    for response in responses(text):
        for name, part in nested(response):
            drive = DRIVE.search(name) if name.endswith(" State") else None
            if drive and isinstance(part, dict):
                found[_drive_name(drive)] = _health(part)
        for entry in table(response, "Drives List"):
            place = str(section(entry, "Drive Information").get("EID:Slt", ""))
            counts = section(section(entry, "Drive Detailed Information"), "LU/NS Properties")
            if place and counts:
                found[f"c{whole(response.get('Controller'))} slot {place}"] = _health(counts)
    return found


def _drive_of(row: Row, response: Mapping[str, Any]) -> str:
    """`c0 slot 252:1`, from either generation's row; empty for a row of something else."""
    match = DRIVE.search(str(row.get("Drive-ID", "")))
    if match:
        return _drive_name(match)
    place = str(row.get("EID:Slt", "")).strip()
    return f"c{whole(response.get('Controller'))} slot {place}" if place else ""


def _drive_name(match: Match[str]) -> str:
    controller, enclosure, slot = match.groups()
    return f"c{controller} slot {enclosure or ' '}:{slot}"


def _health(state: Row) -> DriveHealth:
    said = []
    if whole(state.get("Predictive Failure Count")):
        said.append(f"{whole(state.get('Predictive Failure Count'))} predictive failures")
    if str(state.get("S.M.A.R.T alert flagged by drive", "")).strip().lower() == "yes":
        said.append("a SMART alert")
    return DriveHealth(" and ".join(said), whole(state.get("Media Error Count")))


def _controller(response: Mapping[str, Any]) -> Controller:
    basics = section(response, "Basics")
    number = basics.get("Controller", response.get("Controller", 0))
    model = (
        basics.get("Model")
        or basics.get("Product Name")
        or response.get("Product Name")
        or response.get("Model")
        or "RAID controller"
    )
    virtual, disks = rows_with(response, "DG/VD"), rows_with(response, "EID:Slt")
    for what, listed in (("Virtual Drives", virtual), ("Physical Drives", disks)):
        if whole(response.get(what)) > len(listed):
            raise CannotTell(
                f"storcli counts {response[what]} {what.lower()} on controller {number}, but lists {len(listed)}"
            )
    if not virtual and not disks and not section(response, "Status") and "Physical Drives" not in response:
        raise CannotTell(f"storcli lists no data for controller {number}")
    name = f"c{whole(number)}"
    faults, troubles = storcli_health.complaints(response)
    troubles += [
        words for row in virtual for words in [storcli_health.writes_through(name, row, disks, response)] if words
    ]
    foreign = [_place(row) for row in disks if str(row.get("DG")).strip() == "F"]
    troubles += [f"foreign disk in {place}" for place in foreign]
    troubles += [
        f"disk in {_place(row)} ({str(row.get('Model', '')).strip()}) is {_state(row)}"
        for row in disks
        if str(row.get("DG")).strip() in ("-", "") and _state(row).lower() not in AT_REST
    ]
    arrays = tuple(_array(name, row, rows_with(response, "EID:Slot"), disks) for row in virtual)
    return Controller(name, str(model).strip(), arrays, len(disks), tuple(faults), tuple(troubles))


def _array(controller: str, row: Row, topology: List[Row], disks: List[Row]) -> Array:
    group, _, number = str(row.get("DG/VD", "-/-")).partition("/")
    mine = [part for part in topology if str(part.get("DG")).strip() == group]
    members, mirrors = _members(group, mine, disks, str(row.get("TYPE", "")))
    said = [str(row.get("State", "")).strip()]
    said += [str(part.get("State", "")).strip() for part in mine if not _is_drive(part)]
    said = [word for word in said if word != "-"] or ["nothing"]
    worst = max(said, key=lambda word: WORST_LAST.index(VIRTUAL_STATES.get(word.lower(), raid.UNKNOWN)))
    return Array(
        name=f"{controller}/v{number}",
        level=str(row.get("TYPE", "unknown level")).lower(),
        state=VIRTUAL_STATES.get(worst.lower(), raid.UNKNOWN) if members else raid.UNKNOWN,
        said=(worst or "nothing") + ("" if members else ", but none of its disks is listed"),
        members=members,
        groups=mirrors,
        action="rebuild" if any(member.state == raid.REBUILDING for member in members) else "",
    )


def _is_drive(row: Row) -> bool:
    return str(row.get("Type", "")).upper() == "DRIVE"


def _members(
    group: str, topology: List[Row], disks: List[Row], level: str
) -> Tuple[Tuple[Member, ...], Tuple[Tuple[int, ...], ...]]:
    """The drives of one drive group, and which mirror each other: neighbours within each span of RAID 1."""
    listed = {_place(disk): disk for disk in disks if str(disk.get("DG")).strip() == group}
    drives = [row for row in topology if _is_drive(row)] or list(listed.values())
    members: List[Member] = []
    spans: Dict[str, List[int]] = {}
    for row in drives:
        said = (_member(row, len(members)), _member(listed.get(_place(row), row), len(members)))
        member = next((one for one in said if one.state != raid.ONLINE or one.trouble), said[0])
        if member.state == raid.SPARE:
            members.append(member._replace(slot=-1))
            continue
        spans.setdefault(str(row.get("Arr", row.get("Span"))), []).append(len(members))
        members.append(member)
    mirrored = level.upper() in ("RAID1", "RAID10") and all("Arr" in row or "Span" in row for row in drives)
    return tuple(members), tuple(pair for slots in spans.values() for pair in raid.in_pairs(slots)) if mirrored else ()


def _member(row: Row, slot: int) -> Member:
    said = _state(row)
    state = DISK_STATES.get(said.lower(), raid.ONLINE)
    trouble = "" if said.lower() in DISK_STATES else f"state {said or 'nothing'}"
    if said.lower() == "cpybck":
        trouble = "copyback in progress"
    did = str(row.get("DID", "")).strip()
    return Member(_place(row), slot, state, trouble, kind=f"megaraid,{did}" if did.isdigit() else "")


def _state(row: Row) -> str:
    """How a disk fares: storcli2 says so as its Status (`Online`), and beside it what it is used for (`Conf`)."""
    used, fares = str(row.get("State", "")).strip(), str(row.get("Status", "")).strip()
    if not fares or fares == "-":
        return used
    return used if used.lower() in ("ghs", "dhs") and fares.lower() in ("good", "online") else fares


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
