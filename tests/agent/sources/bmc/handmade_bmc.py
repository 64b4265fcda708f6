"""A hand-made machine with a BMC in band: what `ipmitool` prints there, from its documented formats."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

from agent.expected import Expected
from agent.host import Answer
from tests.machine import FakeHost, next_run

# hand-made, as ipmitool 1.8.19 lays them out
HEALTHY = """\
PS1 Status       | C8h | ok  | 10.1 | Presence detected
PS2 Status       | C9h | ok  | 10.2 | Presence detected
PS1 Input Power  | CAh | ok  | 10.1 | 120 Watts
PS Redundancy    | 77h | ok  |  7.1 | Fully Redundant
FAN1             | 41h | ok  | 29.1 | 5400 RPM
FAN2             | 42h | ok  | 29.2 | 5300 RPM
FAN3             | 43h | ns  | 29.3 | No Reading
CPU1 Temp        | 01h | ok  |  3.1 | 48 degrees C
Inlet Temp       | 04h | ok  |  7.1 | 22 degrees C
P12V             | 30h | ok  |  7.1 | 12.10 Volts
Chassis Intru    | AAh | ok  | 23.1 |
Drive 0          | A0h | ok  | 26.1 | Drive Present
Drive 1          | A1h | ok  | 26.2 | Drive Present
PCIe Slot1       | 8Bh | ok  |  7.1 | Slot is Disabled
MEM CPU1 FAIL    | 1Eh | ok  |  7.1 | State Deasserted
"""

CHASSIS = """\
System Power         : on
Power Overload       : false
Power Interlock      : inactive
Main Power Fault     : false
Power Control Fault  : false
Power Restore Policy : always-on
Last Power Event     :
Chassis Intrusion    : inactive
Front-Panel Lockout  : inactive
Drive Fault          : false
Cooling/Fan Fault    : false
Sleep Button Disable : not allowed
"""

SEL_INFO = """\
SEL Information
Version          : 1.5 (v1.5, v2 compliant)
Entries          : {entries}
Free Space       : 15904 bytes
Percent Used     : {percent}
Last Add Time    : {added}
Last Del Time    : Not Available
Overflow         : {overflow}
Supported Cmds   : 'Delete' 'Reserve'
"""

# Before NOW of tests.machine, 2026-11-18T11:06:40Z
OLD_ROW = "   1 | 01/14/26 | 04:00:23 UTC | Event Logging Disabled #0x72 | Log area reset/cleared | Asserted"


def told(out: str, code: int = 0, err: str = "") -> Answer:
    return Answer(code, out, err)


def commands(
    sensors: str = HEALTHY, log: Sequence[str] = (OLD_ROW,), chassis: str = CHASSIS, percent: str = "1%",
    overflow: str = "false",
) -> Dict[str, Any]:  # fmt: skip
    added = log[-1].split("|")[1].strip() + " " + log[-1].split("|")[2].strip() if log else "Not Available"
    info = SEL_INFO.format(entries=len(log), percent=percent, added=added, overflow=overflow)
    return {
        "ipmitool chassis status": told(chassis),
        "ipmitool sdr elist": told(sensors),
        "ipmitool sel info": told(info),
        "ipmitool sel list last 200": told("\n".join(log) + "\n"),
    }


def machine(
    sensors: str = HEALTHY, log: Sequence[str] = (OLD_ROW,), expected: Optional[Expected] = None, **others: Any
) -> FakeHost:
    return FakeHost({"/dev/ipmi0": ""}, commands(sensors, log, **others), expected=expected)


def later(host: FakeHost, after_s: float = 600.0, asked: Optional[Mapping[str, Any]] = None) -> FakeHost:
    """The next run, with other answers of ipmitool if given."""
    return next_run(host, after_s, commands=dict(asked or {}))


def changed(name: str, text: str, status: str = "ok", listing: str = HEALTHY) -> str:
    """The listing with another state of the sensor of this name."""
    rows = []
    for row in listing.splitlines():
        cells = row.split("|")
        if cells[0].strip() == name:
            row = "|".join([*cells[:2], f" {status:3} ", cells[3], f" {text}"])
        rows.append(row)
    assert "\n".join(rows) + "\n" != listing, f"no change of {name}"
    return "\n".join(rows) + "\n"


def without(name: str, listing: str = HEALTHY) -> str:
    return "".join(f"{row}\n" for row in listing.splitlines() if row.split("|")[0].strip() != name)
