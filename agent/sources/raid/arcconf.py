"""arcconf (Adaptec, Microchip SmartRAID): `getconfig N`."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.raid import arrays as raid
from agent.sources.raid.arrays import Array, Controller, Member

# Logical device number 0          newer: Logical Device number 0
LOGICAL = pattern(r"Logical [Dd]evice number (\d{1,4})$")
# Array Number 0
ARRAY = pattern(r"Array Number (\d{1,4})$")
#       Device #0
DEVICE = pattern(r"Device #(\d{1,4})$")
#    Group 0, Segment 1                       : Present (Controller:1,Connector:0,Device:1) 7CS009RQ
#    Segment 0   : Present (953869MB, SATA, HDD, Connector:0, Device:0) Z1W1AAAA
SEGMENT = pattern(r"(?:Group (\d{1,4}), )?Segment (\d{1,4}) *: *(\w[^(]*)(.*)")
# newer:   Device 0                : Present (572325MB, SAS, HDD, Connector:CN2, Backplane:0, Slot:1) 63M0A0BYFJPF
MEMBER = pattern(r"Device (\d{1,4}) *: *(\w[^(]*)(.*)")
#    Controller ZMM Information        Green Backup Information        Logical device information
TITLE = pattern(r"\w[\w /#-]* (?:[Ii]nformation|Properties|Settings)$")
LONGEST_ROW = 400


class Segment(NamedTuple):
    """A disk of a logical device. group: the mirror that it belongs to, empty where it is not printed."""

    group: str
    state: str
    serial: str


class Reading:
    """What has been read of one controller: pairs by the part that they belong to."""

    def __init__(self) -> None:
        self.controller: Dict[str, str] = {}
        self.battery: Dict[str, str] = {}
        self.logical: List[Dict[str, str]] = []
        self.segments: List[List[Segment]] = []
        self.devices: List[Dict[str, str]] = []
        self._part = self.controller
        self._in_array = False

    def read(self, row: str) -> None:
        row = row.strip()[:LONGEST_ROW]
        if self._begin(row) or self._segment(row):
            return
        name, colon, value = row.partition(":")
        if colon and name.strip():
            self._part.setdefault(name.strip(), value.strip())

    def _begin(self, row: str) -> bool:
        """Whether this row begins a part, which the rows after it speak of."""
        logical, device, array = LOGICAL.match(row), DEVICE.match(row), ARRAY.match(row)
        if logical:
            self._part = {"number": logical.group(1)}
            self.logical.append(self._part)
            self.segments.append([])
        elif device:
            self._part = {"number": device.group(1)}
            self.devices.append(self._part)
        elif array:
            self._part = {}  # its disks are told again below each logical device
        elif TITLE.match(row) and not self.logical and not self.devices:
            self._part = self.battery if any(word in row for word in ("Battery", "ZMM", "Backup")) else self.controller
            return True
        else:
            return False
        self._in_array = bool(array)
        return True

    def _segment(self, row: str) -> bool:
        if self._in_array or not self.segments or self.devices:
            return False
        old, new = SEGMENT.match(row), MEMBER.match(row)
        if old:
            group, _, state, rest = old.groups()
            segment = Segment(group or "0", state.strip(), _serial(rest))
        elif new:
            segment = Segment("", new.group(2).strip(), _serial(new.group(3)))
        else:
            return False
        self.segments[-1].append(segment)
        return True


def _serial(rest: str) -> str:
    """The word behind the brackets."""
    words = rest.rpartition(")")[2].split()
    return words[-1] if words else ""


def read(text: str) -> Reading:
    reading = Reading()
    for row in text.splitlines():
        reading.read(row)
    return reading


LOGICAL_STATES = (
    ("optimal", raid.OPTIMAL),
    ("ok", raid.OPTIMAL),
    ("degraded, rebuilding", raid.REBUILDING),
    ("rebuilding", raid.REBUILDING),
    ("recovering", raid.REBUILDING),
    ("expanding", raid.OPTIMAL),
    ("queued for expansion", raid.OPTIMAL),
    ("degraded", raid.DEGRADED),
    ("suboptimal", raid.DEGRADED),
    ("interim recovery", raid.DEGRADED),
    ("ready for recovery", raid.DEGRADED),
    ("impacted", raid.DEGRADED),
    ("failed", raid.FAILED),
    ("offline", raid.FAILED),
)
SEGMENT_STATES = {
    "present": raid.ONLINE,
    "online": raid.ONLINE,
    "optimal": raid.ONLINE,
    "rebuilding": raid.REBUILDING,
    "recovering": raid.REBUILDING,
    "missing": raid.MISSING,
    "failed": raid.FAILED,
    "inconsistent": raid.FAILED,
    "offline": raid.FAILED,
}
END = "Command completed successfully"
GOOD = ("optimal", "okay", "ok", "online", "ready", "normal", "no error", "fully charged", "charging", "yes", "")
# What is not there cannot be broken: "ZMM not installed", "Not Available", "Not Applicable", "Not Present"
ABSENT = ("not installed", "not available", "not applicable", "not present", "not supported", "none")
BATTERY = ("Status", "Overall Backup Unit Status", "Backup Power Status", "Hardware Error")

# Logical devices/Failed/Degraded            : 3/0/0
COUNTS = pattern(r"(\d{1,4})/(\d{1,4})/(\d{1,4})$")


def parse(number: str, text: str) -> Controller:
    """One controller with its logical devices; CannotTell if the text tells of none or does not come to its end."""
    reading = read(text)
    if not reading.logical and "Controller Status" not in reading.controller:
        raise CannotTell(f"arcconf lists no data for controller {number}")
    if END not in text:
        raise CannotTell(f"arcconf's output for controller {number} is truncated: no completion message")
    arrays = tuple(_array(number, facts, rows) for facts, rows in zip(reading.logical, reading.segments))
    _check_counts(number, reading, arrays)
    return Controller(
        f"adaptec {number}",
        reading.controller.get("Controller Model", "Adaptec"),
        arrays,
        len(reading.devices),
        _faults(reading),
        tuple(_troubles(number, reading)),
    )


def driver(text: str) -> str:
    """The kernel's driver of this controller, `aacraid` where it is not told."""
    return read(text).controller.get("Driver Name", "aacraid")


