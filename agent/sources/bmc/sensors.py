"""What a BMC's sensors say, from ipmitool's listings: readings, threshold states and event texts.

The word `ok` beside a discrete sensor only says that it could be read: ipmitool prints it beside "Presence
detected, Failure detected" too. So discrete sensors are judged by their event texts alone.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.status import CRITICAL, WARNING

SENSORS_AT_MOST = 1024

# States by bit, IPMI 2.0 table 42-3, in ipmitool's words: where a listing shows bits instead of texts.
POWER_SUPPLY_STATES = (
    "Presence detected",
    "Failure detected",
    "Predictive failure",
    "Power Supply AC lost",
    "AC lost or out-of-range",
    "AC out-of-range, but present",
    "Config Error",
    "Power Supply Inactive",
)
DRIVE_SLOT_STATES = (
    "Drive Present",
    "Drive Fault",
    "Predictive Failure",
    "Hot Spare",
    "Parity Check In Progress",
    "In Critical Array",
    "In Failed Array",
    "Rebuild In Progress",
    "Rebuild Aborted",
)
PRESENCE_STATES = ("Device Absent", "Device Present")
INTRUSION_STATES = ("General Chassis intrusion", "Drive Bay intrusion", "I/O Card area intrusion")

POWER_SUPPLY_ENTITY, DRIVE_ENTITIES, FAN_ENTITIES = 10, (4, 26), (29, 30)

# PS1 Status / PSU2_STATUS / Power Supply 1 / Pwr Supply 2 / PSU Status
POWER_SUPPLY_NAME = pattern(r"\b(?:ps|psu|(?:power|pwr)[ _]?supply)[ _#-]?(\d{1,2})?(?![a-z\d])", re.I)
DRIVE_NAME = pattern(r"\b(?:drive|disk|hdd|ssd|nvme|bay)[ _-]?\d", re.I)
FAN_NAME = pattern(r"fan|blower|pump", re.I)
PRESENCE_NAME = pattern(r"presen|prsnt", re.I)
INTRUSION_NAME = pattern(r"intru|physical scrty", re.I)

# 24 degrees C / 70 Watts, Presence detected / 21.56 percent, Transition to Running / -3.500 Volts
READING = pattern(r"\s*(-?\d{1,12}(?:\.\d{1,6})?) ([A-Za-z%][^,|]{0,30})(?:, (.*))?$")
# 0x0180: the first byte holds the bits 0 to 7, the second 8 to 14 and a bit that is always set
STATE_BITS = pattern(r"0x([0-9a-f]{2})([0-9a-f]{2})$", re.I)
# the one event text of ipmitool that has a comma in it
COMMA_TEXT = pattern(r"(out-of-range), (but present)", re.I)
NO_EVENTS = {"", "no reading", "disabled", "not readable", "event-only", "ns", "na", "unknown"}

# event texts that ask for action, whoever made the board; what is in neither table is no fault
CRITICAL_TEXT = pattern(
    r"^failure detected|^power supply failure|(?<!or )\bAC lost|input lost|drive fault|in failed array|\bIERR\b"
    r"|thermal trip|uncorrectable|to critical|to non-recoverable|(?<!non-)fatal"
    r"|fault status|PCI SERR|critical overtemp|battery failed|^failed$|240VA|FRB[123]|CPU voltage mismatch"
    r"|(?<!non-)critical going|non-recoverable going|insufficient resources|kernel panic|run-time critical stop"
    r"|unrecoverable",
    re.I,
)
WARNING_TEXT = pattern(
    r"predictive fail(?!ure deasserted)|config(?:uration)? error|intrusion|in critical array|rebuild (?:in|aborted)"
    r"|correctable|^limit exceeded|performance lags|to degraded|to non-critical|non-critical going|install error|^low$"
    r"|throttled|log (?:almost )?full|bus degraded|PCI PERR|redundancy (?:lost|degraded)|non-redundant|out-of-range"
    r"|soft-power control failure|sensor failure|fru failure|controller access degraded|management controller"
    r" (?:off-line|unavailable)|bus timeout|^hard reset$|memory scrub failed|to off ?line",
    re.I,
)
# MEM CPU2 FAIL / PS 1 Therm Fault / CPU Missing / VR Overtemp: `State Asserted` means what the name says
BAD_WHEN_ASSERTED = pattern(r"fail|fault|\berr|missing|over ?(?:temp|volt)|trip", re.I)

LEVELS = {"nc": WARNING, "cr": CRITICAL, "nr": CRITICAL}


class Sensor(NamedTuple):
    """One sensor. status: ok, ns (no reading), or the threshold that is passed: nc, cr, nr, also with l or u before.

    label: its name, made unique within the listing. number, entity and instance are -1 where the listing has none.
    """

    name: str
    number: int
    status: str
    entity: int
    instance: int
    reading: Optional[float]
    unit: str
    events: Tuple[str, ...]
    label: str = ""

    @property
    def is_silent(self) -> bool:
        return self.status in ("ns", "na") or (self.reading is None and not self.events and self.status != "ok")

    @property
    def level(self) -> str:
        """The level of the threshold that the BMC says is passed; empty if none."""
        return LEVELS.get(self.status[-2:], "")

    @property
    def said(self) -> str:
        """The reading or the states, for a reason: `4200 RPM`, `Drive Present, Drive Fault`."""
        words = [f"{self.reading:g} {self.unit}"] if self.reading is not None else []
        return ", ".join([*words, *self.events])[:120]


def parse(text: str) -> List[Sensor]:
    """The rows of `ipmitool sdr elist`, or of `ipmitool sensor`; what is neither is left out."""
    rows = [[cell.strip() for cell in row.split("|")] for row in text.splitlines()[:SENSORS_AT_MOST] if "|" in row]
    found = [sensor for sensor in map(_sensor, rows) if sensor]
    return _labelled(found)


def _sensor(cells: List[str]) -> Optional[Sensor]:
    name = "".join(letter for letter in cells[0] if letter.isprintable())[:40]
    if not name:
        return None
    # PS1 Status       | C8h | ok  | 10.1 | Presence detected, Failure detected
    if len(cells) == 5 and re.fullmatch(r"[0-9A-Fa-f]{2}h", cells[1]) and re.fullmatch(r"\d{1,3}\.\d{1,3}", cells[3]):
        entity, instance = (int(part) for part in cells[3].split("."))
        reading, unit, events = _value(name, entity, cells[4])
        return Sensor(name, int(cells[1][:2], 16), cells[2].lower()[:3], entity, instance, reading, unit, events)
    # FAN1             | 5400.000   | RPM        | ok    | na        | 800.000   | …
    # PS1 Status       | 0x1        | discrete   | 0x0300| na        | na        | …
    if len(cells) >= 10:
        if cells[2] == "discrete":
            status = "ok" if STATE_BITS.match(cells[3]) else "ns"
            return Sensor(name, -1, status, -1, -1, None, "", _events(name, -1, cells[3]))
        reading, unit, _none = _value(name, -1, f"{cells[1]} {cells[2]}")
        return Sensor(name, -1, cells[3].lower()[:3], -1, -1, reading, unit, ())
    return None


def _value(name: str, entity: int, text: str) -> Tuple[Optional[float], str, Tuple[str, ...]]:
    match = READING.match(text)
    if match:
        return float(match.group(1)), match.group(2).strip(), _events(name, entity, match.group(3) or "")
    return None, "", _events(name, entity, text)


def _events(name: str, entity: int, text: str) -> Tuple[str, ...]:
    bits = STATE_BITS.match(text.strip())
    if bits:
        return _decoded(name, entity, int(bits.group(1), 16) | (int(bits.group(2), 16) & 0x7F) << 8)
    parts = COMMA_TEXT.sub(r"\1\0 \2", text).split(", ")
    words = (re.sub(r"[^ -~]", "", part.replace("\0", ",")).strip()[:60] for part in parts[:15])
    return tuple(word for word in words if word.lower() not in NO_EVENTS)


def _decoded(name: str, entity: int, bits: int) -> Tuple[str, ...]:
    states: Tuple[str, ...] = ()
    if PRESENCE_NAME.search(name):
        states = PRESENCE_STATES
    elif "redun" not in name.lower() and (POWER_SUPPLY_NAME.search(name) or entity == POWER_SUPPLY_ENTITY):
        states = POWER_SUPPLY_STATES
    elif DRIVE_NAME.search(name):
        states = DRIVE_SLOT_STATES
    elif INTRUSION_NAME.search(name):
        states = INTRUSION_STATES
    return tuple(state for bit, state in enumerate(states) if bits >> bit & 1)


def _labelled(sensors: List[Sensor]) -> List[Sensor]:
    """Names that occur more than once (Dell calls every processor's sensor `Temp`) get their entity, then a number."""
    labels: Dict[str, int] = {}
    named = []
    times: Dict[str, int] = {}
    for sensor in sensors:
        times[sensor.name] = times.get(sensor.name, 0) + 1
    for sensor in sensors:
        label = sensor.name
        if times[label] > 1 and sensor.entity >= 0:
            label = f"{label} {sensor.entity}.{sensor.instance}"
        labels[label] = labels.get(label, 0) + 1
        named.append(sensor._replace(label=label if labels[label] == 1 else f"{label} ({labels[label]})"))
    return named


def severity(name: str, event: str) -> str:
    """`critical`, `warning` or nothing: what one event text of a sensor asks for."""
    if event.lower() == "state asserted":
        return WARNING if BAD_WHEN_ASSERTED.search(name) else ""
    if CRITICAL_TEXT.search(event):
        return CRITICAL
    return WARNING if WARNING_TEXT.search(event) else ""


def is_fan(sensor: Sensor) -> bool:
    named = FAN_NAME.search(sensor.name) is not None
    return sensor.unit == "RPM" or ((named or sensor.entity in FAN_ENTITIES) and sensor.unit in ("", "percent"))


def is_temperature(sensor: Sensor) -> bool:
    return sensor.unit.startswith("degrees") or (
        sensor.is_silent and re.search(r"temp|ambient|inlet|exhaust", sensor.name, re.I) is not None
    )


def is_drive(sensor: Sensor) -> bool:
    """A drive slot: it says so by its states, or by its name where the slot is empty."""
    if sensor.unit or is_temperature(sensor):
        return False
    if any(event in DRIVE_SLOT_STATES and event != "Predictive Failure" for event in sensor.events):
        return True
    return sensor.entity in DRIVE_ENTITIES and DRIVE_NAME.search(sensor.name) is not None


def is_redundancy(sensor: Sensor) -> bool:
    """A sensor that says whether several parts together have one to spare, HPE's `Power Supplies` and `Fans` too."""
    said = any("redundan" in event.lower() for event in sensor.events)
    return said or re.search(r"redun|rdndnt|^power supplies$|^fans$", sensor.name, re.I) is not None


def by_severity(sensor: Sensor) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """Its critical event texts, and those that are a warning."""
    levels = [(event, severity(sensor.name, event)) for event in sensor.events]
    bad = [tuple(event for event, level in levels if level == wanted) for wanted in (CRITICAL, WARNING)]
    return bad[0], bad[1]
