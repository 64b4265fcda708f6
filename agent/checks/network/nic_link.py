"""Does every network interface have a stable link at full speed, without bad frames?

Interfaces that the inventory names are compared with it; without one, an interface that is administratively up and
had a link in an earlier run must have it still. A port in which no cable ever was is no fault.
Critical: no link on an interface that is expected or had one in an earlier run; an expected interface missing or
administratively down; less than half of the expected speed; a bond without active members; 0.1 % bad frames; 10 flaps.
Warning: slower than expected or than in the run before; half duplex; a bond member that does not carry it; a link
that was lost and came back (a flap); bad frames (cable, plug or optic), missed or dropped frames in numbers; a cable
error reported by the card; two expected interfaces on one card.
Unknown: a speed is expected, but the driver reports none.
Ok again: as soon as the link is as it should be; 24 hours after the last flap (`clear_after_hours`). A port that is
no longer used: `ip link set dev NAME down`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from agent.host import Host
from agent.named_tuples import NamedTuple
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel import nic_events
from agent.sources.network import bonding, ethtool, interfaces
from agent.status import Verdict, combine, critical, ok, unknown, warning

CARDS = "cards"

LIMITS = {
    "clear_after_hours": 24,
    "flaps_warning": 1,
    "flaps_critical": 10,
    "speed_percent_warning": 100,
    "speed_percent_critical": 50,
    "crc_at_least": 10,
    "crc_per_million_warning": 1,
    "crc_per_million_critical": 1000,
    "missed_at_least": 100,
    "missed_per_million_warning": 1000,
    "dropped_at_least": 1000,
    "dropped_per_million_warning": 10000,
    "cable_errors_warning": 1,
    "cards_warning": 2,
}
PLAYBOOK = "nic-resets"


class Facts(NamedTuple):
    """One interface; for the item `cards` only the cards of the expected interfaces.

    carrier: None when the interface is set down. speed_mbps: 0 when not told. was_up: in an earlier run. slower_from:
    the speed of earlier runs. Frame counts are since the last run; flaps and cable errors are those of this boot.
    best_mbps: the fastest mode of the card, 0 if not told. not_asked: why ethtool tells nothing. rx_bytes_per_s,
    tx_bytes_per_s: the mean since the last run, None on the first.
    """

    interface: str
    cards: Tuple[str, ...]
    expected: bool = False
    expected_mbps: int = 0
    expected_duplex: str = ""
    present: bool = False
    admin_up: bool = False
    carrier: Optional[bool] = None
    operstate: str = ""
    speed_mbps: int = 0
    duplex: str = ""
    had_link: bool = False
    was_up: bool = False
    slower_from: int = 0
    slower_hours: float = 0.0
    flaps: int = 0
    flap_hours_ago: float = 0.0
    flap_when: str = ""
    cable_errors: int = 0
    cable_hours_ago: float = 0.0
    cable_text: str = ""
    frames: int = 0
    crc_errors: int = 0
    missed: int = 0
    dropped: int = 0
    bond: str = ""
    is_member: bool = False
    carries: bool = False
    bond_up: int = 0
    bond_members: int = 0
    driver: str = ""
    driver_version: str = ""
    firmware: str = ""
    best_mbps: int = 0
    not_asked: str = ""
    rx_bytes_per_s: Optional[float] = None
    tx_bytes_per_s: Optional[float] = None


def find(host: Host) -> Sequence[str]:
    nic_events.news(host)
    return [*interfaces.watched(host), *([CARDS] if len(host.expected.interfaces) > 1 else [])]


def look(host: Host, item: str) -> Facts:
    named = next((seen for seen in host.expected.interfaces if seen.name == item), None)
    known = interfaces.interfaces(host)
    names = [seen.name for seen in host.expected.interfaces] if item == CARDS else list(known)
    facts = Facts(item, interfaces.cards(host, names))
    if named:
        facts = facts._replace(expected=True, expected_mbps=named.speed_mbps, expected_duplex=named.duplex.lower())
    if item not in known:
        return facts
    port, about = interfaces.port(host, item), ethtool.about(host, item)
    parts: Dict[str, Any] = {
        **port._asdict(),
        **nic_events.note(host, item, port)._asdict(),
        **interfaces.frames(host, item, about.crc)._asdict(),
        **interfaces.load(host, item)._asdict(),
        **bonding.place(host, item)._asdict(),
        **about._asdict(),
    }
    del parts["crc"]
    return facts._replace(present=True, driver=known[item].driver, **parts)


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.interface == CARDS and not facts.expected:
        return _judge_cards(facts, limits)
    if not facts.present:
        return critical(f"{facts.interface} is expected, but the kernel has no such interface", PLAYBOOK)
    if not facts.admin_up:
        return _judge_set_down(facts)
    verdicts = [*_judge_link(facts, limits), *_judge_flaps(facts, limits), *_judge_frames(facts, limits)]
    speed = f"{facts.speed_mbps} Mbit/s" if facts.speed_mbps else "speed unknown"
    duplex = f" {facts.duplex} duplex" if facts.duplex else ""
    no_cable = "no link since boot, none expected: no cable"
    return combine(verdicts, healthy=f"link up, {speed}{duplex}" if facts.carrier else no_cable)


def _judge_cards(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.cards and len(facts.cards) < limits["cards_warning"]:
        return warning(f"all expected interfaces are ports of one card, {facts.cards[0]}: no redundancy", PLAYBOOK)
    return ok(f"the expected interfaces are on {len(facts.cards) or 'no'} cards")


def _judge_set_down(facts: Facts) -> Verdict:
    if facts.expected:
        return critical(
            f"{facts.interface} is expected, but administratively down: ip link set dev {facts.interface} up", PLAYBOOK
        )
    if facts.is_member:
        return warning(f"member of {facts.bond}, but administratively down", PLAYBOOK)
    return ok("administratively down")


def _judge_link(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    if facts.carrier is None:
        return [unknown(f"link state unknown (operstate {facts.operstate or 'unknown'})")]
    if facts.carrier:
        return [*_judge_speed(facts, limits), *_judge_bond(facts)]
    part = f"no link on {facts.interface}" + (f" ({facts.driver})" if facts.driver else "")
    if facts.expected or facts.was_up:
        why = "the inventory expects one" if facts.expected else "it had one in an earlier run"
        return [critical(f"{part}: {why}", PLAYBOOK), *_judge_bond(facts)]
    if facts.had_link and not facts.bond:
        return [warning(f"{part}: it had one since boot", PLAYBOOK)]
    return _judge_bond(facts)


def _judge_speed(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    verdicts = []
    percent = 100.0 * facts.speed_mbps / facts.expected_mbps if facts.expected_mbps else 100.0
    message = f"{facts.speed_mbps} Mbit/s, expected {facts.expected_mbps}"
    if facts.expected_mbps and not facts.speed_mbps:
        verdicts.append(unknown(f"speed unknown, expected {facts.expected_mbps} Mbit/s: the driver reports none"))
    elif percent < limits["speed_percent_critical"]:
        verdicts.append(critical(message, PLAYBOOK))
    elif percent < limits["speed_percent_warning"]:
        verdicts.append(warning(message, PLAYBOOK))
    elif facts.slower_from and facts.slower_hours < limits["clear_after_hours"]:
        verdicts.append(warning(f"{facts.speed_mbps} Mbit/s, was {facts.slower_from} in an earlier run", PLAYBOOK))
    if facts.expected_duplex and not facts.duplex:
        verdicts.append(unknown(f"duplex unknown, expected {facts.expected_duplex}: the driver reports none"))
    if facts.duplex == "half" or (facts.duplex and facts.expected_duplex not in ("", facts.duplex)):
        verdicts.append(warning(f"{facts.duplex} duplex, expected {facts.expected_duplex or 'full'}", PLAYBOOK))
    return verdicts


def _judge_bond(facts: Facts) -> List[Verdict]:
    if not facts.bond:
        return []
    of = f"{facts.bond_up} of {facts.bond_members} members of {facts.bond} active"
    if facts.bond_up == 0:
        return [critical(of, PLAYBOOK)]
    if facts.is_member and not facts.carries:
        return [warning(f"not active in {facts.bond}: {of}", PLAYBOOK)]
    return []


def _judge_flaps(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    verdicts = []
    if facts.flap_hours_ago < limits["clear_after_hours"] and facts.flaps >= limits["flaps_warning"]:
        level = critical if facts.flaps >= limits["flaps_critical"] else warning
        verdicts.append(level(f"lost its link {facts.flaps} times, {facts.flap_when}", PLAYBOOK))
    if facts.cable_hours_ago < limits["clear_after_hours"] and facts.cable_errors >= limits["cable_errors_warning"]:
        verdicts.append(warning(kernel_log.quoted(facts.cable_text), PLAYBOOK))
    return verdicts


def _judge_frames(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    verdicts = []
    counts = {"crc": facts.crc_errors, "missed": facts.missed, "dropped": facts.dropped}
    words = {
        "crc": "with CRC errors: cable, plug or optic",
        "missed": "missed: ring buffer full",
        "dropped": "dropped",
    }
    for name, count in counts.items():
        per_million = 1e6 * count / max(facts.frames + count, 1)
        message = f"{count} frames {words[name]} since the last run ({per_million:.0f} per million)"
        if count >= limits[f"{name}_at_least"]:
            if per_million >= limits.get(f"{name}_per_million_critical", float("inf")):
                verdicts.append(critical(message, PLAYBOOK))
            elif per_million >= limits[f"{name}_per_million_warning"]:
                verdicts.append(warning(message, PLAYBOOK))
    return verdicts