def _check_counts(number: str, reading: Reading, arrays: Sequence[Array]) -> None:
    """Its own counts against what was read of its logical devices."""
    match = COUNTS.match(reading.controller.get("Logical devices/Failed/Degraded", ""))
    if match and int(match.group(1)) != len(arrays):
        raise CannotTell(
            f"arcconf counts {match.group(1)} logical devices on controller {number}, but lists {len(arrays)}"
        )


def _good(said: str) -> bool:
    word = said.strip().lower()
    return word in GOOD or any(absent in word for absent in ABSENT)


def _faults(reading: Reading) -> Tuple[str, ...]:
    said = reading.controller.get("Controller Status", "Optimal")
    return () if _good(said) else (f"controller status {said[:60]}",)


def _troubles(number: str, reading: Reading) -> List[str]:
    found = [
        f"battery {reading.battery[name][:60]}: write cache not protected"
        for name in BATTERY
        if not _good(reading.battery.get(name, ""))
    ]
    cache = reading.controller.get("Cache Status") or reading.battery.get("Cache Status") or ""
    if not _good(cache):
        why = reading.controller.get("Cache State Details") or reading.controller.get("Cache State") or ""
        found.append(f"write cache off ({cache[:60]}{': ' if why else ''}{why[:100]}): writes are slow")
    for facts in reading.logical:
        if facts.get("Write-cache setting", "").startswith("Enabled") and facts.get("Write-cache status") == "Off":
            found.append(f"logical device {facts['number']}: write-through, write cache off: writes are slow")
    defunct = reading.controller.get("Defunct disk drive count", "0")
    if defunct.isdigit() and int(defunct):
        found.append(f"defunct disks: {int(defunct)}")
    return found + [trouble for trouble in map(_device_trouble, reading.devices) if trouble]


def _device_trouble(facts: Dict[str, str]) -> str:
    state, warnings = facts.get("State", ""), facts.get("S.M.A.R.T. warnings", "0")
    if state.lower().startswith(("failed", "offline", "missing", "defunct")):
        return f"disk {facts['number']} ({facts.get('Serial number', '')}) is {state[:40]}"
    predicted = facts.get("Predictive Failures", "0")
    if predicted not in ("0", ""):
        return f"disk {facts['number']} has {predicted[:9]} predictive failures"
    return f"disk {facts['number']} has {warnings[:9]} SMART warnings" if warnings not in ("0", "") else ""


def _array(controller: str, facts: Dict[str, str], segments: List[Segment]) -> Array:
    said = facts.get("Status of logical device") or facts.get("Status of Logical Device") or ""
    word = (facts.get("RAID level") or facts.get("RAID Level") or "").split()
    level = f"raid{word[0].lower()}" if word else "unknown level"
    members = tuple(
        Member(segment.serial or f"segment {at}", at, SEGMENT_STATES.get(segment.state.lower(), raid.UNKNOWN))
        for at, segment in enumerate(segments)
    )
    odd = raid.odd_list(len(members), len(members))
    odd += "".join(f", but {m.name} is {segments[m.slot].state}" for m in members if m.state == raid.UNKNOWN)[:80]
    state = _state(said)
    return Array(
        name=f"adaptec {controller} ld {facts['number']}",
        level=level,
        state=raid.UNKNOWN if odd and (not members or state == raid.OPTIMAL) else state,
        said=(said[:60] or "nothing") + odd,
        members=members,
        groups=_groups(level, segments),
        action="rebuild" if any(member.state == raid.REBUILDING for member in members) else "",
        disk=(facts.get("Disk Name", "").split() or [""])[0].replace("/dev/", "", 1),
    )


def _state(said: str) -> str:
    return next((state for word, state in LOGICAL_STATES if said.lower().startswith(word)), raid.UNKNOWN)


def _groups(level: str, segments: List[Segment]) -> Tuple[Tuple[int, ...], ...]:
    """The segments of each group mirror each other. Without groups (the newer layout) two disks of RAID 1 are one."""
    if level not in ("raid1", "raid10"):
        return ()
    found: Dict[str, List[int]] = {}
    for at, segment in enumerate(segments):
        found.setdefault(segment.group, []).append(at)
    reported = [tuple(slots) for group, slots in found.items() if len(slots) > 1 and (group or len(slots) == 2)]
    return tuple(reported)
