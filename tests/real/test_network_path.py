"""network_path against real loss and a real listen queue that overflows, in a network namespace of their own.

The loss is made by a packet filter that drops each third segment by chance, as `tc netem loss` would; not every kernel
has netem.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.real.parts.namespace import Namespace, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.root]

EXPECTED = {"roles": ["broker"], "mounts": [], "ports": [9092]}
SERVER = """
import socket, threading
listening = socket.create_server(("127.0.0.1", 9092))
def drain(one):
    while one.recv(65536):
        pass
while True:
    threading.Thread(target=drain, args=(listening.accept()[0],), daemon=True).start()
"""
# many connections, so that a lost segment delays one of them and not all
CLIENT = """
import socket, threading, time
def talk():
    one = socket.create_connection(("127.0.0.1", 9092), 60)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    until = time.monotonic() + 8
    while time.monotonic() < until:
        one.sendall(b"x" * 100)
        time.sleep(0.01)
threads = [threading.Thread(target=talk) for _ in range(60)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
# a server that accepts nobody, with room for one
FULL = """
import socket, time
listening = socket.socket()
listening.bind(("127.0.0.1", 9093))
listening.listen(1)
time.sleep(600)
"""
KNOCK = """
import socket, time
clients = [socket.socket() for _ in range(40)]
for client in clients:
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", 9093))
time.sleep(3)
"""


@pytest.fixture(name="inside")
def a_network() -> Iterator[Namespace]:
    with Namespace("--net", "--mount", "--pid") as inside:  # no other server is seen
        inside.run("ip", "link", "set", "lo", "up")
        yield inside


def lose_a_third(inside: Namespace) -> None:
    try:
        inside.run("nft", "add", "table", "inet", "lossy")
        inside.run("nft", "add", "chain", "inet", "lossy", "input", "{ type filter hook input priority 0; }")
        words = ["tcp", "dport", "9092", "numgen", "random", "mod", "3", "==", "0", "drop"]
        inside.run("nft", "add", "rule", "inet", "lossy", "input", *words)
    except (AssertionError, FileNotFoundError):
        pytest.skip("this machine cannot drop packets by chance (nft, nft_numgen)")


def listens(inside: Namespace, port: int) -> bool:
    return f":{port:04X}" in inside.run("cat", "/proc/self/net/tcp")


def test_a_third_of_the_packets_lost_is_told_and_a_whole_link_is_silent(
    inside: Namespace, tmp_path: pathlib.Path
) -> None:
    state = tmp_path / "state"
    inside.start("python3", "-c", SERVER)
    wait_for("the server listens", lambda: listens(inside, 9092))
    inside.findings("network_path", EXPECTED, state)
    inside.run("python3", "-c", CLIENT.replace("+ 8", "+ 2"))
    whole = inside.findings("network_path", EXPECTED, state)["retransmissions"]
    lose_a_third(inside)
    inside.run("python3", "-c", CLIENT)
    lossy = inside.findings("network_path", EXPECTED, state)["retransmissions"]

    assert whole["status"] == "ok", whole
    assert lossy["status"] in ("warning", "critical"), lossy
    assert lossy["facts"]["sent_again"] > 50 and "retransmitted" in lossy["reason"]


def test_a_listen_queue_that_overflows_is_told(inside: Namespace, tmp_path: pathlib.Path) -> None:
    state = tmp_path / "state"
    inside.start("python3", "-c", FULL)
    wait_for("the server listens", lambda: listens(inside, 9093))
    before = inside.findings("network_path", EXPECTED, state)["listen queues"]
    inside.run("python3", "-c", KNOCK)
    after = inside.findings("network_path", EXPECTED, state)["listen queues"]

    assert (before["status"], after["status"]) == ("ok", "warning"), after
    assert after["facts"]["overflows"] >= 10


def test_the_counters_are_those_of_nstat(inside: Namespace, tmp_path: pathlib.Path) -> None:
    """Another reader of the same files, where it is installed."""
    try:
        said = inside.run("nstat", "-asz", "TcpRetransSegs", "TcpExtListenOverflows")
    except FileNotFoundError:
        pytest.skip("nstat is not installed (package iproute2)")
    rows = {row.split()[0]: int(row.split()[1]) for row in said.splitlines() if row.startswith("Tcp")}
    text = inside.run("cat", "/proc/net/snmp", "/proc/net/netstat")

    from agent.sources.network import counters as tcp_counters

    read = tcp_counters.parse(text)
    assert (read["Tcp.RetransSegs"], read["TcpExt.ListenOverflows"]) == tuple(rows.values())
