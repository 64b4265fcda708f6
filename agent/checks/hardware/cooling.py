"""Do all fans turn, and is anything too hot?

Read from the BMC's fan and temperature sensors: each has thresholds of the board's vendor, and the state that the BMC
reports (nc: non-critical, cr: critical, nr: non-recoverable) counts.

Warning: a non-critical threshold is passed; fan redundancy is lost; it was worse in the last `clear_after_hours`.
Critical: a critical or non-recoverable threshold is passed, or a sensor reports a failed fan.
Unknown: the BMC does not reply or rejects the session; a fan that had a reading before has none.
Skipped: a sensor without a reading that never had one (an empty fan bay, a processor that is not fitted).
Ok again: when the BMC no longer asserts it, and the last such event is older than `clear_after_hours`.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.sources.bmc import event_log, ipmitool
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.event_log import Recent
from agent.sources.bmc.sensors import Sensor
from agent.status import CRITICAL, Verdict, combine, critical, skipped, unknown, warning

LIMITS = {"clear_after_hours": 24}
PLAYBOOK = "overheating"
DEADLINE_S = ipmitool.CHECK_DEADLINE_S
READ_BEFORE = "cooling/read"
LIKELY = {"RPM": (0, 100_000), "degrees C": (-60, 250), "percent": (0, 200)}


class Facts(NamedTuple):
    """One sensor. threshold: the BMC's word for the one that is passed (ucr, lnc, …), level: what that asks for."""

    part: str
    kind: str
    reading: Optional[float]
    unit: str
    threshold: str
    level: str
    critical_states: Tuple[str, ...]
    warning_states: Tuple[str, ...]
    states: Tuple[str, ...]
    is_silent: bool
    was_read: bool
    kinds: Tuple[str, ...]
    clocks: Tuple[str, ...]
    hours_ago: Tuple[float, ...]
    log_read: bool


def find(host: Host) -> Sequence[str]:
    ipmitool.need_bmc(host)
    ours = _ours(ipmitool.sensors(host).sensors)
    if not ours:
        raise CannotTell("the BMC lists no fan and no temperature sensor")
    return list(dict.fromkeys([*(sensor.label for sensor in ours), *_read_before(host)]))


def look(host: Host, item: str) -> Facts:
    listing = ipmitool.sensors(host)
    ours = {sensor.label: sensor for sensor in _ours(listing.sensors)}
    before = _read_before(host)
    fans = [label for label, sensor in ours.items() if ipmi_sensors.is_fan(sensor) and not sensor.is_silent]
    host.state.remember(READ_BEFORE, list(dict.fromkeys([*before, *fans]))[:64])
    happened = event_log.recent(host, "cooling", item)
    critical_states, warning_states = ipmi_sensors.by_severity(ours[item]) if item in ours else ((), ())
    sensor = ours.get(item) or Sensor(item, -1, "ns", -1, -1, None, "", (), item)
    return Facts(
        item,
        "temperature" if ipmi_sensors.is_temperature(sensor) else "fan",
        sensor.reading,
        sensor.unit,
        sensor.status if sensor.level else "",
        sensor.level,
        critical_states,
        warning_states,
        sensor.events,
        sensor.is_silent,
        item in before,
        *happened,
    )


def _ours(sensors: Sequence[Sensor]) -> List[Sensor]:
    return [sensor for sensor in sensors if ipmi_sensors.is_fan(sensor) or ipmi_sensors.is_temperature(sensor)]


def _read_before(host: Host) -> List[str]:
    """The fans that gave a reading in an earlier run."""
    seen = host.state.remembered(READ_BEFORE)
    return [str(label) for label in seen] if isinstance(seen, list) else []


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.is_silent:
        if facts.was_read:
            return unknown(f"fan {facts.part} no longer has a reading", PLAYBOOK)
        return skipped(f"the BMC has no reading for {facts.part}")
    if not facts.level and not _is_likely(facts):
        return unknown(f"{facts.kind} {facts.part}: implausible reading {facts.reading:.0f} {facts.unit}", PLAYBOOK)
    if facts.reading is None and not facts.states and facts.was_read:
        return unknown(f"fan {facts.part} no longer has a reading", PLAYBOOK)
    now = _now(facts)
    recent = Recent(facts.kinds, facts.clocks, facts.hours_ago, facts.log_read)
    past = [] if now else event_log.within(recent, limits["clear_after_hours"])
    message = f"{facts.kind} {facts.part}: {_said(facts)}"
    reported = [warning(f"{message}, but {level} at {at} in the BMC's event log", PLAYBOOK) for level, at in past[:1]]
    return combine([*now, *reported], healthy=message)


def _is_likely(facts: Facts) -> bool:
    """Whether a reading can be one; a sensor that says anything else tells nothing."""
    lowest, highest = LIKELY.get(facts.unit, (float("-inf"), float("inf")))
    return facts.reading is None or lowest <= facts.reading <= highest


def _now(facts: Facts) -> List[Verdict]:
    found = []
    if facts.level:
        side = {"u": "upper ", "l": "lower "}.get(facts.threshold[:1] if len(facts.threshold) == 3 else "", "")
        name = {"nc": "non-critical", "cr": "critical", "nr": "non-recoverable"}[facts.threshold[-2:]]
        message = f"{facts.kind} {facts.part}: {_said(facts)}, past its {side}{name} threshold"
        found.append((critical if facts.level == CRITICAL else warning)(message, PLAYBOOK))
    found += [critical(f"{facts.kind} {facts.part}: {state}", PLAYBOOK) for state in facts.critical_states]
    found += [warning(f"{facts.kind} {facts.part}: {state}", PLAYBOOK) for state in facts.warning_states]
    return found


def _said(facts: Facts) -> str:
    words = [f"{facts.reading:g} {facts.unit}"] if facts.reading is not None else []
    return ", ".join([*words, *facts.states]) or "no state asserted"
