"""peer_ports: one connection to each machine that this one depends on."""

from __future__ import annotations

import socket
import threading

import pytest

from agent.checks.network import peer_ports
from agent.expected import Expected
from agent.machine.live import LiveHost
from tests.machine import FakeHost, run_checks

PEERS = ("kafka-a02:9092", "kafka-a03:9092", "zk1:2181")


def machine(peers: tuple[str, ...] = PEERS, **whys: str) -> FakeHost:
    given = {target: whys[name] for target in peers for name in whys if name in target.replace("-", "_")}
    return FakeHost(expected=Expected(roles=("broker",), peers=peers), answers={"connect": given})


def test_peers_that_all_let_us_in_are_ok() -> None:
    (finding,) = run_checks(machine(), "peer_ports")

    assert (finding.item, finding.status, finding.facts["peers"]) == ("peers", "ok", 3)


@pytest.mark.parametrize(("unreached", "status"), [(0, "ok"), (1, "warning"), (3, "warning")])
def test_the_edges_of_the_limits(unreached: int, status: str) -> None:
    facts = peer_ports.Facts(3, tuple((f"k{number}:9092", "no answer") for number in range(unreached)))

    assert peer_ports.judge(facts, peer_ports.LIMITS).status == status


def test_a_peer_that_drops_us_is_named_with_the_playbook_of_the_firewall() -> None:
    (finding,) = run_checks(machine(kafka_a03="no answer"), "peer_ports")

    assert finding.status == "warning" and finding.verdict.playbook == "firewall"
    assert finding.verdict.reason == "cannot connect to 1 of 3 peers: kafka-a03:9092 (no answer)"
    assert finding.facts["unreached"] == (("kafka-a03:9092", "no answer"),)


def test_a_peer_where_nothing_listens_is_not_blamed_on_a_firewall() -> None:
    (finding,) = run_checks(machine(zk1="refused"), "peer_ports")

    assert finding.verdict.playbook == ""


def test_many_peers_are_cut_short_in_the_reason_and_whole_in_the_facts() -> None:
    peers = tuple(f"k{number}:9092" for number in range(50))
    (finding,) = run_checks(machine(peers, k="refused"), "peer_ports")

    assert "and 44 more" in finding.verdict.reason and len(finding.facts["unreached"]) == 50


def test_without_peers_it_is_skipped() -> None:
    (finding,) = run_checks(machine(()), "peer_ports")

    assert finding.status == "skipped"


def test_real_ports_open_closed_full_and_misspelt() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        keep = [socket.create_connection(full.getsockname(), timeout=5)]  # its queue holds one; the next gets no answer
        open_port, full_port = listening.getsockname()[1], full.getsockname()[1]
        whys = LiveHost().connect(
            f"127.0.0.1:{open_port}", "127.0.0.1:1", f"127.0.0.1:{full_port}", "no-such-host.invalid:9092", "nonsense",
            f"[::ffff:127.0.0.1]:{open_port}", deadline_s=1.0,
        )  # fmt: skip
        for one in keep:
            one.close()

    assert list(whys.values()) == ["", "refused", "no answer", "unknown name", "no address", ""]


def test_a_hundred_peers_that_do_not_answer_cost_their_deadline_and_no_more() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname(), timeout=5):
            port = full.getsockname()[1]
            targets = [f"127.0.0.{number}:1" for number in range(1, 99)] + [f"127.0.0.1:{port}"]
            before = threading.active_count()
            whys = LiveHost().connect(*targets, deadline_s=0.5)

    assert set(whys.values()) == {"refused", "no answer"} and len(whys) == 99
    assert threading.active_count() <= before + 1
