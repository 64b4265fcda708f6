"""ssacli (HPE Smart Array, older names hpssacli and hpacucli): `ctrl all show config`, with or without `detail`."""

from __future__ import annotations

import re
from typing import Dict, List, Set, Tuple

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Controller, Member

# Smart Array P410i in Slot 0 (Embedded)        /  HPE Smart HBA H240 in Slot 1  (HBA Mode)  (sn: PD...)
CONTROLLER = pattern(r"(\S.*?) in Slot (\w+)\b")
#    Array: A      /   array A (SAS, Unused Space: 0  MB)     /   Array A
ARRAY = pattern(r"\s+[Aa]rray:? ([A-Z]{1,2})\b")
#       Logical Drive: 1
LOGICAL = pattern(r"\s+Logical Drive: (\d{1,4})$")
#       logicaldrive 1 (1.8 TB, RAID 1+0, Recovering, 26% complete)
LOGICAL_SHORT = pattern(r"\s+logicaldrive (\d{1,4}) \((.*)\)$")
#       physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SATA, 1 TB, OK, spare)
DRIVE_SHORT = pattern(r"\s+physicaldrive (\S+) \((.*)\)$")
#       physicaldrive 1I:1:1
DRIVE = pattern(r"\s+physicaldrive (\S+)$")
#    Internal Drive Cage at Port 1I, Box 1, OK
ENCLOSURE = pattern(r"\s+(\S.*? at Port \w+, Box \w+), (.*)$")
#          Mirror Group 1:
MIRROR = pattern(r"\s+Mirror Group \d{1,3}:$")
#          Fault Tolerance: 1+0
PAIR = pattern(r"\s+([\w/()'.-][\w/()' .-]*): *(.*)$")
UNASSIGNED = pattern(r"\s+(?:Unassigned|unassigned|HBA Drives)$")


class Reading:
    """What has been read so far of one controller."""

    def __init__(self, model: str, slot: str) -> None:
        self.model, self.slot = model, slot
        self.facts: Dict[str, str] = {}
        self.logical: List[Dict[str, str]] = []
        self.mirrors: List[List[List[str]]] = []
        self.array = ""
        self.arrays: Dict[str, Dict[str, str]] = {}
        self.enclosures: List[Tuple[str, Dict[str, str]]] = []
        self.drives: Dict[str, Dict[str, str]] = {}
        self.of_array: Dict[str, List[str]] = {}
        self.current = self.facts
        self._in_box: Set[str] = set()
        self._placed: Set[str] = set()
        self._below_boxes = False

    @property
    def unplaced(self) -> List[str]:
        """Drives that the boxes list, but no array nor the unassigned ones do: the text broke off before them."""
        return sorted(self._in_box - self._placed)

    def read(self, row: str) -> None:
        if self._begin(row):
            return
        pair = PAIR.match(row)
        if pair:
            self.current.setdefault(pair.group(1), pair.group(2).strip())

    def _begin(self, row: str) -> bool:
        """Whether this row begins a part of the controller, which the rows after it speak of."""
        array, logical, short = ARRAY.match(row), LOGICAL.match(row), LOGICAL_SHORT.match(row)
        drive, drive_short = DRIVE.match(row), DRIVE_SHORT.match(row)
        enclosure = ENCLOSURE.match(row)
        if array or UNASSIGNED.match(row):
            self.array, self.current = array.group(1) if array else "", {}
            self.arrays[self.array] = self.current
            self._below_boxes = True
        elif enclosure:
            self.current = {"Status": enclosure.group(2)}
            self.enclosures.append((enclosure.group(1), self.current))
        elif logical or short:
            self._begin_logical((logical or short).group(1), short.group(2) if short else "")  # type: ignore[union-attr]
        elif MIRROR.match(row) and self.mirrors:
            self.mirrors[-1].append([])
        elif drive or drive_short:
            self._begin_drive((drive or drive_short).group(1), drive_short.group(2) if drive_short else "")  # type: ignore[union-attr]
        else:
            return False
        return True

    def _begin_logical(self, number: str, short: str) -> None:
        self.current = {"number": number, "array": self.array}
        words = [word.strip() for word in short.split(",")]
        if len(words) >= 3:
            self.current.update({"Fault Tolerance": words[1], "Status": ", ".join(words[2:])})
        self.logical.append(self.current)
        self.mirrors.append([])

    def _begin_drive(self, name: str, short: str) -> None:
        """A drive's own block, or a mention of it: in a mirror group, in a list of the array or of an enclosure."""
        words = [word.strip() for word in short.split(",")]
        (self._placed if self._below_boxes else self._in_box).add(name)
        if short and self.mirrors and self.mirrors[-1] and self.current is self.logical[-1]:
            self.mirrors[-1][-1].append(name)
        facts = self.drives.setdefault(name, {})
        if len(words) >= 4:
            facts.setdefault("Status", words[3])
            facts.setdefault("Drive Type", "Spare Drive" if any("spare" in word for word in words[4:]) else "")
        if not short:
            self.current = facts
            facts.pop("Status", None)
        if self.array and name not in self.of_array.setdefault(self.array, []):
            self.of_array[self.array].append(name)


