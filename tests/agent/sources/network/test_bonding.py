"""bonding: who carries a bond, by the kernel's own description."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell
from agent.sources.network.bonding import Bond, Member, parse_bond

# hand-made, in the form of Linux 5.14
ACTIVE_BACKUP = """Ethernet Channel Bonding Driver: v5.14.0-427.el9.x86_64

Bonding Mode: fault-tolerance (active-backup)
Primary Slave: None
Currently Active Slave: eth0
MII Status: up
MII Polling Interval (ms): 100
Up Delay (ms): 0

Slave Interface: eth0
MII Status: up
Speed: 10000 Mbps
Duplex: full
Link Failure Count: 2
Permanent HW addr: 02:00:00:00:00:01
Slave queue ID: 0

Slave Interface: eth1
MII Status: down
Speed: Unknown
Duplex: Unknown
Link Failure Count: 5
Permanent HW addr: 02:00:00:00:00:02
Slave queue ID: 0
"""
LACP = """Ethernet Channel Bonding Driver: v3.7.1 (April 27, 2011)

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Transmit Hash Policy: layer3+4 (1)
MII Status: up

802.3ad info
LACP rate: fast
Active Aggregator Info:
        Aggregator ID: 1
        Number of ports: 1

Slave Interface: eth0
MII Status: up
Link Failure Count: 0
Aggregator ID: 1
details actor lacp pdu:
    port key: 15

Slave Interface: eth1
MII Status: up
Link Failure Count: 0
Aggregator ID: 2
"""


def test_active_backup() -> None:
    bond = parse_bond(ACTIVE_BACKUP, "bond0")

    assert bond == Bond(
        "fault-tolerance (active-backup)", True, "eth0", "", [Member("eth0", True, 2, ""), Member("eth1", False, 5, "")]
    )
    assert [bond.carries(member) for member in bond.members] == [True, False]


def test_a_member_in_another_aggregator_carries_nothing() -> None:
    bond = parse_bond(LACP, "bond0")

    assert [bond.carries(member) for member in bond.members] == [True, False]


@pytest.mark.parametrize("text", ["", "Bonding Mode: x", "MII Status: up", "Slave Interface: eth0\nBonding Mode: x"])
def test_what_is_no_bond_cannot_be_told(text: str) -> None:
    with pytest.raises(CannotTell, match="bond0 does not describe a bond"):
        parse_bond(text, "bond0")


@given(st.sampled_from([ACTIVE_BACKUP, LACP]), st.integers(0, 900), st.integers(0, 900), st.text(max_size=30))
def test_damage_gives_a_typed_value_or_cannot_tell(text: str, start: int, end: int, put: str) -> None:
    try:
        bond = parse_bond(text[:start] + put + text[max(start, end) :], "bond0")
    except CannotTell:
        return
    assert all(
        isinstance(member.up, bool) and member.failures >= 0 and len(member.name) <= 40 for member in bond.members
    )
