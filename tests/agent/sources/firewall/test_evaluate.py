"""Packet filter rules: what becomes of a connection, in nftables' words and in iptables'."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import CannotTell
from agent.sources.firewall import conditions, iptables, nftables
from agent.sources.firewall import evaluate as packet_filter
from agent.sources.firewall.conditions import Connection
from agent.sources.firewall.evaluate import BLOCKED, OPEN, PARTLY, UNSURE

INPUT = ("ingress", "prerouting", "input")


def saved(*rules: str, policy: str = "DROP", user: str = "") -> list[packet_filter.Chain]:
    heads = [f":INPUT {policy} [0:0]", ":OUTPUT ACCEPT [0:0]", *[f":{name} - [0:0]" for name in user.split()]]
    rows = [rule if rule.startswith("-A ") else f"-A INPUT {rule}" for rule in rules]
    return list(iptables.parse_save("\n".join(["*filter", *heads, *rows, "COMMIT"]), "ip").chains)


def state(
    chains: list[packet_filter.Chain], port: int = 9092, peers: str = "", interfaces: tuple[str, ...] = ()
) -> str:
    networks = tuple(conditions.networks_of(peers)) if peers else ()
    return packet_filter.fate(chains, Connection(port, "ip", networks, interfaces), INPUT).state


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("-p tcp -m tcp --dport 9092 -j ACCEPT", OPEN),
        ("-p tcp -m tcp --dport 9093 -j ACCEPT", BLOCKED),
        ("-p udp -m udp --dport 9092 -j ACCEPT", BLOCKED),
        ("-p tcp -m multiport --dports 22,9000:9100 -j ACCEPT", OPEN),
        ("-p tcp -m tcp --dport 9092: -j ACCEPT", OPEN),
        ("-p tcp -m tcp --dport :9091 -j ACCEPT", BLOCKED),
        ("-p tcp -m tcp ! --dport 22 -j ACCEPT", OPEN),
        ("-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", BLOCKED),
        ("-m conntrack --ctstate NEW -j ACCEPT", OPEN),
        ("-m conntrack ! --ctstate INVALID -j ACCEPT", OPEN),
        ("-i lo -j ACCEPT", BLOCKED),
        ("! -i lo -j ACCEPT", OPEN),
        ("-i eth0 -j ACCEPT", PARTLY),
        ("-s 10.0.0.0/8 -p tcp -m tcp --dport 9092 -j ACCEPT", PARTLY),
        ("-s 0.0.0.0/0 -p tcp -m tcp --dport 9092 -j ACCEPT", OPEN),
        ("-d 10.0.0.5/32 -j ACCEPT", PARTLY),
        ("-m set --match-set brokers src -j ACCEPT", PARTLY),
        ("-m set --match-set brokers src,dst -j ACCEPT", UNSURE),
        ("-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j ACCEPT", OPEN),
        ("-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j ACCEPT", BLOCKED),
        ("-p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE -j ACCEPT", BLOCKED),
        ("-p tcp -m connlimit --connlimit-above 20 --connlimit-mask 32 --connlimit-saddr -j ACCEPT", BLOCKED),
        ("-m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix \"[UFW BLOCK] \"", BLOCKED),
        ("-m recent --update --seconds 60 --hitcount 4 --name x --rsource -j ACCEPT", UNSURE),
        ("-m comment --comment \"all of \\\"them\\\"\" -j ACCEPT", OPEN),
        ("-m comment --comment \"broken -j ACCEPT", UNSURE),
        ("-m addrtype --dst-type LOCAL -j ACCEPT", OPEN),
        ("-m addrtype --dst-type BROADCAST -j ACCEPT", BLOCKED),
        ("-j NFQUEUE --queue-num 0", UNSURE),
        ("-m u32 --u32 0x0=0x1 -j ACCEPT", UNSURE),
        ("-f -j ACCEPT", BLOCKED),
        ("-p icmp -m icmp --icmp-type 8 -j ACCEPT", BLOCKED),
    ],
)  # fmt: skip
def test_one_rule_before_a_policy_of_drop(rule: str, expected: str) -> None:
    assert state(saved(rule)) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["-j web", "-A web -p tcp -m tcp --dport 9092 -j ACCEPT"], OPEN),
        (["-j web", "-A web -j RETURN", "-A web -j ACCEPT"], BLOCKED),
        (["-g web", "-j ACCEPT", "-A web -p tcp -m tcp --dport 1 -j ACCEPT"], BLOCKED),
        (["-j web", "-j ACCEPT", "-A web -s 192.0.2.7/32 -j DROP", "-A web -j RETURN"], PARTLY),
        (["-j web", "-j ACCEPT", "-A web -s 192.0.2.7/32 -j RETURN"], OPEN),
        (["-s 10.0.0.0/8 -j web", "-j ACCEPT", "-A web -j ACCEPT"], OPEN),
        (["-s 10.0.0.0/8 -g web", "-j DROP", "-A web -p udp -j ACCEPT"], BLOCKED),
        (["-m u32 --u32 0x0=0x1 -j DROP", "-j ACCEPT"], UNSURE),
        (["-m u32 --u32 0x0=0x1 -j DROP", "-j DROP"], BLOCKED),
        (["-m u32 --u32 0x0=0x1 -p tcp -m tcp --dport 22 -j DROP", "-j ACCEPT"], OPEN),
        (["-j web", "-j ACCEPT", "-A web -j web"], UNSURE),
    ],
)
def test_chains_are_followed(rules: list[str], expected: str) -> None:
    assert state(saved(*rules, user="web")) == expected


@pytest.mark.parametrize(
    ("peers", "expected"),
    [("10.1.0.0/16", OPEN), ("10.0.0.0/8", OPEN), ("10.0.0.0/7", PARTLY), ("192.168.0.0/16", BLOCKED), ("", PARTLY)],
)
def test_rules_about_sources_are_held_against_the_peers(peers: str, expected: str) -> None:
    assert state(saved("-s 10.0.0.0/8 -j ACCEPT"), peers=peers) == expected


@pytest.mark.parametrize(
    ("interfaces", "expected"), [(("eth0",), OPEN), (("eth0", "bond0"), PARTLY), (("bond0",), BLOCKED), ((), PARTLY)]
)
def test_rules_about_interfaces_are_held_against_those_with_routes(interfaces: tuple[str, ...], expected: str) -> None:
    assert state(saved("-i eth+ -j ACCEPT"), interfaces=interfaces) == expected


def test_every_base_chain_must_let_it_pass() -> None:
    raw = "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -m tcp --dport 9092 -j DROP\nCOMMIT"

    assert state([*saved("-j ACCEPT"), *iptables.parse_save(raw, "ip").chains]) == BLOCKED


def test_docker_alone_is_no_firewall_but_a_reachable_drop_is() -> None:
    docker = saved("-A DOCKER -o docker0 -j DROP", policy="ACCEPT", user="DOCKER")
    called = saved("-j web", "-A web -j DROP", policy="ACCEPT", user="web")

    assert not packet_filter.can_drop(docker, INPUT)
    assert packet_filter.can_drop(called, INPUT)


def test_who_keeps_the_rules_stands_in_the_first_line() -> None:
    assert iptables.parse_save("# Generated by iptables-save v1.8.9 (nf_tables) on Fri\n", "ip").of_nftables
    assert not iptables.parse_save("# Generated by iptables-save v1.4.21 on Fri\n", "ip").of_nftables


@pytest.mark.parametrize("text", ["*filter\n:INPUT DROP [0:0]\n", "iptables: command not found\n", "\x00\x01"])
def test_what_is_no_whole_ruleset_is_not_read(text: str) -> None:
    with pytest.raises(CannotTell):
        iptables.parse_save(text, "ip")


TCP_DPORT = {"payload": {"protocol": "tcp", "field": "dport"}}
SADDR = {"payload": {"protocol": "ip", "field": "saddr"}}
CT_STATE = {"ct": {"key": "state"}}


def match(left: Any, right: Any, op: str = "==") -> Any:
    return {"match": {"op": op, "left": left, "right": right}}


def ruleset(*statements: Any, policy: str = "drop", sets: Any = ()) -> str:
    """As nft 1.0.6 prints it, recorded here and cut down."""
    where = {"family": "inet", "table": "filter"}
    base = {**where, "name": "input", "type": "filter", "hook": "input", "prio": 0, "policy": policy}
    rules = [{"rule": {**where, "chain": "input", "expr": list(expr)}} for expr in statements]
    inner = {"rule": {**where, "chain": "svc", "expr": [match(TCP_DPORT, {"range": [9000, 9100]}), {"accept": None}]}}
    chains = [{"chain": base}, {"chain": {**where, "name": "svc"}}]
    return json.dumps({"nftables": [{"metainfo": {"version": "1.0.6"}}, *chains, inner, *rules, *sets]})


ACCEPT = {"accept": None}
IN_FILTER = {"family": "inet", "table": "filter"}
SETS = [
    {"set": {**IN_FILTER, "name": "ports", "elem": [{"range": [9090, 9093]}, 22]}},
    {"set": {**IN_FILTER, "name": "empty"}},
    {"set": {**IN_FILTER, "name": "pairs", "elem": [{"concat": ["10.0.0.1", 22]}, {"concat": ["10.0.0.1", 9092]}]}},
    {"map": {**IN_FILTER, "name": "m", "elem": [[22, {"drop": None}], [9092, ACCEPT]]}},
]
FLAGS = {"&": [{"payload": {"protocol": "tcp", "field": "flags"}}, ["fin", "syn", "rst", "ack"]]}


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ([match(TCP_DPORT, 9092), ACCEPT], OPEN),
        ([match(TCP_DPORT, 9092), {"counter": {"packets": 0, "bytes": 0}}, {"reject": {"type": "tcp reset"}}], BLOCKED),
        ([match(TCP_DPORT, {"set": [22, {"range": [9000, 9100]}]}), ACCEPT], OPEN),
        ([match(TCP_DPORT, "@ports"), ACCEPT], OPEN),
        ([match(TCP_DPORT, "@empty"), ACCEPT], BLOCKED),
        ([match(TCP_DPORT, "@empty", "!="), ACCEPT], OPEN),
        ([match(TCP_DPORT, "@unheard-of"), ACCEPT], UNSURE),
        ([match(SADDR, "@unheard-of"), ACCEPT], PARTLY),
        ([match(TCP_DPORT, 1024, ">="), ACCEPT], OPEN),
        ([match(TCP_DPORT, 9092, "<"), ACCEPT], BLOCKED),
        ([match(SADDR, {"prefix": {"addr": "10.0.0.0", "len": 8}}), ACCEPT], PARTLY),
        ([match({"payload": {"protocol": "ip6", "field": "saddr"}}, "fd00::1", "!="), ACCEPT], BLOCKED),
        ([match({"concat": [SADDR, TCP_DPORT]}, "@pairs"), ACCEPT], PARTLY),
        ([match({"concat": [SADDR, TCP_DPORT]}, {"set": [{"concat": ["10.0.0.1", 1]}]}), ACCEPT], BLOCKED),
        ([match(CT_STATE, ["established", "related"], "in"), ACCEPT], BLOCKED),
        ([match(CT_STATE, {"set": ["established", "new"]}), ACCEPT], OPEN),
        ([{"vmap": {"key": CT_STATE, "data": {"set": [["new", ACCEPT], ["invalid", {"drop": None}]]}}}], OPEN),
        ([{"vmap": {"key": TCP_DPORT, "data": "@m"}}], OPEN),
        ([{"vmap": {"key": TCP_DPORT, "data": {"set": [[9092, {"jump": {"target": "svc"}}]]}}}], OPEN),
        ([{"jump": {"target": "svc"}}], OPEN),
        ([{"jump": {"target": "unheard-of"}}], UNSURE),
        ([match({"meta": {"key": "iifname"}}, "lo"), ACCEPT], BLOCKED),
        ([match({"meta": {"key": "l4proto"}}, {"set": ["tcp", "udp"]}), ACCEPT], OPEN),
        ([match({"meta": {"key": "nfproto"}}, "ipv6"), ACCEPT], BLOCKED),
        ([match({"meta": {"key": "mark"}}, 1), ACCEPT], UNSURE),
        ([match(FLAGS, "syn"), ACCEPT], OPEN),
        ([match({"fib": {"result": "oif", "flags": ["saddr", "iif"]}}, False), ACCEPT], BLOCKED),
        ([match({"fib": {"result": "type", "flags": ["daddr"]}}, "local"), ACCEPT], OPEN),
        ([{"limit": {"rate": 3, "per": "second", "inv": True}}, ACCEPT], BLOCKED),
        ([{"ct count": {"val": 20, "inv": True}}, ACCEPT], BLOCKED),
        ([{"set": {"op": "add", "elem": SADDR, "set": "@empty", "stmt": [{"limit": {"rate": 1}}]}}, ACCEPT], UNSURE),
        ([{"queue": {"num": 0}}], UNSURE),
        ([{"xt": {"type": "match", "name": "conntrack"}}, ACCEPT], UNSURE),
        ([{"xt": {"type": "target", "name": "LOG"}}], BLOCKED),
        ([{"xt": None}, ACCEPT], UNSURE),
    ],
)  # fmt: skip
def test_one_nftables_rule_before_a_policy_of_drop(expr: list[Any], expected: str) -> None:
    assert state(nftables.parse_ruleset(ruleset(expr, sets=SETS))) == expected


def test_an_empty_ruleset_lets_everything_through() -> None:
    chains = nftables.parse_ruleset('{"nftables": [{"metainfo": {"version": "1.0.6", "json_schema_version": 1}}]}')

    assert state(chains) == OPEN and not packet_filter.can_drop(chains, INPUT)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"nftables": 3}', '{"nftables": [{"rule": {}}]}', "Error: syntax"])
def test_what_is_no_ruleset_is_not_read(text: str) -> None:
    with pytest.raises(CannotTell):
        nftables.parse_ruleset(text)


WORDS = ["match", "op", "left", "right", "payload", "set", "vmap", "key", "data", "jump", "target", "accept", "limit"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["@ports", "payload", "match", "set", "tcp", "dport"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(WORDS) | st.text(max_size=4),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(JSON, max_size=4))
def test_rubbish_in_a_rule_is_read_as_something_or_not_at_all(expr: list[Any]) -> None:
    try:
        chains = nftables.parse_ruleset(ruleset(expr))
    except CannotTell:
        return
    assert state(chains) in (OPEN, BLOCKED, PARTLY, UNSURE)


@given(st.text(alphabet="-AINPUTjdports!s/10. \n*:COMfilter,\"'", max_size=300))
def test_rubbish_from_iptables_is_read_as_something_or_not_at_all(text: str) -> None:
    for form in (text, f"*filter\n:INPUT DROP [0:0]\n-A INPUT {text}\nCOMMIT\n"):
        try:
            chains = list(iptables.parse_save(form, "ip").chains)
        except CannotTell:
            continue
        assert state(chains) in (OPEN, BLOCKED, PARTLY, UNSURE)


# A Kubernetes node: marks that nobody sets for this connection, loopback and foreign destinations

OWN = tuple(conditions.networks_of("10.0.0.5"))
# iptables-save of a node with kube-proxy and kubelet 1.27, without its services
KUBERNETES = """\
*nat
:PREROUTING ACCEPT [0:0]
:KUBE-MARK-DROP - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "kube-system/dns" -m tcp --dport {port} -j KUBE-MARK-DROP
COMMIT
*filter
:INPUT ACCEPT [0:0]
:KUBE-FIREWALL - [0:0]
-A INPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
-A KUBE-FIREWALL -m comment --comment "kubernetes firewall for dropping marked packets" -m mark --mark 0x8000/0x8000 -j DROP
COMMIT
"""  # noqa: E501


def of_kubernetes(text: str, own: Any = OWN) -> packet_filter.Fate:
    chains = list(iptables.parse_save(text, "ip").chains)
    return packet_filter.fate(chains, Connection(9092, "ip", (), (), own), INPUT)


@pytest.mark.parametrize("port", [53, 9092])
def test_a_kubernetes_node_lets_through_what_no_rule_marks(port: int) -> None:
    assert of_kubernetes(KUBERNETES.format(port=port)).state == OPEN


def test_a_mark_that_a_rule_on_the_way_sets_counts() -> None:
    blocking = KUBERNETES.format(port=9092).replace("-d 10.96.0.10/32 ", "")
    elsewhere = KUBERNETES.format(port=9092).replace("10.96.0.10/32", "10.0.0.0/8")

    assert of_kubernetes(blocking).state == of_kubernetes(elsewhere).state == PARTLY
    assert of_kubernetes(blocking).why == ("a mark that another rule sets",)


def test_where_the_own_addresses_are_not_known_a_destination_is_never_taken_for_ours() -> None:
    assert of_kubernetes(KUBERNETES.format(port=9092), ()).state == PARTLY


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("-d 10.0.0.5/32 -j ACCEPT", OPEN),
        ("-d 10.0.0.0/8 -j ACCEPT", OPEN),
        ("-d 10.96.0.10/32 -j ACCEPT", BLOCKED),
        ("-d 127.0.0.0/8 -j ACCEPT", BLOCKED),
        ("! -d 127.0.0.0/8 -j ACCEPT", OPEN),
        ("-s 127.0.0.0/8 -j ACCEPT", BLOCKED),
        ("! -s 127.0.0.0/8 -j ACCEPT", OPEN),
        ("-m mark --mark 0x1 -j ACCEPT", UNSURE),
        ("-m mark ! --mark 0x1 -j ACCEPT", OPEN),
        ("-m mark --mark 0x0/0xff -j ACCEPT", OPEN),
        ("-m mark --mark rubbish -j ACCEPT", UNSURE),
    ],
)
def test_destinations_and_marks(rule: str, expected: str) -> None:
    assert packet_filter.fate(saved(rule), Connection(9092, "ip", (), (), OWN), INPUT).state == expected


def test_marks_in_nftables_words() -> None:
    drop_marked = [match({"&": [{"meta": {"key": "mark"}}, 0x8000]}, 0x8000), {"drop": None}]
    set_mark = [{"mangle": {"key": {"meta": {"key": "mark"}}, "value": 0x8000}}]

    assert state(nftables.parse_ruleset(ruleset(drop_marked, policy="accept"))) == OPEN
    assert state(nftables.parse_ruleset(ruleset(set_mark, drop_marked, policy="accept"))) == PARTLY