def read(text: str) -> List[Reading]:
    """What is told of each controller."""
    readings: List[Reading] = []
    for row in text.splitlines():
        row = row.replace("\t", "   ").rstrip()
        title = CONTROLLER.match(row)
        if title:
            readings.append(Reading(title.group(1)[:80], title.group(2)))
        elif readings and row.startswith(" "):
            readings[-1].read(row)
    return readings


PERCENT = pattern(r"(\d{1,3}(?:\.\d+)?)% complete")
LOGICAL_STATES = (
    ("interim recovery", raid.DEGRADED),
    ("ready for re", raid.DEGRADED),
    ("ready rebuild", raid.DEGRADED),
    ("degraded", raid.DEGRADED),
    ("recovering", raid.REBUILDING),
    ("rebuilding", raid.REBUILDING),
    ("failed", raid.FAILED),
    ("wrong", raid.FAILED),
    ("bad connect", raid.FAILED),
    ("shutdown", raid.FAILED),
    ("not available", raid.FAILED),
    ("disabled", raid.FAILED),
    ("offline", raid.FAILED),
    ("ok", raid.OPTIMAL),
    ("expanding", raid.OPTIMAL),
    ("queued for expansion", raid.OPTIMAL),
    ("transforming", raid.OPTIMAL),
    ("initializing", raid.OPTIMAL),
    ("rapid parity initialization", raid.OPTIMAL),
)
# The disks that a level has at the least.
FEWEST = {"raid1": 2, "raid10": 4, "raid5": 3, "raid6": 4, "raid50": 6, "raid60": 8}
GOOD = ("ok", "not configured", "not present", "n/a", "none", "charging", "recharging", "")


class Drive(NamedTuple):
    """A physical drive as ssacli lists it."""

    name: str
    status: str
    spare: bool
    worn: bool


def parse(text: str) -> List[Controller]:
    """The controllers of `ctrl all show config [detail]`; CannotTell if it tells of none, or breaks off."""
    readings = read(text)
    if not readings:
        raise CannotTell(f"ssacli lists no controller: {text.strip()[:80] or 'nothing printed'}".replace("\n", " "))
    return [_controller(reading) for reading in readings]


def _controller(reading: Reading) -> Controller:
    if not reading.logical and not reading.drives and "Controller Status" not in reading.facts:
        raise CannotTell(f"ssacli lists no data for the controller in slot {reading.slot}")
    faults: List[str] = []
    troubles: List[str] = []
    for name in ("Controller Status", "Cache Status", "Battery/Capacitor Status", "Battery Status", "Capacitor Status"):
        said = reading.facts.get(name, "")
        if said.lower().split(" (")[0] not in GOOD:
            slow = ": writes are slow" if name == "Cache Status" else ""
            (faults if name == "Controller Status" else troubles).append(f"{name.lower()} {said[:60]}{slow}")
    troubles += _surroundings(reading)
    assigned = {name for names in reading.of_array.values() for name in names}
    for name in reading.drives:
        trouble = _against(_drive(reading, name))
        if trouble and name not in assigned:
            troubles.append(f"unassigned disk {name}: {trouble}")
    arrays = tuple(_array(reading, at) for at in range(len(reading.logical)))
    if reading.unplaced and not faults and all(array.state == raid.OPTIMAL for array in arrays):
        raise CannotTell(f"ssacli's output is truncated: no details of disk {reading.unplaced[0]}")
    return Controller(
        f"slot {reading.slot}", reading.model, arrays, len(reading.drives), tuple(faults), tuple(troubles)
    )


