"""What ethtool reports of an interface: its driver, its link, and its driver's own counters."""

from __future__ import annotations

import re
from typing import Dict, Mapping, Optional

from agent.host import Answer, CannotTell, Host, cached_per_run
from agent.lazy_regex import pattern
from agent.named_tuples import NamedTuple

NUMBER_DIGITS = 25

# What each driver calls the number of times it gave up on the card and reset it.
RESET_COUNTERS = (
    "tx_timeout_count",  # ixgbe, igb, e1000e
    "port.tx_timeout",  # i40e
    "tx_timeout.nic",  # ice
    "tx_timeout",  # ena, igc, hns3
    "tx timeout count",  # vmxnet3
    "tx_timeouts",  # mlx4
    "rx_total_resets",  # bnxt_en
    "tx_total_resets",
    "recoverable_errors",  # bnx2x
    "unrecoverable_errors",
    "rx_reset",  # sfc
    "reset_cnt",  # hns3
)
# virtio_net: tx_queue_0_tx_timeouts, earlier tx0_tx_timeouts
QUEUE_TIMEOUTS = pattern(r"tx(?:_queue_)?\d{1,4}_tx_timeouts", re.ASCII)

CRC_COUNTERS = (
    "rx_crc_errors",  # most
    "port.rx_crc_errors",  # i40e
    "rx_crc_errors.nic",  # ice
    "rx_crc_errors_phy",  # mlx5
    "rx_symbol_err_phy",
    "rx_fcs_errors",  # tg3
    "rx_fcs_err_frames",  # bnxt_en
    "rx_eth_crc_err",  # sfc
    "align_errors",  # r8169
)


class Driver(NamedTuple):
    """Empty where the driver does not say."""

    name: str
    version: str
    firmware: str
    bus: str


class Link(NamedTuple):
    """speed_mbps, link: None if not told. best_mbps: the fastest mode that the card supports, 0 if not told."""

    speed_mbps: Optional[int]
    duplex: str
    link: Optional[bool]
    best_mbps: int


class About(NamedTuple):
    """best_mbps: the card's fastest mode, 0 if not told. crc: bad frames by counter. not_asked: why all is empty."""

    driver_version: str = ""
    firmware: str = ""
    best_mbps: int = 0
    crc: Mapping[str, int] = {}
    not_asked: str = ""


@cached_per_run
def about(host: Host, interface: str) -> About:
    """What ethtool adds to /sys/class/net; never fails, as that works without it."""
    try:
        said = driver(host, interface)
        best = link(host, interface).best_mbps
        return About(said.version, said.firmware, best, crc_counters(statistics(host, interface)))
    except CannotTell as error:
        return About(not_asked=str(error))


@cached_per_run
def driver(host: Host, interface: str) -> Driver:
    return parse_driver(_good(host.run("ethtool", "-i", interface), interface).out)


@cached_per_run
def link(host: Host, interface: str) -> Link:
    return parse_link(_good(host.run("ethtool", interface), interface).out)


@cached_per_run
def statistics(host: Host, interface: str) -> Dict[str, int]:
    """The driver's counters; empty if it keeps none."""
    answer = host.run("ethtool", "-S", interface)
    if answer.code and "no stats available" in (answer.out + answer.err):
        return {}
    return parse_statistics(_good(answer, interface).out)


def _good(answer: Answer, interface: str) -> Answer:
    if answer.code:
        said = (answer.err or answer.out).strip().splitlines()
        raise CannotTell(
            f"ethtool {interface} failed with exit code {answer.code}: {said[-1][:80] if said else 'no message'}"
        )
    return answer


# driver: ixgbe
FIELD = pattern(r"^[ \t]*([^:\s][^:\n]*):[ \t]*((?:\S.*)?)$", re.MULTILINE)


def parse_driver(text: str) -> Driver:
    fields = {name.lower(): value.strip()[:80] for name, value in FIELD.findall(text)}
    names = ("driver", "version", "firmware-version", "bus-info")
    return Driver(*("" if fields.get(name, "") == "N/A" else fields.get(name, "") for name in names))


# 10000baseT/Full
MODE = pattern(r"\b(\d{2,7})base", re.ASCII)
# 10000Mb/s
SPEED = pattern(r"(\d{1,9})Mb/s", re.ASCII)


def parse_link(text: str) -> Link:
    fields = {name.lower(): value for name, value in FIELD.findall(text)}
    speed = SPEED.match(fields.get("speed", ""))
    duplex = fields.get("duplex", "").lower()
    supported = text.partition("Supported link modes:")[2].partition(":")[0]
    return Link(
        int(speed.group(1)) if speed else None,
        duplex if duplex in ("full", "half") else "",
        {"yes": True, "no": False}.get(fields.get("link detected", "").lower()),
        max((int(mode) for mode in MODE.findall(supported)), default=0),
    )


# tx_timeout_count: 0
# [0]: rx_bytes: 209487403324
# [hw] rx frames: 92343581
COUNTER = pattern(rf"^[ \t]*(\S.{{0,100}}?):[ \t]*(\d{{1,{NUMBER_DIGITS}}})[ \t]*$", re.MULTILINE | re.ASCII)


def parse_statistics(text: str) -> Dict[str, int]:
    """Counters by name; of a name that stands twice, the larger. Lines that are no counter are left out.

    >>> parse_statistics("NIC statistics:\\n     rx_packets: 12\\n     [0]: rx_bytes: 9\\n     broken: x")
    {'rx_packets': 12, '[0]: rx_bytes': 9}
    """
    found: Dict[str, int] = {}
    for name, digits in COUNTER.findall(text):
        found[name] = max(int(digits), found.get(name, 0))
    return found


def reset_counters(counters: Dict[str, int]) -> Dict[str, int]:
    """Those that count resets of the card."""
    found = {name: counters[name] for name in RESET_COUNTERS if name in counters}
    queues = [value for name, value in counters.items() if QUEUE_TIMEOUTS.fullmatch(name)]
    return {**found, "tx_timeouts of all queues": sum(queues)} if queues else found


def crc_counters(counters: Dict[str, int]) -> Dict[str, int]:
    """Those that count frames with a bad checksum, which a cable, a plug or an optic makes."""
    return {name: counters[name] for name in CRC_COUNTERS if name in counters}
