"""Does the board itself report a fault: drive slots, voltages, processors, intrusion, its event log?

What the BMC knows beside power supplies (check power) and cooling (check cooling): the chassis status, drive-slot
and voltage sensors, every other sensor with states, and the system event log (SEL).

Warning: a predictive failure, a rebuild, a non-critical voltage, an open case, a low battery; the event log is
`log_used_percent_warning` full or has overflowed; the log has a warning of the last `clear_after_hours`.
Critical: a drive slot or the chassis reports a fault, a voltage is past a critical threshold, a processor or memory
error is asserted; the log has a critical event of the last `clear_after_hours` (IERR, uncorrectable, fatal bus error).
Unknown: the BMC does not reply or rejects the session; its chassis status or event log cannot be read.
Ok again: when the BMC no longer asserts it; an event after `clear_after_hours`; a full log when it is cleared
(`ipmitool sel save FILE`, then `ipmitool sel clear`).
"""

from __future__ import annotations

import re
from typing import Any, List, Mapping, Sequence, Tuple

from agent.host import Host
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.bmc import event_log, ipmitool, power_supplies
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.event_log import EVENT_LOG, Recent
from agent.sources.bmc.sensors import Sensor
from agent.status import CRITICAL, WARNING, Verdict, combine, critical, warning

LIMITS = {"clear_after_hours": 24, "log_used_percent_warning": 90}
PLAYBOOK = "failed-motherboard"
DEADLINE_S = ipmitool.CHECK_DEADLINE_S
STATUS, VOLTAGES, SENSORS = "chassis status", "voltages", "sensors"

# `true` or `active` is the fault: ipmi_exporter's metrics of these have it the other way round, ipmitool has not
STATUS_FAULTS = {
    "power overload": CRITICAL,
    "main power fault": CRITICAL,
    "drive fault": CRITICAL,
    "cooling/fan fault": CRITICAL,
    "power control fault": WARNING,
    "power interlock": WARNING,
    "chassis intrusion": WARNING,
}
MEMORY_WORDS = pattern(r"\bECC\b|dimm|memory", re.I)


class Facts(NamedTuple):
    """One item: a drive slot, or all of one kind. asked: how many sensors or lines it stands for.

    playbook: of the faults. The log fields are -1 and False for other items. kinds, clocks, hours_ago: events.
    """

    part: str
    asked: int
    critical_faults: Tuple[str, ...] = ()
    warning_faults: Tuple[str, ...] = ()
    states: Tuple[str, ...] = ()
    playbook: str = PLAYBOOK
    log_records: int = -1
    log_used_percent: int = -1
    log_overflow: bool = False
    log_missed: int = 0
    kinds: Tuple[str, ...] = ()
    clocks: Tuple[str, ...] = ()
    hours_ago: Tuple[float, ...] = ()


def find(host: Host) -> Sequence[str]:
    ipmitool.need_bmc(host)
    sensors = ipmitool.sensors(host).sensors
    slots = [sensor.label for sensor in sensors if ipmi_sensors.is_drive(sensor)]
    return [STATUS, EVENT_LOG, *([VOLTAGES] if _voltages(sensors) else []), *([SENSORS] if _others(sensors) else []),
            *slots]  # fmt: skip


def look(host: Host, item: str) -> Facts:
    if item == STATUS:
        return _status(ipmitool.chassis(host))
    if item == EVENT_LOG:
        return _event_log(host)
    sensors = ipmitool.sensors(host).sensors
    if item == VOLTAGES:
        return _sensors(item, _voltages(sensors), PLAYBOOK)
    if item == SENSORS:
        return _sensors(item, _others(sensors), PLAYBOOK)
    disk = "replace-raid10-disk" if host.expected.layout == "raid10" else "replace-jbod-disk"
    return _sensors(item, [sensor for sensor in sensors if sensor.label == item], disk)


def _status(lines: Mapping[str, str]) -> Facts:
    bad = [key for key in STATUS_FAULTS if lines.get(key, "") in ("true", "active")]
    by_level = [tuple(key for key in bad if STATUS_FAULTS[key] == level) for level in (CRITICAL, WARNING)]
    states = tuple(f"{key} {lines[key]}" for key in ("last power event", "front-panel lockout") if lines.get(key))
    return Facts(STATUS, sum(key in lines for key in STATUS_FAULTS), by_level[0], by_level[1], states)


