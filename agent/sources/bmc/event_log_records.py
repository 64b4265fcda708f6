"""The records of a BMC's system event log (SEL), as ipmitool prints them."""

from __future__ import annotations

import re
from typing import List, Optional

from agent.host import CannotTell
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.bmc import ipmitool

#    1 |  Pre-Init  |0000001554| Power Supply #0x01 | Failure detected | Asserted
#  532 | 08/14/2023 | 11:25:39 | Power Supply #0x3c | Power Supply AC lost | Asserted
#   3a | 12/14/22 | 23:09:44 CET | Memory #0x88 | Correctable ECC (CPU0_G1) | Asserted
#   18 | 01/27/2015 | 11:41:08 | Memory | Correctable ECC | Asserted | CPU 0 DIMM 8
ROW = pattern(r"\s*([0-9a-f]{1,8})\s*\|([^|]{1,40})\|([^|]{1,40})\|([^|]{1,100})\|(.*)$", re.I)
DATE = pattern(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})$")
CLOCK = pattern(r"(\d{1,2}):(\d{2}):(\d{2})(?: ([AP])M)?\b")
DIRECTION = pattern(r"\|\s*(Asserted|Deasserted)\b", re.I)
SENSOR_NUMBER = pattern(r"#0x([0-9a-f]{2})$", re.I)

# Memory #0x02 | Uncorrectable ECC (UnCorrectable ECC |  DIMMD7) / … | CPU 0 DIMM 8 / CPU1_DIMM_A1 / P1-DIMMA2
DIMM = pattern(r"((?:(?:CPU|P|BANK)[ _]?\d{1,2}[ _-]?)?DIMM[ _#-]?\w{1,8})", re.I)
# Correctable ECC (CPU0_G1)
IN_BRACKETS = pattern(r"\((?:[^()|]{0,100}\|)?\s{0,9}([\w.#-][\w .#-]{0,28}[\w.#-])\s{0,9}\)")

# The types that a record's third column begins with, as far as they matter here
TYPES = ("Power Supply", "Power Unit", "Memory", "Fan", "Temperature", "Cooling Device", "Event Logging Disabled")


class Log(NamedTuple):
    """How full the log is: used_percent is -1 where the BMC does not say. missed: new records that were not read."""

    entries: int
    used_percent: int
    overflow: bool
    last_added: str
    missed: int = 0


class Event(NamedTuple):
    """One record. at: seconds since the epoch by the BMC's clock, or None where it had no time yet."""

    record: int
    at: Optional[float]
    subject: str
    text: str
    asserted: bool
    row: str

    @property
    def type(self) -> str:
        return next((kind for kind in TYPES if self.subject.startswith(kind)), "")

    @property
    def sensor_number(self) -> int:
        match = SENSOR_NUMBER.search(self.subject)
        return int(match.group(1), 16) if match else -1


def parse_info(text: str) -> Log:
    """`ipmitool sel info`; CannotTell if it is not that."""
    found = ipmitool.parse_chassis(text)
    entries = found.get("entries", "")
    if not re.fullmatch(r"\d{1,6}", entries):
        raise CannotTell("the BMC does not report the number of records in its event log")
    used = re.match(r"(\d{1,3})%", found.get("percent used", ""))
    overflow = found.get("overflow", "") == "true"
    added = found.get("last add time", "")
    if added in ("", "Not Available") and entries != "0":
        added = f"unknown, {entries} records"
    return Log(int(entries), int(used.group(1)) if used else -1, overflow, added)


def parse_events(text: str) -> List[Event]:
    """The rows of `ipmitool sel list` or `sel elist`, oldest first; what is not a record is left out."""
    return [event for event in map(_event, text.splitlines()) if event]


def _event(row: str) -> Optional[Event]:
    match = ROW.match(row[:400])
    if not match:
        return None
    record, date, clock, subject, rest = match.groups()
    direction = DIRECTION.search(rest)
    text = re.sub(r"[^ -~]", "", rest[: direction.start()] if direction else rest).strip()
    asserted = not direction or direction.group(1).lower() == "asserted"
    return Event(int(record, 16), _seconds(date, clock), subject.strip(), text[:100], asserted, " ".join(row.split()))


def _seconds(date: str, clock: str) -> Optional[float]:
    """ipmitool runs with TZ=UTC and LC_ALL=C, so the date is month/day/year."""
    day, hour = DATE.match(date.strip()), CLOCK.match(clock.strip())
    if not (day and hour):
        return None
    month, of_month, year = (int(part) for part in day.groups())
    hours = int(hour.group(1)) % 12 + 12 * (hour.group(4) == "P") if hour.group(4) else int(hour.group(1))
    year += 2000 if year < 100 else 0
    if not (1 <= month <= 12 and 1 <= of_month <= 31 and 1970 <= year <= 2200):
        return None
    import calendar  # seldom needed, slow to load

    return float(calendar.timegm((year, month, of_month, hours, int(hour.group(2)), int(hour.group(3)))))


def memory_kind(event: Event) -> str:
    """uncorrectable, correctable, correctable_limit (so many that the BIOS no longer logs them), disabled; or empty."""
    text = event.text.lower()
    if "memory error logging disabled" in text or "logging limit reached" in text:
        return "correctable_limit"
    if event.type != "Memory":
        return ""
    if "memory device disabled" in text:  # a DIMM that the firmware mapped out
        return "disabled"
    if "uncorrectable" in text or "parity" in text or "critical overtemp" in text:
        return "uncorrectable"
    return "correctable" if "correctable" in text else ""


def dimm(event: Event) -> str:
    match = DIMM.search(event.row) or IN_BRACKETS.search(event.row)
    return " ".join(match.group(1).split()) if match else event.subject[:60]
