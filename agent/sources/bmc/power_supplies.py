"""Which power supplies a BMC's sensors list, and the state of each."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.sensors import Sensor

# What an event text says of a power supply: kind of fault -> ipmitool's and FreeIPMI's words for it
FAULTS = (
    ("failed", pattern(r"^(?:power supply )?failure detected", re.I)),
    ("ac_lost", pattern(r"(?<!or )(?:AC|input) lost(?! or)", re.I)),
    ("ac_lost_or_out_of_range", pattern(r"lost or out-of-range", re.I)),
    ("ac_out_of_range", pattern(r"out-of-range, but present", re.I)),
    ("predicted", pattern(r"predictive failure(?! deasserted)", re.I)),
    ("config_error", pattern(r"^config(?:uration)? error", re.I)),
)
PRESENT = pattern(r"^(?:presence detected|device present|present)$", re.I)
ABSENT = pattern(r"^(?:device absent|absent)$", re.I)
# PS1 Status / PSU2_STATUS / PS 1 Presence / Power Supply 1 / Status / PSU1_PWR_STATUS, but not PSU1 Temp or PS1 Input
STATUS_NAME = pattern(
    r"^(?:status|(?:ps|psu|(?:power|pwr)[ _]?supply)?[ _#-]?\d{0,2}[ _-]*(?:stat(?:us|e)?|presen(?:ce|t)|prsnt)?)$",
    re.I,
)
DEVICE_RELATIVE = 0x60
# some boards give a status as a number without a unit, which tells nothing:
# PSU1_Status      | 80h | ok  | 10.1 | 0 unspecified
UNITLESS = ("", "unspecified")


class PowerSupply(NamedTuple):
    """One power supply. present: None if no sensor told. faults: kinds of FAULTS, worst first.

    notes: further sensors of it that are out of order, in words. sensors: all of it.
    """

    name: str
    number: int
    present: Optional[bool]
    faults: Tuple[str, ...]
    states: Tuple[str, ...]
    notes: Tuple[str, ...]
    sensors: Tuple[Sensor, ...]

    @property
    def is_healthy(self) -> bool:
        return bool(self.present) and not set(self.faults) - {"predicted", "config_error"}


def fault(event: str) -> str:
    """The kind of fault that an event text tells of a power supply; empty if none."""
    return next((kind for kind, words in FAULTS if words.search(event)), "")


def power_supplies(sensors: Sequence[Sensor]) -> List[PowerSupply]:
    """All that have a status sensor, by their number. Several sensors of one are taken together."""
    groups: Dict[int, List[Sensor]] = {}
    for sensor in sensors:
        number = _number(sensor)
        if number is not None:
            groups.setdefault(number, []).append(sensor)
    return [_taken_together(number, group) for number, group in sorted(groups.items()) if any(map(_is_status, group))]


def redundancy(sensors: Sequence[Sensor]) -> List[Sensor]:
    """The sensors that say whether there is a power supply to spare."""
    power = pattern(r"\b(?:ps|psu|pwr|power)(?![a-z])", re.I)
    return [
        sensor
        for sensor in sensors
        if ipmi_sensors.is_redundancy(sensor)
        and (power.search(sensor.name.replace("_", " ")) or sensor.entity in (10, 19, 20, 21))
        and not ipmi_sensors.FAN_NAME.search(sensor.name)
    ]


def _number(sensor: Sensor) -> Optional[int]:
    """Of which power supply a sensor is: by the number in its name, else by its entity instance."""
    if ipmi_sensors.is_redundancy(sensor):
        return None
    named = ipmi_sensors.POWER_SUPPLY_NAME.search(sensor.name.replace("_", " "))
    if named and named.group(1):
        return int(named.group(1))
    if sensor.entity == ipmi_sensors.POWER_SUPPLY_ENTITY:
        return sensor.instance - DEVICE_RELATIVE if sensor.instance >= DEVICE_RELATIVE else sensor.instance
    return 0 if named and _is_status(sensor) else None


def _is_status(sensor: Sensor) -> bool:
    """Whether this sensor tells of presence and failure, and not of a voltage, say."""
    if any(map(fault, sensor.events)) or any(PRESENT.match(event) for event in sensor.events):
        return True
    return sensor.unit in UNITLESS and STATUS_NAME.match(sensor.name) is not None


def _taken_together(number: int, group: List[Sensor]) -> PowerSupply:
    status = [sensor for sensor in group if _is_status(sensor)]
    states = tuple(dict.fromkeys(event for sensor in status for event in sensor.events))
    faults_seen = {fault(event) for event in states}
    return PowerSupply(
        _name(status[0].name, number),
        number,
        _present(status, states),
        tuple(kind for kind, _words in FAULTS if kind in faults_seen),
        states,
        tuple(note for sensor in group for note in _notes(sensor)),
        tuple(group),
    )


def _present(status: List[Sensor], states: Tuple[str, ...]) -> Optional[bool]:
    if any(ABSENT.match(state) for state in states):
        return False
    if any(PRESENT.match(state) for state in states) or any(map(fault, states)):
        return True
    # No state at all is how an empty slot looks; a state that nobody knows tells nothing.
    return None if states or all(sensor.is_silent or sensor.unit for sensor in status) else False


def _notes(sensor: Sensor) -> List[str]:
    """What a sensor of a power supply says beside its status: a passed threshold, an asserted fault line."""
    if ipmi_sensors.is_fan(sensor) or ipmi_sensors.is_temperature(sensor):
        return []  # the cooling check's
    asserted = [event for event in sensor.events if event.lower() == "state asserted"]
    bad = any(ipmi_sensors.severity(sensor.name, event) for event in asserted)
    return [f"{sensor.name} {sensor.said} ({sensor.status})"] if sensor.level or bad else []


def _name(sensor_name: str, number: int) -> str:
    """`PS1` of `PS1 Status`; Dell calls them all `Status`."""
    name = re.sub(r"(?<![ _-])[ _-]*(?:stat(?:us|e)?|presen(?:ce|t)|prsnt)$", "", sensor_name, flags=re.I).strip(" _")
    if re.search(r"\d", name):
        return name
    return f"{name or 'PS'}{number}" if number else name or "PS"
