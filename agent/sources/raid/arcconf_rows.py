"""The rows of arcconf's `getconfig N`, sorted by the part that they describe, in its older layout and its newer one."""

from __future__ import annotations

from typing import Dict, List

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

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
