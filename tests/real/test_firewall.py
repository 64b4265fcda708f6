"""firewall against real rules: what the check says of a port is what a real connection from another machine finds.

Two network namespaces, joined by a cable of their own: one is the broker, the other a peer.
"""

import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.parts.namespace import Namespace

pytestmark = [pytest.mark.slow, pytest.mark.root]

BROKER, PEER = "10.77.0.1", "10.77.0.2"
LISTEN = """
import socket, time
listening = socket.create_server(("", 9092))
time.sleep(600)
"""
CONNECT = f"""
import socket
client = socket.socket()
client.settimeout(0.4)
print("" if client.connect_ex(("{BROKER}", 9092)) else "open")
"""


class Rack:
    def __init__(self, broker: Namespace, peer: Namespace) -> None:
        self.broker = broker
        self._peer = peer

    def reaches(self) -> bool:
        """Whether the peer's connection to the broker's 9092 is accepted."""
        return self._peer.run("python3", "-c", CONNECT).strip() == "open"

    def finding(self, state: pathlib.Path, **expected: Any) -> Any:
        said = {"roles": ["broker"], "ports": [9092], **expected}
        return self.broker.findings("firewall", said, state)["firewall"]


@pytest.fixture(scope="module")
def cabled() -> Iterator[Rack]:
    if not shutil.which("nft"):
        pytest.skip("needs nft (package nftables)")
    with Namespace("--net") as broker, Namespace("--net") as peer:
        broker.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", str(peer.pid))
        for namespace, address in ((broker, BROKER), (peer, PEER)):
            namespace.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
            namespace.run("ip", "link", "set", "eth0", "up")
            namespace.run("ip", "link", "set", "lo", "up")
        broker.start("python3", "-c", LISTEN)
        yield Rack(broker, peer)


@pytest.fixture
def rack(cabled: Rack) -> Iterator[Rack]:
    yield cabled
    cabled.broker.run("nft", "flush", "ruleset")


def chain(*rules: str, policy: str = "drop", extra: str = "") -> str:
    body = "\n    ".join(rules)
    return f"""table inet filter {{
  {extra}
  chain input {{
    type filter hook input priority 0; policy {policy};
    {body}
  }}
}}"""


SVC = "chain svc { tcp dport 9000-9100 accept\n }"

# rules, does the peer get through, status where the inventory expects a firewall
CASES = [
    (chain("tcp dport 22 accept"), False, "critical"),
    (chain("tcp dport 9092 accept"), True, "ok"),
    (chain("tcp dport { 22, 9000-9100 } accept"), True, "ok"),
    (chain("tcp dport 9092 reject with tcp reset", policy="accept"), False, "critical"),
    (chain("ct state vmap { established : accept, invalid : drop, new : jump svc }", extra=SVC), True, "ok"),
    (chain("iif lo accept", "ct state established,related accept"), False, "critical"),
    (chain("jump svc", extra="chain svc { tcp dport 9092 return\n accept\n }"), False, "critical"),
    (chain("tcp dport vmap @m", extra="map m { type inet_service : verdict; elements = { 22 : drop, 9092 : accept } }"),
     True, "ok"),
    (chain("tcp dport @ports accept",
           extra="set ports { type inet_service; flags interval; elements = { 9090-9099 } }"), True, "ok"),
    (chain("tcp flags & (fin|syn|rst|ack) == syn tcp dport >= 9000 accept", "ct state established accept"), True, "ok"),
    (chain('iifname "eth0" accept'), True, "ok"),
    (chain('iifname "eth9" accept'), False, "critical"),
    (chain("fib saddr . iif oif missing drop", "fib daddr type local accept"), True, "ok"),
    (chain("meta l4proto tcp ct count over 100 drop", "meta l4proto tcp accept"), True, "ok"),
    (chain("ip saddr 10.77.0.0/24 tcp dport 9092 accept"), True, "warning"),
    (chain("ip saddr 192.0.2.0/24 drop", policy="accept"), True, "warning"),
    (chain("meta mark 0x1 accept"), False, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "through", "status"), CASES)
def test_the_check_says_what_a_real_connection_finds(
    rack: Rack, tmp_path: pathlib.Path, rules: str, through: bool, status: str
) -> None:
    rack.broker.run("nft", "-f", "-", text=rules)

    finding = rack.finding(tmp_path / "state", firewall="active")

    assert rack.reaches() == through
    assert finding["status"] == status, finding["reason"]


def test_blocked_is_critical_allowed_a_warning_and_expected_ok_and_empty_ok(rack: Rack, tmp_path: pathlib.Path) -> None:
    empty = rack.finding(tmp_path / "state")
    rack.broker.run("nft", "-f", "-", text=chain("tcp dport 22 accept"))
    blocked = rack.finding(tmp_path / "state")
    rack.broker.run("nft", "add", "rule", "inet", "filter", "input", "tcp", "dport", "9092", "accept")
    allowed = rack.finding(tmp_path / "state")
    expected = rack.finding(tmp_path / "state", firewall="active")

    statuses = [finding["status"] for finding in (empty, blocked, allowed, expected)]
    assert statuses == ["ok", "critical", "warning", "ok"]
    assert "9092 (inet filter input)" in blocked["reason"]


def test_sources_that_cover_the_peers_are_enough(rack: Rack, tmp_path: pathlib.Path) -> None:
    rack.broker.run("nft", "-f", "-", text=chain("ip saddr 10.0.0.0/8 tcp dport 9092 accept"))
    limits = {"firewall": {"peers": "10.77.0.0/24"}}

    assert rack.reaches()
    assert rack.finding(tmp_path / "state", firewall="active", limits=limits)["status"] == "ok"


@pytest.mark.parametrize("tool", ["iptables", "iptables-legacy"])
@pytest.mark.parametrize(
    ("rules", "through", "status"),
    [
        (["-P INPUT DROP", "-A INPUT -p tcp -m multiport --dports 9092,2181:2183 -j ACCEPT"], True, "ok"),
        (["-P INPUT DROP", "-A INPUT -p tcp -m multiport --dports 22,2181:2183 -j ACCEPT"], False, "critical"),
        (["-N svc", "-A svc -p tcp --syn --dport 9092 -j REJECT", "-A INPUT -j svc"], False, "critical"),
        (["-A INPUT -m conntrack --ctstate INVALID -j DROP", "-A INPUT -i lo -j ACCEPT"], True, "ok"),
        (["-P INPUT DROP", "-A INPUT -s 10.77.0.0/24 -j ACCEPT"], True, "warning"),
        (["-A INPUT -p tcp --dport 9092 -m recent --name x --update --seconds 5 -j DROP"], True, "unknown"),
    ],
)
def test_iptables_of_either_kind(
    rack: Rack, tmp_path: pathlib.Path, tool: str, rules: list[str], through: bool, status: str
) -> None:
    if not shutil.which(tool):
        pytest.skip(f"needs {tool} (package iptables)")
    try:
        for rule in rules:
            rack.broker.run(tool, *rule.split())
        finding = rack.finding(tmp_path / "state", firewall="active")
        assert rack.reaches() == through
        assert finding["status"] == status, finding["reason"]
        assert "iptables" in finding["reason"] or status in ("warning", "unknown")
    finally:
        for words in (["-P", "INPUT", "ACCEPT"], ["-F"], ["-X"]):
            rack.broker.run(tool, *words)
