"""What the kernel logged about network interfaces, and what it and earlier runs report of each link."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kernel import incidents, nic_vendor_lines, pcie_lines
from agent.sources.kernel import log as kernel_log
from agent.sources.kernel.line_patterns import LineTable
from agent.sources.kernel.log import Record, Sighting
from agent.sources.kernel.nic_lines import CABLE, FAULT, FORMS, LINK_DOWN
from agent.sources.network import interfaces
from agent.state import Incident

SUBJECT = "nic_link"


class History(NamedTuple):
    """was_up: in an earlier run. slower_from: Mbit/s of an earlier run, if it is slower now, since `slower_hours`."""

    was_up: bool
    slower_from: int
    slower_hours: float
    flaps: int
    flap_hours_ago: float
    flap_when: str
    cable_errors: int
    cable_hours_ago: float
    cable_text: str


def news(host: Host) -> kernel_log.News:
    """Note the new kernel lines of lost links and bad cables."""

    def digest(new: Sequence[kernel_log.Record]) -> List[Tuple[str, Incident]]:
        seen = sightings(new, cards(host))
        return kernel_log.gather(sighting for sighting in seen if sighting.kind in (LINK_DOWN, CABLE))

    return kernel_log.note_where_readable(host, SUBJECT, digest)


def note(host: Host, item: str, port: interfaces.Port) -> History:
    """The interface's history; notes this run for the next. An interface that is set down is forgotten."""
    before = host.state.remembered(f"{SUBJECT}/{item}") or {"up": False, "mbps": 0, "slower_at": 0.0}
    # the speed of a bond is the sum of its members
    best = 0 if interfaces.interfaces(host)[item].kind == "bond" else before["mbps"]
    slower = 0 < port.speed_mbps < best
    since = (before["slower_at"] or host.now()) if slower else 0.0
    now_up = {"up": before["up"] or bool(port.carrier), "mbps": max(best, port.speed_mbps), "slower_at": since}
    host.state.remember(f"{SUBJECT}/{item}", now_up if port.admin_up else None)
    _note_flaps(host, item)
    chains = {chain.kind: chain for chain in incidents.chains(host, SUBJECT, item)}
    flaps, cable = chains.get(LINK_DOWN), chains.get(CABLE)
    return History(
        was_up=bool(before["up"]),
        slower_from=best if slower else 0,
        slower_hours=host.hours_since(since) if slower else 0.0,
        flaps=flaps.times if flaps else 0,
        flap_hours_ago=host.hours_since(flaps.last_at) if flaps else 0.0,
        flap_when=incidents.when(flaps, host.now()) if flaps else "",
        cable_errors=cable.times if cable else 0,
        cable_hours_ago=host.hours_since(cable.last_at) if cable else 0.0,
        cable_text=cable.text if cable else "",
    )


def _note_flaps(host: Host, item: str) -> None:
    """Note the lost links that the kernel counted since the last run and told no line of."""
    count: Optional[int] = interfaces.link_went_down(host, item)
    grown = None if count is None else host.state.delta(f"{SUBJECT}/{item}/downs", count)
    reported = sum(seen.times for seen in news(host).incidents.get(item, []) if seen.kind == LINK_DOWN)
    if grown and grown.change > reported:
        host.state.add_incidents(SUBJECT, item, [Incident(LINK_DOWN, host.now(), grown.change - reported)])


TABLE = LineTable((*FORMS, *nic_vendor_lines.FORMS, *pcie_lines.FORMS))
# A card that the bus lost, or lost data of, is as good as failed.
KINDS = dict.fromkeys((pcie_lines.PCIE_FATAL, pcie_lines.PCIE_ERROR, pcie_lines.SLOT_EMPTY), FAULT)

# At boot a link goes down and up while it is configured.
BOOT_S = 300.0
AT_BOOT = (LINK_DOWN, pcie_lines.SLOT_EMPTY)
# /sys/devices/pci0000:00/0000:00:1c.0/0000:05:00.0: the bridges on the way to a card
PCI = pattern(r"/([\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.\d)(?=/)")


class Cards(NamedTuple):
    """Which interfaces a line can mean: by bus address (several on a multi-port function), by index, by name."""

    by_bus: Mapping[str, Sequence[str]]
    by_index: Mapping[str, str]
    names: Sequence[str]


@cached_per_run
def cards(host: Host) -> Cards:
    by_bus: Dict[str, List[str]] = {}
    by_index = {}
    found = interfaces.interfaces(host)
    for name, interface in found.items():
        index = interfaces.number(host, name, "ifindex")
        if index is not None:
            by_index[f"n{index}"] = name
        if interface.pci:
            by_bus.setdefault(interface.pci, []).append(name)
            for bridge in _bridges(host, interface.pci):
                by_bus.setdefault(bridge, []).append(name)
    return Cards(by_bus, by_index, list(found))


def _bridges(host: Host, pci: str) -> List[str]:
    try:
        return PCI.findall(host.link(f"/sys/bus/pci/devices/{pci}"))
    except CannotTell:
        return []


def sightings(new: Sequence[Record], known: Cards) -> Iterator[Sighting]:
    """What the new records say happened, to which interface."""
    for record in new:
        form, match = TABLE.find(record.text)
        if form and match and (form.kind not in AT_BOOT or record.uptime_s >= BOOT_S):
            for name in _interfaces(match.groupdict(), record.device, known):
                yield Sighting(name, KINDS.get(form.kind, form.kind), record, form.expression, form.each)


def _interfaces(said: Mapping[str, str], device: str, known: Cards) -> List[str]:
    """An interface may have been renamed since the line was written; its card's address and its index stay."""
    if said.get("pci"):  # of a disk, or of a card that is none of ours
        return list(known.by_bus.get(said["pci"], ()))
    name = said.get("name") or said.get("alias") or said.get("at") or ""
    if device in known.by_index:
        return [known.by_index[device]]
    if name in known.names:
        return [name]
    on_card = known.by_bus.get(said.get("bus") or "", ())
    if on_card:
        return list(on_card)
    return [said.get("bus") or name] if name.startswith("(") or not name else [name]
