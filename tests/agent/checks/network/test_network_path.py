"""network_path: what is lost since the last run, per second; a first run and a quiet machine are ok."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.network.network_path import LISTEN, MTU, SENT_AGAIN, TRACKING
from agent.host import Interface
from agent.sources.network import counters as tcp_counters
from agent.status import Finding
from tests.agent import servers
from tests.machine import FakeHost, by_item, next_run, run_checks

ETH0 = Interface("eth0", "physical", "ixgbe", "02:00:00:00:00:01", "0000:05:00.0", "")
# of Linux 6.1, without most columns
SNMP = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 9 {} {}\n"
NETSTAT = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 {} {}\nIpExt: InNoRoutes\nIpExt: 0\n"
STAT = "entries  clashres found drop early_drop\n0000001b  00000000 00000001 {:08x} 00000000\n" + "0 0 0 00000000 0\n"


def files(
    sent: int = 10**6, again: int = 100, overflows: int = 3, tracked: int = 900, drops: int = 0
) -> dict[str, Any]:
    return {
        "/proc/net/snmp": SNMP.format(sent, again),
        "/proc/net/netstat": NETSTAT.format(overflows, overflows),
        "/proc/sys/net/netfilter/nf_conntrack_count": f"{tracked}\n",
        "/proc/sys/net/netfilter/nf_conntrack_max": "262144\n",
        "/proc/net/stat/nf_conntrack": STAT.format(drops),
        "/sys/class/net/eth0/mtu": "9000\n",
    }


def machine(**counts: int) -> FakeHost:
    return FakeHost(files=files(**counts), answers={"processes": [], "interfaces": [ETH0]})


def look(host: FakeHost) -> dict[str, Finding]:
    found = by_item(run_checks(host, "network_path"))
    assert not [one for one in found.values() if "check failed" in one.verdict.reason], found
    return found


def later(seconds: float = 600.0, **counts: int) -> dict[str, Finding]:
    first = machine()
    assert {one.status for one in look(first).values()} == {"ok"}
    return look(next_run(first, after_s=seconds, files=files(**counts)))


def test_a_first_run_and_a_quiet_second_are_ok() -> None:
    assert {item: one.status for item, one in later().items()} == dict.fromkeys(
        (SENT_AGAIN, LISTEN, TRACKING, MTU), "ok"
    )


@pytest.mark.parametrize(
    ("sent", "again", "status"),
    [
        (10_000, 49, "ok"),
        (100_000, 1_900, "ok"),
        (98_000, 2_000, "warning"),
        (1_000, 400, "warning"),  # a quiet machine that loses a third: 0.7 a second
        (20_000, 6_000, "critical"),  # 10 a second
        (3, 40, "ok"),
    ],
)
def test_segments_sent_again_are_judged_by_their_share_and_their_number(sent: int, again: int, status: str) -> None:
    finding = later(sent=10**6 + sent, again=100 + again)[SENT_AGAIN]

    assert finding.status == status
    assert status == "ok" or finding.verdict.playbook == "network-path"


@pytest.mark.parametrize(("more", "status"), [(9, "ok"), (10, "warning"), (10**6, "warning")])
def test_overflows_of_a_listen_queue(more: int, status: str) -> None:
    assert later(overflows=3 + more)[LISTEN].status == status


@pytest.mark.parametrize(
    ("tracked", "drops", "status"),
    [(196_000, 0, "ok"), (196_608, 0, "warning"), (249_037, 0, "critical"), (900, 1, "critical")],
)
def test_connection_tracking_that_is_full_or_drops(tracked: int, drops: int, status: str) -> None:
    assert later(tracked=tracked, drops=drops)[TRACKING].status == status


def test_a_kernel_without_connection_tracking_or_counters_is_skipped() -> None:
    host = FakeHost(answers={"processes": [], "interfaces": [ETH0]})

    assert {one.status for one in look(host).values()} == {"skipped"}


def test_the_mtu_is_told_for_the_comparison_of_peers() -> None:
    assert look(machine())[MTU].facts["mtus"] == ("eth0 9000",)


@given(
    st.text()
    | st.lists(st.sampled_from(["Tcp:", "OutSegs", "1", "-", "٣", "\n", " ", "RetransSegs", "drop", "zz"])).map(
        " ".join
    )
)
def test_rubbish_never_fails(text: str) -> None:
    assert all(isinstance(value, int) for value in tcp_counters.parse(text).values())
    host = machine()
    host.files.update(dict.fromkeys(files(), text))

    assert len(look(host)) == 4


def namespaces(number: int) -> dict[str, Any]:
    """As os.path.realpath gives the link: with the number of the process that asks."""
    return {"link /proc/self/ns/net": f"/proc/{number}/ns/net:[4026531840]"}


def test_counters_of_another_network_namespace_are_not_compared() -> None:
    """A containerised broker stopped: what is read now are the counters of the host, which are far higher."""
    broker = servers.broker()
    own = {f"/proc/4242/{path.removeprefix('/proc/')}": text for path, text in files(sent=1000, again=1).items()}
    inside = {"link /proc/4242/ns/net": "/proc/4242/ns/net:[4026532999]", "processes": [broker]}
    first = FakeHost(files={**files(10**9, 10**8), **own},
                         answers={**servers.answers([broker]), **inside, "interfaces": [ETH0]})  # fmt: skip
    assert look(first)[SENT_AGAIN].status == "ok"

    stopped = next_run(first, answers={"processes": [], **namespaces(77)})
    found = look(stopped)
    assert {found[item].verdict.reason for item in (SENT_AGAIN, LISTEN)} == {"first run: counting starts now"}

    later = next_run(stopped, files=files(10**9 + 98_000, 10**8 + 2_000), answers=namespaces(78))
    assert look(later)[SENT_AGAIN].status == "warning"
