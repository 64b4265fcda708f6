"""Did the driver of a network card reset it, or give it up?

A card that resets under load drops off the network for seconds, and its broker loses all leaders at once. The signs
are kernel lines (transmit watchdog, hangs, firmware resets), the kernel's own count of transmit timeouts for each
queue, and the driver's counters of `ethtool -S`; a reset that shows in several of them counts once.
Warning: any new reset; 100 corrected PCIe errors of the card within an hour. Critical: 3 or more resets within an hour,
or a card that failed for good (recovery unsuccessful, removed, firmware dead, overheated, uncorrected PCIe error).
Unknown: an interface of the inventory that the kernel does not have; neither the kernel's lines nor the driver's own
counters can be read.
Ok again: 24 hours after the last reset (`clear_after_hours`), or after a reboot.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host
from agent.named_tuples import NamedTuple
from agent.sources.kernel import incidents, nic_events
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel.nic_lines import FAULT, RESET
from agent.sources.kernel.pcie_lines import PCIE_CORRECTED
from agent.sources.network import ethtool, interfaces
from agent.state import Incident
from agent.status import Verdict, combine, critical, ok, unknown, warning

SUBJECT = "nic_resets"
HOUR_S = 3600.0
TOLD = (RESET, FAULT, PCIE_CORRECTED)

LIMITS = {
    "clear_after_hours": 24,
    "resets_warning": 1,
    "resets_in_an_hour_critical": 3,
    "faults_critical": 1,
    "corrected_pcie_errors_in_an_hour_warning": 100,
}
PLAYBOOK = "nic-resets"


class Facts(NamedTuple):
    """Resets and faults remembered of this boot (7 days). Counters are since boot; None where nobody counts.

    not_asked: why the driver's counters are not among them; log_not_read: why the kernel's lines are not; or empty.
    """

    driver: str
    card: str
    resets: int
    resets_in_an_hour: int
    reset_hours_ago: Optional[float]
    reset_when: str
    reset_text: str
    faults: int
    fault_hours_ago: Optional[float]
    fault_when: str
    fault_text: str
    transmit_timeouts: Optional[int]
    driver_resets: Optional[int]
    not_asked: str
    lost_lines: int
    log_not_read: str = ""
    corrected_pcie_in_an_hour: int = 0
    corrected_pcie_hours_ago: Optional[float] = None


class Counted(NamedTuple):
    timeouts: Optional[int]
    driver: Dict[str, int]
    not_asked: str


def find(host: Host) -> Sequence[str]:
    _news(host)
    return [*interfaces.watched(host), *host.state.incident_items(SUBJECT)]


def look(host: Host, item: str) -> Facts:
    news = _news(host)
    interface = interfaces.interfaces(host).get(item)
    counted = _count(host, item) if interface else Counted(None, {}, "")
    if interface:
        _note_counters(host, item, counted, news.incidents.get(item, []))
    chains = {chain.kind: chain for chain in incidents.chains(host, SUBJECT, item)}
    if not interface and not chains:
        raise CannotTell(f"the inventory expects interface {item}, but the kernel has no such interface")
    remembered = host.state.incidents(SUBJECT, item)
    corrected = chains.get(PCIE_CORRECTED)
    return Facts(
        interface.driver if interface else "",
        interfaces.card(interface) if interface else "",
        chains[RESET].times if RESET in chains else 0,
        incidents.busiest_of(remembered, RESET, HOUR_S),
        *_told(host, chains.get(RESET)),
        chains[FAULT].times if FAULT in chains else 0,
        *_told(host, chains.get(FAULT)),
        counted.timeouts,
        max(counted.driver.values(), default=None),
        counted.not_asked,
        news.lost,
        news.not_read,
        incidents.busiest_of(remembered, PCIE_CORRECTED, HOUR_S),
        host.hours_since(corrected.last_at) if corrected else None,
    )


def _news(host: Host) -> kernel_log.News:
    def digest(new: Sequence[kernel_log.Record]) -> List[Tuple[str, Incident]]:
        seen = nic_events.sightings(new, nic_events.cards(host))
        return kernel_log.gather(sighting for sighting in seen if sighting.kind in TOLD)

    return kernel_log.note_where_readable(host, SUBJECT, digest)


def _count(host: Host, item: str) -> Counted:
    timeouts = interfaces.transmit_timeouts(host, item)
    try:
        return Counted(timeouts, ethtool.reset_counters(ethtool.statistics(host, item)), "")
    except CannotTell as error:
        return Counted(timeouts, {}, str(error))


def _note_counters(host: Host, item: str, counted: Counted, reported: Sequence[Incident]) -> None:
    """Note the resets that counters saw since the last run and no kernel line told of."""
    counters = dict(counted.driver)
    if counted.timeouts is not None:
        counters["transmit timeouts of all queues"] = counted.timeouts
    grown = {name: host.state.delta(f"{SUBJECT}/{item}/{name}", value) for name, value in counters.items()}
    name, most = max(
        ((name, delta) for name, delta in grown.items() if delta),
        key=lambda pair: pair[1].change,
        default=("", None),
    )
    unreported = most.change - sum(seen.times for seen in reported if seen.kind == RESET) if most else 0
    if most and unreported > 0:
        text = f"{name} grew by {most.change}"
        host.state.add_incidents(SUBJECT, item, incidents.spread(RESET, host.now(), most.seconds, unreported, text))


def _told(host: Host, chain: Optional[incidents.IncidentSummary]) -> Tuple[Optional[float], str, str]:
    if chain is None:
        return None, "", ""
    return host.hours_since(chain.last_at), incidents.when(chain, host.now()), chain.text


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    verdicts = []
    message = f"{facts.resets} resets {facts.reset_when}" if facts.resets != 1 else f"1 reset {facts.reset_when}"
    recent = facts.reset_hours_ago is not None and facts.reset_hours_ago < limits["clear_after_hours"]
    failed = facts.fault_hours_ago is not None and facts.fault_hours_ago < limits["clear_after_hours"]
    if failed and facts.faults >= limits["faults_critical"]:
        verdicts.append(
            critical(f"{_named(facts)}failed {facts.fault_when}: {kernel_log.quoted(facts.fault_text)}", PLAYBOOK)
        )
    if recent and facts.resets_in_an_hour >= limits["resets_in_an_hour_critical"]:
        many = f"{message}, up to {facts.resets_in_an_hour} in an hour: {kernel_log.quoted(facts.reset_text)}"
        verdicts.append(critical(f"{_named(facts)}{many}", PLAYBOOK))
    elif recent and facts.resets >= limits["resets_warning"]:
        verdicts.append(warning(f"{_named(facts)}{message}: {kernel_log.quoted(facts.reset_text)}", PLAYBOOK))
    bad_bus = (
        facts.corrected_pcie_hours_ago is not None and facts.corrected_pcie_hours_ago < limits["clear_after_hours"]
    )
    if bad_bus and facts.corrected_pcie_in_an_hour >= limits["corrected_pcie_errors_in_an_hour_warning"]:
        count = facts.corrected_pcie_in_an_hour
        verdicts.append(warning(f"{_named(facts)}{count} corrected PCIe errors in an hour", "failed-motherboard"))
    if facts.log_not_read and facts.driver_resets is None:
        verdicts.append(unknown(f"resets unknown: {_unseen(facts)}"))
    if verdicts:
        return combine(verdicts, healthy="")
    return ok(f"no new reset{_quiet(facts, message)}")


def _unseen(facts: Facts) -> str:
    counters = facts.not_asked or "the driver counts no resets"
    return f"kernel log not read ({facts.log_not_read}), {counters}"


def _named(facts: Facts) -> str:
    words = " ".join(word for word in (facts.driver, facts.card) if word)
    return f"{words}: " if words else ""


def _quiet(facts: Facts, said: str) -> str:
    before = f"; {said}" if facts.resets else ""
    without = f"; driver counters not read: {facts.not_asked}" if facts.not_asked else ""
    unread = f"; kernel log not read: {facts.log_not_read}" if facts.log_not_read else ""
    return before + without + unread
