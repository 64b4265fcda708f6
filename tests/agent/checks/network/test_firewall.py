"""firewall: what the rules do to the ports that Kafka and ZooKeeper need."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.network import firewall
from agent.expected import Expected
from agent.host import Answer, Process, ToolMissing, Touched
from agent.sources.firewall.evaluate import Fate
from agent.status import Finding
from tests.machine import FakeHost, next_run, run_checks

NFT = "nft -j list ruleset"
LOADED = "nf_tables 262144 10 nft_compat, Live 0x0\n"
META: dict[str, Any] = {"metainfo": {"version": "1.0.6", "json_schema_version": 1}}
ROUTES = "Iface\tDestination\tGateway\neth0\t00000000\t0100000A\ndocker0\t000011AC\t00000000\n"


def nft(*statements: Any, policy: str = "drop", hook: str = "input") -> Answer:
    """An nft ruleset as nft 1.0.6 prints it, hand-made: one chain."""
    where = {"family": "inet", "table": "filter"}
    chain = {**where, "name": hook, "type": "filter", "hook": hook, "prio": 0, "policy": policy}
    rules = [{"rule": {**where, "chain": hook, "expr": list(expr)}} for expr in statements]
    return Answer(0, json.dumps({"nftables": [META, {"chain": chain}, *rules]}), "")


def port(number: int, verdict: str = "accept") -> list[Any]:
    left = {"payload": {"protocol": "tcp", "field": "dport"}}
    return [{"match": {"op": "==", "left": left, "right": number}}, {verdict: None}]


def from_source(network: str, length: int) -> list[Any]:
    left = {"payload": {"protocol": "ip", "field": "saddr"}}
    right = {"prefix": {"addr": network, "len": length}}
    return [{"match": {"op": "==", "left": left, "right": right}}, {"accept": None}]


def machine(
    answer: Any = None, *, files: Any = None, commands: Any = None, processes: Any = (), **expected: Any
) -> FakeHost:
    said: dict[str, Any] = {"roles": ("broker",), "ports": (9092,), **expected}
    return FakeHost(
        files={"/proc/modules": LOADED, "/proc/net/route": ROUTES, **(files or {})},
        commands={**({NFT: answer} if answer else {}), **(commands or {})},
        answers={"processes": list(processes)},
        expected=Expected(**said),
    )


def only(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "firewall")
    return finding


def test_a_machine_without_any_firewall_is_quiet() -> None:
    host = machine(files={"/proc/modules": "xfs 1 0 - Live 0x0\n", "/proc/sys/kernel/osrelease": "6.1.0-1\n",
                          "/lib/modules/6.1.0-1/modules.builtin": "kernel/fs/ext4/ext4.ko\n"})  # fmt: skip
    finding = only(host)

    assert (finding.item, finding.status) == ("firewall", "ok")
    assert finding.verdict.reason == "no firewall active; installed: none"


def test_nft_is_not_even_asked_where_the_kernel_has_not_loaded_it() -> None:
    def asked() -> Exception:
        return AssertionError("asking would load the module")

    host = machine(asked(), files={"/proc/modules": "xfs 1 0 - Live 0x0\n", "/proc/sys/kernel/osrelease": "6.1.0-1\n",
                                   "/lib/modules/6.1.0-1/modules.builtin": ""})  # fmt: skip
    assert only(host).status == "ok"


def test_without_kafka_there_is_no_question() -> None:
    assert only(FakeHost()).status == "skipped"


def test_a_blocked_port_is_critical_and_names_port_and_chain() -> None:
    finding = only(machine(nft(port(22))))

    assert (finding.status, finding.verdict.playbook) == ("critical", "firewall")
    assert "nftables blocks TCP 9092 (inet filter input)" in finding.verdict.reason


@pytest.mark.parametrize(("expects", "status"), [("", "warning"), ("active", "ok")])
def test_a_firewall_that_lets_the_port_through_is_as_the_inventory_says(expects: str, status: str) -> None:
    assert only(machine(nft(port(9092)), firewall=expects)).status == status


def test_an_expected_firewall_that_is_off_is_a_warning() -> None:
    finding = only(machine(nft(policy="accept"), firewall="active"))

    assert finding.status == "warning" and "inventory expects one" in finding.verdict.reason


def test_it_is_ok_again_when_the_rule_is_there() -> None:
    host = machine(nft(port(22)), firewall="active")
    assert only(host).status == "critical"

    assert only(next_run(host, commands={NFT: nft(port(22), port(9092))})).status == "ok"


def test_an_accepting_table_is_no_firewall() -> None:
    assert only(machine(nft(port(22), policy="accept"))).status == "ok"


def test_open_for_some_sources_is_a_warning_that_names_them() -> None:
    finding = only(machine(nft(from_source("10.0.0.0", 8)), firewall="active"))

    assert finding.status == "warning"
    assert "9092 (source 10.0.0.0/8)" in finding.verdict.reason


@pytest.mark.parametrize(
    ("peers", "status"),
    [("10.4.0.0/16", "ok"), ("10.4.0.0/16, 172.16.0.0/12", "warning"), ("172.16.0.0/12", "critical"), ("x", "unknown")],
)
def test_sources_are_held_against_the_peers_that_the_inventory_names(peers: str, status: str) -> None:
    for limits in ({"peers": peers}, {"peers": "x", "items": {"firewall": {"peers": peers}}}):
        host = machine(nft(from_source("10.0.0.0", 8)), firewall="active", limits={"firewall": limits})
        assert only(host).status == status


def test_a_rule_beyond_this_check_is_unknown_never_ok() -> None:
    grouped = [{"match": {"op": "==", "left": {"meta": {"key": "cgroup"}}, "right": 1}}, {"accept": None}]
    finding = only(machine(nft(grouped), firewall="active"))

    assert finding.status == "unknown" and "9092" in finding.verdict.reason


def test_connections_that_may_not_leave_are_critical_too() -> None:
    finding = only(machine(nft(port(9092, "reject"), policy="accept", hook="output")))

    assert finding.status == "critical" and "blocks connections to TCP 9092" in finding.verdict.reason


def test_closed_over_ipv6_alone_is_a_warning_where_there_is_ipv6() -> None:
    v4 = [{"match": {"op": "==", "left": {"meta": {"key": "nfproto"}}, "right": "ipv4"}}, {"accept": None}]
    here = {"/proc/net/if_inet6": "fd000000000000000000000000000001 02 40 00 80     eth0\n"}
    local = {"/proc/net/if_inet6": "fe800000000000000000000000000001 02 40 20 80     eth0\n"}

    assert "IPv6" in only(machine(nft(v4), files=here, firewall="active")).verdict.reason
    assert only(machine(nft(v4), files=here, firewall="active")).status == "warning"
    assert only(machine(nft(v4), files=local, firewall="active")).status == "ok"


def test_the_one_interface_with_a_route_is_where_peers_come_in() -> None:
    left = {"meta": {"key": "iifname"}}
    on = [[{"match": {"op": "==", "left": left, "right": name}}, {"accept": None}] for name in ("eth0", "eth1")]

    assert only(machine(nft(on[0]), firewall="active")).status == "ok"
    assert only(machine(nft(on[1]), firewall="active")).status == "critical"


SAVE_NFT = """# Generated by iptables-save v1.8.9 (nf_tables) on Fri Nov 20 11:10:22 2026
*filter
:INPUT DROP [0:0]
-A INPUT -p tcp -m multiport --dports 9092 -j ACCEPT
COMMIT
"""


def test_what_nft_shows_of_iptables_is_read_from_iptables_itself() -> None:
    """nft prints `xt match multiport` without its ports (recorded here, cut down)."""
    chain = {"family": "ip", "table": "filter", "name": "INPUT", "type": "filter", "hook": "input", "prio": 0}
    expr = [{"xt": {"type": "match", "name": "multiport"}}, {"accept": None}]
    rows = [META, {"chain": {**chain, "policy": "drop"}}, {"rule": {"family": "ip", "table": "filter", "chain": "INPUT", "expr": expr}}]  # fmt: skip # noqa: E501
    ruleset = Answer(0, json.dumps({"nftables": rows}), "")
    tools = {"iptables-save": Answer(0, SAVE_NFT, ""), "ip6tables-save": Answer(0, "", "")}

    assert only(machine(ruleset, firewall="active")).status == "unknown"
    assert only(machine(ruleset, commands=tools, firewall="active")).status == "ok"


LEGACY = SAVE_NFT.replace(" (nf_tables)", "").replace("9092", "22")


def test_old_iptables_is_asked_only_where_its_tables_are_in_use() -> None:
    files = {"/proc/modules": "ip_tables 1 0 - Live 0x0\n", "/proc/net/ip_tables_names": "filter\n",
             "/proc/sys/kernel/osrelease": "3.10\n", "/lib/modules/3.10/modules.builtin": ""}  # fmt: skip
    host = machine(files=files, commands={"iptables-save": Answer(0, LEGACY, "")})
    finding = only(host)

    assert finding.status == "critical" and "iptables blocks TCP 9092 (ip filter INPUT)" in finding.verdict.reason


def test_old_tables_beside_new_ones_are_read_too() -> None:
    tools = {"iptables-save": Answer(0, SAVE_NFT, ""), "ip6tables-save": Answer(0, "", ""),
             "iptables-legacy-save": Answer(0, LEGACY, "")}  # fmt: skip
    host = machine(nft(policy="accept"), files={"/proc/net/ip_tables_names": "filter\n"}, commands=tools)

    assert only(host).status == "critical"


def test_rules_without_the_tool_to_read_them_are_unknown_and_name_the_package() -> None:
    no_nft = only(machine(ToolMissing("nft is not installed (package nftables)")))
    legacy = only(machine(nft(policy="accept"), files={"/proc/net/ip_tables_names": "filter\n"}))

    assert no_nft.status == "unknown" and "package nftables" in no_nft.verdict.reason
    assert legacy.status == "unknown" and "iptables rules (filter)" in legacy.verdict.reason


def test_without_root_it_is_unknown() -> None:
    host = machine(nft(port(9092)))
    host.answers["is_root"] = False

    assert only(host).status == "unknown" and "needs root" in only(host).verdict.reason


def test_a_failing_nft_is_unknown_with_its_words() -> None:
    finding = only(machine(Answer(1, "", "Operation not permitted (you must be root)\n")))

    assert finding.status == "unknown" and "Operation not permitted" in finding.verdict.reason


def test_firewalld_and_ufw_are_named() -> None:
    firewalld = Process(7, "firewalld", ("/usr/bin/python3", "-s", "/usr/sbin/firewalld", "--nofork"), "root", 0.0)
    files = {"/etc/ufw/ufw.conf": "# comment\nENABLED=yes\nLOGLEVEL=low\n", "/usr/sbin/ufw": ""}
    finding = only(machine(nft(port(22)), processes=[firewalld], files=files))

    assert "firewalld and ufw blocks TCP 9092" in finding.verdict.reason
    assert finding.facts["active"] == ("firewalld", "ufw", "nftables")


ENSEMBLE = "server.1=a:2889:3889\nserver.2=b:2889:3889:observer;2181\n"


@pytest.mark.parametrize(
    ("expected", "config", "ports"),
    [
        ({"roles": ("broker",), "ports": ()}, None, (9092,)),
        ({"roles": ("broker",), "ports": (9092, 9094)}, None, (9092, 9094)),
        ({"roles": ("zookeeper",), "ports": ()}, None, (2181, 2888, 3888)),
        ({"roles": ("zookeeper",), "ports": (2181,)}, "clientPort=2181\n", (2181,)),
        ({"roles": ("zookeeper",), "ports": (2181,)}, ENSEMBLE, (2181, 2889, 3889)),
    ],
)  # fmt: skip
def test_the_needed_ports_follow_the_roles(expected: Any, config: Any, ports: tuple[int, ...]) -> None:
    host = machine(nft(port(22)), **expected)
    if config is not None:
        argv = ("java", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/etc/zoo.cfg")
        host.answers["processes"] = [Process(5, "java", argv, "zookeeper", 0.0)]
        host.answers["touch read /etc/zoo.cfg"] = Touched("", {"text": config})

    assert tuple(only(host).facts["ports"]) == ports


HEALTHY = firewall.Facts("active", ("nftables",), ("nftables",), (9092,), (), (), (), (), (), "")


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (HEALTHY, "ok"),
        (HEALTHY._replace(expected=""), "warning"),
        (HEALTHY._replace(active=()), "warning"),
        (HEALTHY._replace(active=(), expected=""), "ok"),
        (HEALTHY._replace(active=(), expected="", unseen="nft is not installed"), "unknown"),
        (HEALTHY._replace(blocked=("9092 (x)",)), "critical"),
        (HEALTHY._replace(blocked_outgoing=("9092 (x)",)), "critical"),
        (HEALTHY._replace(blocked_ipv6=("9092 (x)",)), "warning"),
        (HEALTHY._replace(partly_open=("9092 (x)",)), "warning"),
        (HEALTHY._replace(cannot_tell=("9092 (x)",)), "unknown"),
    ],
)
def test_each_state_has_its_status(facts: firewall.Facts, status: str) -> None:
    assert firewall.judge(facts, firewall.LIMITS).status == status


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=80), st.text(max_size=80))
def test_rubbish_is_unknown_and_never_ok(ruleset: str, save: str, modules: str, addresses: str) -> None:
    host = machine(
        Answer(0, ruleset, ""),
        files={"/proc/modules": LOADED + modules, "/proc/net/if_inet6": addresses, "/proc/net/route": addresses},
        commands={"iptables-save": Answer(0, save, ""), "ip6tables-save": Answer(0, save, "")},
    )
    finding = only(host)

    assert finding.status == "unknown" and "the check failed" not in finding.verdict.reason


def from_source_to(network: str, length: int, number: int) -> list[Any]:
    return [*from_source(network, length)[:1], *port(number)]


@pytest.mark.parametrize(
    ("rules", "status", "words"),
    [
        ([("10.0.0.0", 8), ("192.168.0.0", 16)], "ok", ""),
        ([("10.0.0.0", 8)], "warning", "not for all of 192.168.0.0/16"),
        ([("10.0.0.0", 9), ("192.168.0.0", 16)], "warning", "not for all of 10.0.0.0/8"),
        ([("172.16.0.0", 12)], "critical", "blocks TCP 9092"),
    ],
)
def test_networks_that_are_let_in_one_by_one_are_all_let_in(
    rules: list[tuple[str, int]], status: str, words: str
) -> None:
    answer = nft(*(from_source_to(network, length, 9092) for network, length in rules))
    limits = {"firewall": {"peers": "10.0.0.0/8, 192.168.0.0/16"}}
    finding = only(machine(answer, firewall="active", limits=limits))

    assert finding.status == status
    assert words in finding.verdict.reason


def test_a_reason_has_no_empty_brackets() -> None:
    facts = firewall._those({9092: Fate("partly"), 9093: Fate("partly", ("source 10.0.0.0/8",))}, "partly")

    assert facts == ("9092", "9093 (source 10.0.0.0/8)")
