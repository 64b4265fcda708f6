"""What the kernel said happened, and to which network interface."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Sequence

from agent.host import CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple
from agent.sources.kernel import nic_vendor_lines, pcie_lines
from agent.sources.kernel.line_patterns import LineTable
from agent.sources.kernel.log import Record, Sighting
from agent.sources.kernel.nic_lines import FAULT, FORMS, LINK_DOWN
from agent.sources.network import interfaces as network

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
    interfaces = network.interfaces(host)
    for name, interface in interfaces.items():
        index = network.number(host, name, "ifindex")
        if index is not None:
            by_index[f"n{index}"] = name
        if interface.pci:
            by_bus.setdefault(interface.pci, []).append(name)
            for bridge in _bridges(host, interface.pci):
                by_bus.setdefault(bridge, []).append(name)
    return Cards(by_bus, by_index, list(interfaces))


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
