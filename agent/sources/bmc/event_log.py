"""The BMC's system event log (SEL): its new records, each reported once, as incidents of the part they name.

Subjects of the incidents: `power`, `cooling` and `chassis` (items as those checks name them), and `sel_memory`
(items: DIMMs), which `memory_incidents` gives to the check of the memory.
"""

from __future__ import annotations

import time
from typing import Dict, List, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, cached_per_run
from agent.named_tuples import NamedTuple
from agent.sources.bmc import event_log_records, ipmitool, power_supplies
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.event_log_records import Event, Log
from agent.sources.bmc.sensors import Sensor
from agent.state import INCIDENT_DAYS, Incident

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
    log = event_log_records.parse_info(answer.out)
    before = host.state.remembered(NOTE)
    before = before if isinstance(before, dict) else {}
    if log.entries == before.get("entries") and log.last_added == before.get("added"):
        return log
    events: List[Event] = []
    if log.entries:
        listed = ipmitool.ask(host, ipmitool.LOG_DEADLINE_S, "sel", "list", "last", str(EVENTS_AT_MOST))
        events = event_log_records.parse_events(listed.out)
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
    memory = event_log_records.memory_kind(event)
    if memory:
        return "sel_memory", event_log_records.dimm(event), memory
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
