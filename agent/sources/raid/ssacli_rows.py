"""The rows of ssacli's `ctrl all show config [detail]`, sorted by the part that they describe."""

from __future__ import annotations

from typing import Dict, List, Set, Tuple

from agent.lazy_regex import pattern

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