def _surroundings(reading: Reading) -> List[str]:
    """What the enclosures say of themselves, and the arrays beside their logical drives."""
    said = [
        f"{name}: {word.lower()} {facts[word][:60]}"
        for name, facts in reading.enclosures
        for word in ("Status", "Fan Status", "Temperature Status", "Power Supply Status")
        if facts.get(word, "").lower() not in (*GOOD, "redundant", "not redundant")
    ]
    for letter, facts in reading.arrays.items():
        if letter and facts.get("Status", "").lower() not in GOOD:
            said.append(f"array {letter} status {facts['Status'][:60]}")
    return said


def _drive(reading: Reading, name: str) -> Drive:
    facts = reading.drives.get(name, {})
    worn = facts.get("SSD Smart Trip Wearout", "").lower() == "true"
    return Drive(name, facts.get("Status", ""), "spare" in facts.get("Drive Type", "").lower(), worn)


def _against(drive: Drive) -> str:
    said = drive.status.lower()
    wear = "worn out" if drive.worn else ""
    return wear if said in ("ok", "rebuilding") else f"status {drive.status or 'unknown'}{wear and ', ' + wear}"


def _array(reading: Reading, at: int) -> Array:
    facts = reading.logical[at]
    said = facts.get("Status", "")
    percent = PERCENT.search(said)
    members, groups = _members(reading, facts["array"], reading.mirrors[at])
    state, level = _logical_state(said), _level(facts.get("Fault Tolerance", ""))
    odd = _odd(reading, level, members)
    return Array(
        name=f"slot {reading.slot} ld {facts['number']}",
        level=level,
        state=raid.UNKNOWN if odd and (not members or state == raid.OPTIMAL) else state,
        said=(said[:60] or "nothing") + odd,
        members=members,
        groups=groups,
        action="rebuild" if any(member.state == raid.REBUILDING for member in members) else "",
        percent=float(percent.group(1)) if percent else -1.0,
        disk=facts.get("Disk Name", "").replace("/dev/", "", 1),
    )


def _odd(reading: Reading, level: str, members: Tuple[Member, ...]) -> str:
    """ssacli has no last line, so truncated text shows only in the missing details of disks."""
    data = [member for member in members if member.slot >= 0]
    mute = [member.name for member in members if not _drive(reading, member.name[len("disk ") :]).status]
    if mute:
        return f", but the status of {mute[0]} is unknown"
    if data and (len(data) < FEWEST.get(level, 1) or (level == "raid10" and len(data) % 2)):
        return f", but only {len(data)} of its disks are listed"
    return raid.odd_list(len(members), len(members))


def _logical_state(said: str) -> str:
    return next((state for word, state in LOGICAL_STATES if said.lower().startswith(word)), raid.UNKNOWN)


def _members(
    reading: Reading, array: str, mirrors: List[List[str]]
) -> Tuple[Tuple[Member, ...], Tuple[Tuple[int, ...], ...]]:
    """The array's drives; the first of each mirror group holds the same data, and so on."""
    names = list(reading.of_array.get(array, []))
    slots = {name: at for at, name in enumerate(names)}
    members = []
    for name in names:
        drive = _drive(reading, name)
        state = _drive_state(drive)
        trouble = _against(drive) if state in (raid.ONLINE, raid.SPARE) else ""
        members.append(Member(f"disk {name}", -1 if drive.spare else slots[name], state, trouble))
    groups = tuple(tuple(slots[name] for name in pair if name in slots) for pair in zip(*mirrors)) if mirrors else ()
    return tuple(members), tuple(group for group in groups if len(group) > 1)


def _drive_state(drive: Drive) -> str:
    said = drive.status.lower()
    if said.startswith(("failed", "missing", "offline", "not supported", "erase")):
        return raid.FAILED
    if said.startswith("rebuilding"):
        return raid.REBUILDING
    return raid.SPARE if drive.spare else raid.ONLINE


def _level(said: str) -> str:
    """`1+0`, `RAID 1+0`, `1 (Mirroring)`, `5`, `RAID 6 (ADG)` as raid10, raid1, raid5, raid6.

    >>> _level("RAID 1+0"), _level("6")
    ('raid10', 'raid6')
    """
    match = re.search(r"(\d{1,2})(?:\+(\d))?", said)
    return f"raid{match.group(1)}{match.group(2) or ''}" if match else "unknown level"
