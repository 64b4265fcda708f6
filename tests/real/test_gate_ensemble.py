"""The gate's answer for a server of a real ensemble of which the inventory names but a part (W4)."""

from __future__ import annotations

import pathlib

import pytest

from inventory.model import Cluster, Host
from smoketests.cluster import services
from smoketests.gate.context import GateContext
from smoketests.gate.decision import CANNOT_TELL, FAILED, PASSED, WARNED, RuleResult
from smoketests.gate.maintenance import Maintenance
from smoketests.gate.rules import judged
from tests.real.parts.ensemble import Ensemble, Member
from tests.real.parts.namespace import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def asked(named: list[Member], leaving: Member, purpose: str = "reboot") -> RuleResult:
    """The rule zookeeper, with what these servers say."""
    hosts = tuple(
        Host(f"zk-a0{one.number}", roles=("zookeeper",), address="127.0.0.1", ports=(one.port,), cluster="zk")
        for one in named
    )
    view = services.look(Cluster("zk", hosts, tuple(one.address for one in named)), {})
    leaves = tuple(host for host in hosts if host.ports == (leaving.port,))
    return judged(GateContext(Maintenance((leaves[0].name,), purpose, "zk"), view, leaves), "zookeeper")


def test_the_voters_are_those_of_the_ensemble_and_not_those_of_the_inventory(tmp_path: pathlib.Path) -> None:
    """Five vote, the inventory names three, only srvr is allowed: two unnamed ones die, and nobody else may go."""
    with Ensemble(tmp_path, whitelist="srvr", size=5) as five:
        first, second = five.followers[:2]
        named = [five.leader, first, second]
        others = [member for member in five.members if member not in named]
        well, good = asked(named, first), asked(named, first, "decommission")
        for member in others:
            member.stop()
        wait_for("three in step", lambda: len([one for one in named if one.mode in ("leader", "follower")]) == 3, 30)
        lost = asked(named, first)

        assert well.status == CANNOT_TELL, "two of the voters were not asked, and nobody may be told of them"
        assert "2 voters more are not in the inventory: add them" in well.reason
        assert (
            lost.status in (FAILED, CANNOT_TELL) and "2 servers in sync would be left, the majority is 3" in lost.reason
        )
        assert asked([*named, *others], first).status == FAILED
        assert good.status != PASSED


def test_one_of_three_voters_is_not_taken_away_for_good(tmp_path: pathlib.Path) -> None:
    with Ensemble(tmp_path) as three:
        leaving = three.followers[0]
        reboot, for_good = asked(three.members, leaving), asked(three.members, leaving, "decommission")

    assert reboot.status in (PASSED, WARNED)
    assert for_good.status == FAILED
    assert "is one of 3 voters: without it the ensemble could lose 0 more" in for_good.reason
