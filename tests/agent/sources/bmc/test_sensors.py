"""ipmitool's listings of several vendors' sensors, and rubbish in their place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sources.bmc import power_supplies, sensors
from agent.sources.bmc.sensors import Sensor, parse, severity
from agent.status import CRITICAL, WARNING
from tests.agent.sources.bmc.handmade_bmc import HEALTHY

# All rows hand-made, in the way of each vendor's board.
DELL = """\
Temp             | 0Eh | ok  |  3.1 | 61 degrees C
Temp             | 0Fh | ok  |  3.2 | 58 degrees C
Status           | 81h | ok  |  3.1 | Presence detected
Status           | 85h | ok  | 10.1 | Presence detected
Status           | 86h | ok  | 10.2 | Presence detected, Power Supply AC lost
Voltage 2        | 6Eh | ok  | 10.2 | 0 Volts
PS Redundancy    | 77h | ok  |  7.1 | Redundancy Lost
Fan Redundancy   | 78h | ok  |  7.1 | Fully Redundant
CMOS Battery     | 87h | ok  |  7.1 | Presence Detected
"""
HPE = """\
Power Supply 1   | 06h | ok  | 10.1 | 0 Watts, Presence detected, Failure detected
PS 1 Presence    | 3Fh | ok  | 10.1 | Device Present
Power Supply 2   | 07h | ok  | 10.2 | 95 Watts, Presence detected
Power Supplies   | 08h | ok  | 10.3 | Non-Redundant: Sufficient from Redundant
Temp 12          | 19h | ok  | 10.4 | 32 degrees C
Fan Block 1      | 09h | ok  |  7.1 | 21.56 percent, Transition to Running
"""
CISCO_ONE_FITTED = """\
PSU1_STATUS      | 26h | ok  | 10.1 | Presence detected
PSU1_PWRGD       | 28h | ok  | 10.1 | State Asserted
PSU2_STATUS      | 2Ch | ok  | 10.2 |
PSU2_PWRGD       | 2Eh | ns  | 10.2 | No Reading
PS_RDNDNT_MODE   | ADh | ok  | 20.0 | Non-Redundant: Sufficient from Redundant
"""
ENTITIES_MISSING = """\
PSU0_Status      | 80h | ok  |  0.1 | Presence detected
PSU1_Status      | 90h | ok  |  0.1 | Presence detected, Predictive failure
PSU1_Fan         | 93h | ok  |  0.1 | 3500 RPM
"""
# ipmitool sensor: the states as bits, the low byte first
BITS = """\
PS1 Status       | 0x1        | discrete   | 0x0100| na        | na        | na        | na        | na        | na
PS2 Status       | 0x1        | discrete   | 0x0180| na        | na        | na        | na        | na        | na
PS3 Status       | 0x1        | discrete   | 0x0b80| na        | na        | na        | na        | na        | na
PSU4_Present     | 0x0        | discrete   | 0x0280| na        | na        | na        | na        | na        | na
FAN1             | 900.000    | RPM        | cr    | 500.000   | 1000.000  | 1200.000  | na        | na        | na
FAN2             | na         | RPM        | na    | 500.000   | 1000.000  | 1200.000  | na        | na        | na
"""


def supplies(text: str) -> dict[str, tuple[bool | None, tuple[str, ...]]]:
    return {psu.name: (psu.present, psu.faults) for psu in power_supplies.power_supplies(parse(text))}


@pytest.mark.parametrize(
    ("listing", "found"),
    [
        (DELL, {"PS1": (True, ()), "PS2": (True, ("ac_lost",))}),
        (HPE, {"Power Supply 1": (True, ("failed",)), "Power Supply 2": (True, ())}),
        (CISCO_ONE_FITTED, {"PSU1": (True, ()), "PSU2": (False, ())}),
        (ENTITIES_MISSING, {"PSU0": (True, ()), "PSU1": (True, ("predicted",))}),
        (BITS, {"PS1": (True, ()), "PS2": (True, ()), "PS3": (True, ("failed", "ac_lost")), "PSU4": (True, ())}),
        (HEALTHY, {"PS1": (True, ()), "PS2": (True, ())}),
        ("PS2 Status | C9h | ok | 10.2 | Device Absent", {"PS2": (False, ())}),
        ("PS2 Status | C9h | ns | 10.2 | No Reading", {"PS2": (None, ())}),
        ("PSU2_Status | C9h | ok | 10.2 | 0 unspecified", {"PSU2": (None, ())}),
        ("Status | C9h | ok | 10.97 | Presence detected", {"PS1": (True, ())}),
        ("PSU1 Temp | 05h | ns | 10.1 | Disabled", {}),
    ],
)
def test_power_supplies_of_several_vendors(listing: str, found: dict[str, tuple[bool | None, tuple[str, ...]]]) -> None:
    assert supplies(listing) == found


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Presence detected, Failure detected", ("failed",)),
        ("Presence detected, Power Supply Failure detected", ("failed",)),
        ("Presence detected, AC lost or out-of-range", ("ac_lost_or_out_of_range",)),
        ("Presence detected, AC out-of-range, but present", ("ac_out_of_range",)),
        ("Presence detected, Power Supply input lost (AC/DC)", ("ac_lost",)),
        ("Presence detected, Config Error: Vendor Mismatch", ("config_error",)),
        ("Presence detected, Predictive Failure Asserted", ("predicted",)),
        ("Presence detected, Predictive Failure Deasserted", ()),
        ("Presence detected, Power Supply Inactive", ()),
    ],
)
def test_each_state_of_a_power_supply_in_words(text: str, kinds: tuple[str, ...]) -> None:
    assert supplies(f"PS1 Status | C8h | ok | 10.1 | {text}") == {"PS1": (True, kinds)}


def test_the_redundancy_of_power_is_not_that_of_fans() -> None:
    assert [sensor.name for sensor in power_supplies.redundancy(parse(DELL))] == ["PS Redundancy"]
    assert [sensor.name for sensor in power_supplies.redundancy(parse(HPE))] == ["Power Supplies"]


def test_sensors_of_one_name_are_told_apart() -> None:
    labels = [sensor.label for sensor in parse(DELL)]

    assert labels[:2] == ["Temp 3.1", "Temp 3.2"]
    assert len(set(labels)) == len(labels)


def test_readings_thresholds_and_silence() -> None:
    found = {sensor.name: sensor for sensor in parse(BITS + HPE)}

    assert (found["FAN1"].reading, found["FAN1"].unit, found["FAN1"].level) == (900.0, "RPM", CRITICAL)
    assert found["FAN2"].is_silent and not found["FAN1"].is_silent
    assert (found["Fan Block 1"].reading, found["Fan Block 1"].unit) == (21.56, "percent")


@pytest.mark.parametrize(
    ("status", "level"),
    [("ok", ""), ("ns", ""), ("nc", WARNING), ("lnc", WARNING), ("unc", WARNING), ("cr", CRITICAL), ("ucr", CRITICAL),
     ("lcr", CRITICAL), ("nr", CRITICAL), ("lnr", CRITICAL), ("unr", CRITICAL)],
)  # fmt: skip
def test_the_words_of_the_thresholds(status: str, level: str) -> None:
    (sensor,) = parse(f"P12V | 30h | {status} | 7.1 | 12.10 Volts")

    assert sensor.level == level


@pytest.mark.parametrize(
    ("name", "event", "level"),
    [
        ("Drive 0", "Drive Fault", CRITICAL),
        ("Drive 0", "Predictive Failure", WARNING),
        ("Drive 0", "In Failed Array", CRITICAL),
        ("Drive 0", "Rebuild In Progress", WARNING),
        ("Drive 0", "Hot Spare", ""),
        ("PCIe Slot1", "Slot is Disabled", ""),
        ("CPU1", "IERR", CRITICAL),
        ("CPU1", "Presence detected", ""),
        ("ROMB Battery", "Low", WARNING),
        ("Chassis Intru", "General Chassis intrusion", WARNING),
        ("MEM CPU1 FAIL", "State Asserted", WARNING),
        ("MEM CPU1 FAIL", "State Deasserted", ""),
        ("VCORE PG", "State Asserted", ""),
        ("dimm4", "Memory Device Disabled", ""),
        ("dimm4", "Uncorrectable ECC", CRITICAL),
        ("dimm4", "Correctable ECC", WARNING),
        ("Fan", "Lower Non-critical going low", WARNING),
        ("Fan", "Lower Critical going low", CRITICAL),
        ("Boot", "Initiated by hard reset", ""),
        ("System Event", "Timestamp Clock Sync", ""),
        ("PCI", "Bus Fatal Error", CRITICAL),
        ("SysHealth", "Transition to Non-recoverable from less severe", CRITICAL),
        ("SysHealth", "Transition to Non-critical from OK", WARNING),
        ("SysHealth", "Transition to OK", ""),
    ],
)
def test_what_each_state_asks_for(name: str, event: str, level: str) -> None:
    assert severity(name, event) == level


def well_typed(sensor: Sensor) -> bool:
    numbers = 0 <= sensor.number <= 255 or sensor.number == -1
    texts = all(isinstance(event, str) and len(event) <= 60 for event in sensor.events)
    return numbers and texts and bool(sensor.label) and len(sensor.name) <= 40


cells = st.sampled_from(
    [*"| ,.", "\n", "\x00", "ok", "ns", "10.1", "C8h", "999h", "-1", "0x0180", "0xffff", "Presence detected", "é\u2028"]
)
rows = st.one_of(st.text(max_size=60), st.lists(cells, max_size=14).map("".join))


@given(st.lists(rows, max_size=20).map("\n".join))
def test_rubbish_gives_only_well_typed_sensors(text: str) -> None:
    found = parse(text)

    assert all(map(well_typed, found))
    power_supplies.power_supplies(found)
    assert len({sensor.label for sensor in found}) == len(found)


@settings(max_examples=200)
@given(
    st.sampled_from([DELL, HPE, CISCO_ONE_FITTED, BITS, HEALTHY]),
    st.integers(0, 600),
    st.integers(0, 600),
    st.text(max_size=8),
)
def test_listings_cut_and_changed_anywhere_give_only_well_typed_sensors(
    text: str, start: int, end: int, put: str
) -> None:
    found = parse(text[:start] + put + text[end:])

    assert all(map(well_typed, found))
    power_supplies.power_supplies(found)


def test_no_end_of_sensors_is_cut_short() -> None:
    assert len(parse("FAN | 41h | ok | 29.1 | 5400 RPM\n" * 5000)) == sensors.SENSORS_AT_MOST
