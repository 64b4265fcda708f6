"""The network interfaces that matter on this machine, and their numbers in /sys/class/net."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, Interface, NotApplicable, cached_per_run
from agent.named_tuples import NamedTuple

# A server's BMC shows itself as a network card on USB; it carries no traffic of Kafka's.
BMC_DRIVERS = ("cdc_ether", "cdc_eem", "cdc_ncm", "rndis_host", "cdc_subset")
ADMIN_UP = 0x1
# 65535 and 4294967295 are what older drivers say when they do not know
UNKNOWN_SPEED = 10_000_000


@cached_per_run
def interfaces(host: Host) -> Dict[str, Interface]:
    return {interface.name: interface for interface in host.interfaces()}


@cached_per_run
def watched(host: Host) -> List[str]:
    """Physical interfaces, bonds and their members, and whatever the inventory names, sorted.

    Not the BMC's own, nor a card's virtual functions. NotApplicable if the machine has none of these.
    """
    known = interfaces(host)
    named = [expected.name for expected in host.expected.interfaces]
    found = [
        name
        for name, interface in known.items()
        if interface.kind == "bond" or bond_of(host, name) or _is_card(host, interface)
    ]
    if not found and not named:
        raise NotApplicable("no physical network interface, and the inventory names none")
    return sorted({*found, *named})


def _is_card(host: Host, interface: Interface) -> bool:
    if interface.kind != "physical" or interface.driver in BMC_DRIVERS:
        return False
    return not host.exists(f"/sys/class/net/{interface.name}/device/physfn")


def bond_of(host: Host, name: str) -> str:
    """The bond that an interface is a member of; empty if none (a container's port is a member of a bridge)."""
    known = interfaces(host)
    master = known[name].bond if name in known else ""
    return master if master in known and known[master].kind == "bond" else ""


class Port(NamedTuple):
    """The state of one interface. carrier: None when it is set down. speed_mbps: 0, duplex: empty when not told."""

    admin_up: bool
    carrier: Optional[bool]
    operstate: str
    speed_mbps: int
    duplex: str
    had_link: bool


class Frames(NamedTuple):
    """Growth since the last run; 0 on the first."""

    frames: int
    crc_errors: int
    missed: int
    dropped: int


class Load(NamedTuple):
    """The mean since the last run; None on the first, after a reboot, and where the kernel does not count."""

    rx_bytes_per_s: Optional[float]
    tx_bytes_per_s: Optional[float]


def port(host: Host, name: str) -> Port:
    flags, carrier, speed = (number(host, name, attribute) for attribute in ("flags", "carrier", "speed"))
    if flags is None:
        raise CannotTell(f"/sys/class/net/{name}/flags is missing: this /sys is of another network namespace")
    ups = number(host, name, "carrier_up_count")
    if ups is None:
        ups = number(host, name, "carrier_changes")
    duplex = word(host, name, "duplex")
    return Port(
        bool(flags & ADMIN_UP),
        None if carrier is None else carrier == 1,
        word(host, name, "operstate"),
        speed if speed is not None and 0 < speed < UNKNOWN_SPEED and speed != 65535 else 0,
        duplex if duplex in ("full", "half") else "",
        bool(ups),
    )


def frames(host: Host, name: str, driver_crc: Mapping[str, int]) -> Frames:
    """Frames received since the last run. driver_crc: the driver's own counters of bad ones, which sysfs may lack."""
    received, crc, missed, dropped = (
        _growth(host, name, counter, number(host, name, f"statistics/{counter}"))
        for counter in ("rx_packets", "rx_crc_errors", "rx_missed_errors", "rx_dropped")
    )
    own = [_growth(host, name, f"ethtool {counter}", value) for counter, value in driver_crc.items()]
    return Frames(received, max([crc, *own]), missed, dropped)


def load(host: Host, name: str) -> Load:
    """What went through the interface since the last run, in bytes a second."""
    return Load(_mean(host, name, "rx_bytes"), _mean(host, name, "tx_bytes"))


def _mean(host: Host, name: str, counter: str) -> Optional[float]:
    value = number(host, name, f"statistics/{counter}")
    grown = None if value is None else host.state.delta(f"network/{name}/{counter}", value)
    return round(grown.change / grown.seconds, 1) if grown and grown.seconds > 0 else None


def _growth(host: Host, name: str, counter: str, value: Optional[int]) -> int:
    grown = None if value is None else host.state.delta(f"network/{name}/{counter}", value)
    return grown.change if grown else 0


def number(host: Host, interface: str, attribute: str) -> Optional[int]:
    """A number of /sys/class/net, None where this kernel or driver does not tell it."""
    try:
        return int(host.read(f"/sys/class/net/{interface}/{attribute}", 64).strip(), 0)
    except (CannotTell, ValueError):
        return None


def word(host: Host, interface: str, attribute: str) -> str:
    try:
        return host.read(f"/sys/class/net/{interface}/{attribute}", 64).strip()
    except CannotTell:
        return ""


def card(interface: Interface) -> str:
    """The card that an interface is a port of: its bus address without the function number."""
    return interface.pci.rpartition(".")[0] or interface.pci


def link_went_down(host: Host, interface: str) -> Optional[int]:
    """How often since boot; None where the kernel does not count (before Linux 3.15)."""
    downs = number(host, interface, "carrier_down_count")
    changes = number(host, interface, "carrier_changes")
    return downs if downs is not None or changes is None else changes // 2


def transmit_timeouts(host: Host, interface: str) -> Optional[int]:
    """How often the kernel's watchdog found a queue stuck, all queues together; None where it does not count."""
    try:
        queues = host.list_dir(f"/sys/class/net/{interface}/queues")
    except CannotTell:
        return None
    counts = [number(host, interface, f"queues/{queue}/tx_timeout") for queue in queues if queue.startswith("tx-")]
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None


def cards(host: Host, names: Sequence[str]) -> Tuple[str, ...]:
    """The cards that these interfaces are ports of; of a bond, those of its members."""
    known = interfaces(host)
    ports = {name for name in known if name in names or bond_of(host, name) in names}
    found = {card(known[name]) for name in ports if known[name].kind == "physical"}
    return tuple(sorted(seen for seen in found if seen))
