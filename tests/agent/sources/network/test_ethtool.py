"""ethtool: its three outputs, and the names by which each driver counts resets and bad frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Answer, CannotTell, ToolMissing
from agent.sources.network import ethtool
from tests.machine import FakeHost

# hand-made, in the form of ethtool 5.16
DRIVER = """driver: ixgbe
version: 5.14.0-427.el9.x86_64
firmware-version: 0x800007b0, 18.3.6
expansion-rom-version:
bus-info: 0000:05:00.0
supports-statistics: yes
"""
LINK = """Settings for eth0:
        Supported ports: [ FIBRE ]
        Supported link modes:   1000baseT/Full
                                10000baseT/Full
        Supported pause frame use: Symmetric
        Advertised link modes:  100000baseT/Full
        Speed: 10000Mb/s
        Duplex: Full
        Auto-negotiation: on
        Link detected: yes
"""
STATISTICS = """NIC statistics:
     rx_packets: 12
     [0]: rx_bytes: 209487403324
     [hw] rx frames: 92343581
     rxq0: rx_compl_err: 3
     tx_timeout_count: 2
     rx_noskb_drops: 1
     rx_noskb_drops: 4
     broken: x
     empty:
"""


def test_the_driver() -> None:
    assert ethtool.parse_driver(DRIVER) == ethtool.Driver(
        "ixgbe", "5.14.0-427.el9.x86_64", "0x800007b0, 18.3.6", "0000:05:00.0"
    )
    assert ethtool.parse_driver("driver: virtio_net\nfirmware-version: N/A\n").firmware == ""


def test_the_link() -> None:
    assert ethtool.parse_link(LINK) == ethtool.Link(10000, "full", True, 10000)


@pytest.mark.parametrize("text", ["", "Settings for eth0:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n"])
def test_a_link_that_is_not_told(text: str) -> None:
    assert ethtool.parse_link(text) == ethtool.Link(None, "", None, 0)


def test_the_counters() -> None:
    assert ethtool.parse_statistics(STATISTICS) == {
        "rx_packets": 12,
        "[0]: rx_bytes": 209487403324,
        "[hw] rx frames": 92343581,
        "rxq0: rx_compl_err": 3,
        "tx_timeout_count": 2,
        "rx_noskb_drops": 4,
    }


@pytest.mark.parametrize(
    ("text", "resets"),
    [
        ("     tx_timeout_count: 3\n", 3),  # ixgbe, igb, e1000e
        ("     port.tx_timeout: 3\n     port.tx_hwtstamp_timeouts: 9\n", 3),  # i40e
        ("     tx_timeout.nic: 3\n", 3),  # ice
        ("     rx_total_resets: 3\n     tx_total_resets: 1\n", 3),  # bnxt_en
        ("     [0]: recoverable_errors: 9\n     recoverable_errors: 3\n", 3),  # bnx2x
        ("     tx timeout count: 3\n", 3),  # vmxnet3
        ("     tx_queue_0_tx_timeouts: 1\n     tx_queue_1_tx_timeouts: 2\n", 3),  # virtio_net
        ("     tx0_tx_timeouts: 3\n", 3),
        ("     tx_hwtstamp_timeouts: 9\n     rx_packets: 9\n", None),
    ],
)
def test_each_drivers_name_for_its_resets(text: str, resets: int) -> None:
    counted = ethtool.reset_counters(ethtool.parse_statistics(text))

    assert max(counted.values(), default=None) == resets


def host(answer: object) -> FakeHost:
    return FakeHost(commands={"ethtool -S eth0": answer, "ethtool -i eth0": answer, "ethtool eth0": answer})


def test_a_driver_without_counters_has_none() -> None:
    assert ethtool.statistics(host(Answer(94, "", "no stats available\n")), "eth0") == {}


@pytest.mark.parametrize("answer", [Answer(71, "", "Cannot get device settings: No such device\n"), Answer(1, "", "")])
def test_a_failing_ethtool_is_cannot_tell(answer: Answer) -> None:
    with pytest.raises(CannotTell, match="ethtool eth0 failed with exit code"):
        ethtool.statistics(host(answer), "eth0")


def test_without_ethtool_the_rest_goes_on() -> None:
    about = ethtool.about(host(ToolMissing("ethtool is not installed (package ethtool)")), "eth0")

    assert about == ethtool.About(not_asked="ethtool is not installed (package ethtool)")


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from([DRIVER, LINK, STATISTICS]))
    start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    return text[:start] + draw(st.text(max_size=20)) + text[end:]


@given(st.one_of(st.text(), damaged(), st.binary().map(lambda raw: raw.decode("utf-8", "replace"))))
def test_rubbish_gives_typed_values_or_nothing(text: str) -> None:
    link, driver, counters = ethtool.parse_link(text), ethtool.parse_driver(text), ethtool.parse_statistics(text)

    assert link.speed_mbps is None or link.speed_mbps >= 0
    assert link.duplex in ("", "full", "half") and link.link in (None, True, False) and link.best_mbps >= 0
    assert all(len(word) <= 80 for word in driver)
    assert all(isinstance(value, int) and value >= 0 for value in counters.values())
