"""The BMC's system event log (SEL): its new records, each reported once, as incidents of the part they name.

Subjects of the incidents: `power`, `cooling` and `chassis` (items as those checks name them), and `sel_memory`
(items: DIMMs), which `memory_incidents` gives to the check of the memory.
"""

from __future__ import annotations

import re
import time
from typing import Dict, List, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.bmc import ipmitool, power_supplies
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.sensors import Sensor
from agent.state import INCIDENT_DAYS, Incident

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


EVENTS_AT_MOST = 200
CLOCK_SLACK_S = 3600.0
NOTE = "sel"
EVENT_LOG = "event log"


class Recent(NamedTuple):
    """What happened to one item: for each kind its last time, as a clock (`02:58Z`) and in hours; newest first.

    log_read is False when the log could not be read in this run, so that newer events may be missing.
    """

    kinds: Tuple[str, ...]
    clocks: Tuple[str, ...]
    hours_ago: Tuple[float, ...]
    log_read: bool


def recent(host: Host, subject: str, item: str) -> Recent:
    """A log that cannot be read is the finding of the chassis check alone; here it hides nothing else."""
    read = True
    try:
        note_new(host)
    except CannotTell:
        read = False
    last = {incident.kind: incident.at for incident in host.state.incidents(subject, item)}
    newest = sorted(last, key=lambda kind: last[kind], reverse=True)
    ago = tuple(max(host.hours_since(last[kind]), 0.0) for kind in newest)
    return Recent(tuple(newest), tuple(_clock(last[kind], host.now()) for kind in newest), ago, read)


def texts(host: Host, subject: str, item: str) -> Tuple[str, ...]:
    """What the log said of an item in the last days, each after its kind, oldest first."""
    return tuple(f"{incident.kind} {incident.text}" for incident in host.state.incidents(subject, item)[-20:])


def within(recently: Recent, hours: float) -> List[Tuple[str, str]]:
    """Kind and clock of what is not older than `hours`."""
    rows = zip(recently.kinds, recently.clocks, recently.hours_ago)
    return [(kind, at) for kind, at, ago in rows if ago < hours]


def _clock(at: float, now: float) -> str:
    return time.strftime("%H:%MZ" if now - at < 20 * 3600 else "%Y-%m-%dT%H:%MZ", time.gmtime(at))


@cached_per_run
def note_new(host: Host) -> Log:
    """Read what is new in the log and note it in the host's state; gives how full the log is."""
    answer = ipmitool.ask(host, ipmitool.LOG_DEADLINE_S, "sel", "info")
    if answer.code:
        raise CannotTell(f"the BMC's event log cannot be read: {ipmitool.complaint(answer)}")
    log = parse_info(answer.out)
    before = host.state.remembered(NOTE)
    before = before if isinstance(before, dict) else {}
    if log.entries == before.get("entries") and log.last_added == before.get("added"):
        return log
    events: List[Event] = []
    if log.entries:
        listed = ipmitool.ask(host, ipmitool.LOG_DEADLINE_S, "sel", "list", "last", str(EVENTS_AT_MOST))
        events = parse_events(listed.out)
        if not events:
            raise CannotTell(f"the BMC's event log of {log.entries} records cannot be read")
    new = _new(host, events, before)
    _note(host, new)
    last = {"record": events[-1].record, "row": events[-1].row, "at": events[-1].at} if events else {}
    host.state.remember(NOTE, {"entries": log.entries, "added": log.last_added, **last})
    grown = log.entries - before.get("entries", log.entries)
    return log._replace(missed=max(grown - EVENTS_AT_MOST, 0))


def _new(host: Host, events: Sequence[Event], before: Dict[str, object]) -> List[Event]:
    """The records since the last run; on the first run those of the last days, as far as the BMC's clock tells."""
    if "entries" not in before:
        oldest = host.now() - INCIDENT_DAYS * 86400
        return [event for event in events if event.at and oldest <= event.at <= host.now() + CLOCK_SLACK_S]
    for number, event in enumerate(events):
        if event.record == before.get("record") and event.row == before.get("row"):
            return list(events[number + 1 :])
    then = before.get("at")  # the last one we know is gone: the log was cleared, or much was added
    if isinstance(then, (int, float)):
        return [event for event in events if event.at is None or event.at > then]
    return list(events)


def _note(host: Host, events: Sequence[Event]) -> None:
    sensors = ipmitool.sensors(host).sensors if events else ()
    since = host.state.previous_at if host.state.remembered(NOTE) else None
    for event in events:
        place = _place(event, sensors)
        if place and event.asserted == (place[2] != "removed"):
            # the BMC's clock may be wrong: what is new happened between the last run and now
            at = min(max(event.at or host.now(), since or 0.0), host.now())
            subject, item, kind = place
            host.state.add_incidents(subject, item, [Incident(kind, at, 1, f"{event.subject}: {event.text}"[:200])])


def _place(event: Event, sensors: Sequence[Sensor]) -> Optional[Tuple[str, str, str]]:
    """Subject, item and kind of an event; nothing if it asks for nothing."""
    if event.type in ("Power Supply", "Power Unit"):
        return _of_power(event, sensors)
    memory = memory_kind(event)
    if memory:
        return "sel_memory", dimm(event), memory
    level = ipmi_sensors.severity(event.subject, event.text)
    if not level:
        return None
    if event.type in ("Fan", "Temperature", "Cooling Device"):
        sensor = _sensor(event, [s for s in sensors if ipmi_sensors.is_fan(s) or ipmi_sensors.is_temperature(s)])
        if sensor:
            return "cooling", sensor.label, level
    return "chassis", EVENT_LOG, level


def _of_power(event: Event, sensors: Sequence[Sensor]) -> Optional[Tuple[str, str, str]]:
    if "redundan" in event.text.lower():
        return ("power", "redundancy", "redundancy") if ipmi_sensors.severity("", event.text) else None
    kind = power_supplies.fault(event.text)
    if not kind and power_supplies.PRESENT.match(event.text):
        kind = "removed"
    level = ipmi_sensors.severity(event.subject, event.text)
    for psu in power_supplies.power_supplies(sensors):
        named = ipmi_sensors.POWER_SUPPLY_NAME.search(event.subject[len(event.type) :].replace("_", " "))
        numbers = {sensor.number for sensor in psu.sensors} - {-1}
        if event.sensor_number in numbers or (named and named.group(1) == str(psu.number)):
            return ("power", psu.name, kind) if kind else None
    return ("chassis", EVENT_LOG, level) if level else None


def _sensor(event: Event, candidates: Sequence[Sensor]) -> Optional[Sensor]:
    for sensor in candidates:
        if sensor.number == event.sensor_number >= 0 or event.subject.endswith(f" {sensor.name}"):
            return sensor
    return None


def memory_incidents(host: Host) -> List[Tuple[str, Incident]]:
    """ECC events of the last days by DIMM; kind: as of sel_records.memory_kind.

    CannotTell when the BMC does not answer, NotApplicable when there is none.
    """
    note_new(host)
    return [
        (dimm, incident)
        for dimm in host.state.incident_items("sel_memory")
        for incident in host.state.incidents("sel_memory", dimm)
    ]