def _event_log(host: Host) -> Facts:
    log = event_log.note_new(host)
    happened = event_log.recent(host, "chassis", EVENT_LOG)
    return Facts(
        EVENT_LOG,
        log.entries,
        states=event_log.texts(host, "chassis", EVENT_LOG),
        log_records=log.entries,
        log_used_percent=log.used_percent,
        log_overflow=log.overflow,
        log_missed=log.missed,
        kinds=happened.kinds,
        clocks=happened.clocks,
        hours_ago=happened.hours_ago,
    )


def _ours(sensors: Sequence[Sensor]) -> List[Sensor]:
    """Sensors that no other check stands for, and that say something."""
    taken = {sensor.label for psu in power_supplies.power_supplies(sensors) for sensor in psu.sensors}
    taken |= {sensor.label for sensor in power_supplies.redundancy(sensors)}
    return [
        sensor
        for sensor in sensors
        if not (sensor.is_silent or sensor.label in taken)
        and not (ipmi_sensors.is_fan(sensor) or ipmi_sensors.is_temperature(sensor))
    ]


def _voltages(sensors: Sequence[Sensor]) -> List[Sensor]:
    """Also currents and watts: all that has thresholds."""
    return [sensor for sensor in _ours(sensors) if sensor.unit]


def _others(sensors: Sequence[Sensor]) -> List[Sensor]:
    return [sensor for sensor in _ours(sensors) if not sensor.unit and not ipmi_sensors.is_drive(sensor)]


def _sensors(item: str, sensors: Sequence[Sensor], playbook: str) -> Facts:
    found = {CRITICAL: [], WARNING: []}  # type: Mapping[str, List[str]]
    for sensor in sensors:
        if sensor.level:
            found[sensor.level].append(f"{sensor.label} {sensor.said} ({sensor.status})")
        for level, events in zip((CRITICAL, WARNING), ipmi_sensors.by_severity(sensor)):
            found[level].extend(f"{sensor.label}: {event}" for event in events)
    states = tuple(sensors[0].events) if len(sensors) == 1 else ()
    return Facts(item, len(sensors), tuple(found[CRITICAL][:12]), tuple(found[WARNING][:12]), states, playbook)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found = [critical(_reason(facts, fault), _playbook(facts, fault)) for fault in facts.critical_faults]
    found += [warning(_reason(facts, fault), _playbook(facts, fault)) for fault in facts.warning_faults]
    if facts.part == EVENT_LOG:
        found += _of_log(facts, limits)
    return combine(found, healthy=_healthy(facts))


def _reason(facts: Facts, fault: str) -> str:
    return f"the BMC reports: {fault}" if facts.part == STATUS else fault


def _playbook(facts: Facts, fault: str) -> str:
    if "intrusion" in fault.lower():
        return ""
    if fault == "cooling/fan fault":
        return "overheating"
    if "power" in fault and facts.part == STATUS:
        return "lost-psu"
    return "replace-dimm" if MEMORY_WORDS.search(fault) else facts.playbook


def _of_log(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    recent = Recent(facts.kinds, facts.clocks, facts.hours_ago, True)
    found = []
    for level, at in event_log.within(recent, limits["clear_after_hours"]):
        texts = [text for kind, text in (state.split(" ", 1) for state in facts.states) if kind == level]
        message = f"event log {at}: {texts[-1] if texts else level}" + (
            f" (and {len(texts) - 1} more)" if texts[1:] else ""
        )
        found.append((critical if level == CRITICAL else warning)(message, PLAYBOOK))
    if facts.log_overflow:
        found.append(warning("the BMC's event log overflowed, new events are lost: save and clear it"))
    elif facts.log_used_percent >= limits["log_used_percent_warning"]:
        found.append(warning(f"the BMC's event log is {facts.log_used_percent} % full: save and clear it"))
    return found


def _healthy(facts: Facts) -> str:
    if facts.part == EVENT_LOG:
        return f"{facts.log_records} records, no new fault"
    return ", ".join(facts.states) or f"{facts.part}: {facts.asked} read, none reports a fault"
