"""Does every power supply work, and is there still redundancy?

Read from the states that the BMC's power-supply sensors assert (the `ok` beside them has no meaning), and from its
event log since the last run. One that died or lost its feed goes unnoticed until the other fails too.

Warning: one predicts its failure, has a configuration error or its input out of range; redundancy is degraded;
one was lost in the last `clear_after_hours` and is back.
Critical: one has failed, lost AC, or is gone (fewer than the inventory's `psus`; without that number, gone from a
slot that had one); redundancy is lost though there are two or more.
Unknown: the BMC does not reply or rejects the session; the reason says which, with the deadline.
Ok again: when the BMC no longer asserts it, and the last such event is older than `clear_after_hours`.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.bmc import event_log, ipmitool, power_supplies
from agent.sources.bmc import sensors as ipmi_sensors
from agent.sources.bmc.event_log import Recent
from agent.sources.bmc.power_supplies import PowerSupply
from agent.status import CRITICAL, Verdict, combine, critical, ok, skipped, unknown, warning

LIMITS = {"clear_after_hours": 24}
PLAYBOOK = "lost-psu"
DEADLINE_S = ipmitool.CHECK_DEADLINE_S
REDUNDANCY = "redundancy"
SEEN = "power/seen"

BROKEN = {"failed": "has failed", "ac_lost": "lost AC", "ac_lost_or_out_of_range": "has AC lost or out of range"}
AILING = {
    "predicted": "predicts its own failure",
    "config_error": "has a configuration error",
    "ac_out_of_range": "has AC input out of range",
}
HAPPENED = {
    "failed": "failed",
    "ac_lost": "lost AC",
    "ac_lost_or_out_of_range": "had AC lost or out of range",
    "predicted": "predicted its failure",
    "config_error": "had a configuration error",
    "ac_out_of_range": "had AC input out of range",
    "removed": "was removed",
    "redundancy": "was lost",
}


class Facts(NamedTuple):
    """One power supply, or the redundancy of all.

    present: None if no sensor told. expected: the inventory's number, None if not said. fitted: how many are
    present in all; seen: how many were in earlier runs. healthy_others: those that work beside this one.
    kinds, clocks, hours_ago: what the event log says of the last days.
    """

    part: str
    present: Optional[bool]
    faults: Tuple[str, ...]
    states: Tuple[str, ...]
    notes: Tuple[str, ...]
    is_listed: bool
    was_seen: bool
    seen: int
    expected: Optional[int]
    fitted: int
    healthy_others: Tuple[str, ...]
    kinds: Tuple[str, ...]
    clocks: Tuple[str, ...]
    hours_ago: Tuple[float, ...]
    log_read: bool


def find(host: Host) -> Sequence[str]:
    ipmitool.need_bmc(host)
    sensors = ipmitool.sensors(host).sensors
    listed = [psu.name for psu in power_supplies.power_supplies(sensors)]
    items = list(dict.fromkeys([*listed, *_seen(host)]))
    expected = host.expected.psus or 0
    items += [f"power supply {number} of {expected}" for number in range(len(items) + 1, expected + 1)]
    if not items:
        raise NotApplicable("the BMC has no power-supply sensors")
    return [*items, *([REDUNDANCY] if power_supplies.redundancy(sensors) else [])]


def look(host: Host, item: str) -> Facts:
    listing = ipmitool.sensors(host)
    psus = {psu.name: psu for psu in power_supplies.power_supplies(listing.sensors)}
    _remember(host, psus.values())
    happened = event_log.recent(host, "power", item)
    psu = psus.get(item)
    if psu is None and item != REDUNDANCY and not listing.complete:
        raise CannotTell(f"{item} is not in the BMC's listing, which ipmitool read incompletely")
    states, faults, notes, present = (psu.states, psu.faults, psu.notes, psu.present) if psu else ((), (), (), False)
    if item == REDUNDANCY:
        states = tuple(event for sensor in power_supplies.redundancy(listing.sensors) for event in sensor.events)
        present = None
    return Facts(
        item,
        present,
        faults,
        states,
        notes,
        psu is not None,
        item in _seen(host),
        len(_seen(host)),
        host.expected.psus,
        sum(bool(other.present) for other in psus.values()),
        tuple(other.name for other in psus.values() if other.is_healthy and other.name != item),
        *happened,
    )


def _seen(host: Host) -> List[str]:
    """The power supplies that were present in an earlier run."""
    seen = host.state.remembered(SEEN)
    return [str(name) for name in seen] if isinstance(seen, list) else []


def _remember(host: Host, psus: Iterable[PowerSupply]) -> None:
    """Names of old are forgotten when as many others are there: new firmware calls them differently."""
    present, seen = [psu.name for psu in psus if psu.present], _seen(host)
    missed = seen if len(present) < len(seen) else []
    host.state.remember(SEEN, list(dict.fromkeys([*missed, *present]))[:16])


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    now = _redundancy(facts) if facts.part == REDUNDANCY else _supply(facts)
    past = [] if now else _past(facts, limits["clear_after_hours"])
    if not now and not past:
        return _quiet(facts)
    return combine([*now, *past], healthy="")


def _supply(facts: Facts) -> List[Verdict]:
    """What is wrong with one power supply at this moment."""
    broken = [words for kind, words in BROKEN.items() if kind in facts.faults]
    found = (
        [critical(f"{facts.part} {' and '.join(broken)}{_since(facts)}, {_spare(facts)}", PLAYBOOK)] if broken else []
    )
    found += [warning(f"{facts.part} {words}", PLAYBOOK) for kind, words in AILING.items() if kind in facts.faults]
    found += [warning(note, PLAYBOOK) for note in facts.notes]
    if facts.present is False and _should_be_there(facts):
        found.append(_gone(facts))
    return found


def _should_be_there(facts: Facts) -> bool:
    if facts.expected is None:
        return facts.was_seen and facts.fitted < facts.seen
    return facts.fitted < facts.expected


def _gone(facts: Facts) -> Verdict:
    if not facts.is_listed and not facts.was_seen:
        return unknown(f"the inventory expects {facts.expected} power supplies, the BMC lists {facts.fitted}", PLAYBOOK)
    if not facts.fitted:
        return unknown("no power supply reports presence, although the machine runs", PLAYBOOK)
    return critical(f"{facts.part} is absent{_since(facts)}, {_spare(facts)}", PLAYBOOK)


def _since(facts: Facts) -> str:
    """When the log says that it happened, if it does."""
    causes = {*facts.faults, *([] if facts.present else ["removed"])}
    return next((f" {at}" for kind, at in zip(facts.kinds, facts.clocks) if kind in causes), "")


def _spare(facts: Facts) -> str:
    others = facts.healthy_others
    if not others:
        return "and no other power supply is known to be ok"
    return f"{', '.join(others)} ok" + (": no redundancy" if len(others) == 1 else "")


def _redundancy(facts: Facts) -> List[Verdict]:
    """A machine with one power supply has none to lose."""
    if max(facts.fitted, facts.seen, facts.expected or 0) < 2:
        return []
    found = []
    for state in facts.states:
        level = ipmi_sensors.severity("", state)
        if level:
            lost = level == CRITICAL or state.lower() == "redundancy lost"
            found.append((critical if lost else warning)(f"power supplies: {state[:1].lower()}{state[1:]}", PLAYBOOK))
    return found


def _past(facts: Facts, hours: float) -> List[Verdict]:
    recent = Recent(facts.kinds, facts.clocks, facts.hours_ago, facts.log_read)
    events = [f"{HAPPENED[kind]} {at}" for kind, at in event_log.within(recent, hours) if kind in HAPPENED]
    return [warning(f"{facts.part} {', '.join(events)}, recovered since", PLAYBOOK)] if events else []


def _quiet(facts: Facts) -> Verdict:
    """Nothing is asserted: well, an empty slot, or silence."""
    if facts.present or (facts.part == REDUNDANCY and facts.states):
        return ok(f"{facts.part}: {', '.join(facts.states)}")
    if facts.present is None and facts.states:
        return unknown(f"{facts.part} reports {facts.states[0]!r}: presence and state unknown", PLAYBOOK)
    if facts.present is None:
        if facts.was_seen or facts.fitted < (facts.expected or 0):
            return unknown(f"the BMC has no reading for {facts.part}", PLAYBOOK)
        return skipped(f"the BMC never had a reading for {facts.part}")
    if not facts.fitted:
        return unknown("no power supply reports presence, although the machine runs", PLAYBOOK)
    return ok(f"{facts.part}: empty slot, {facts.fitted} fitted")
