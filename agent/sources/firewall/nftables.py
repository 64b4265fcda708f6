"""nft -j list ruleset: its tables as chains of the packet filter."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell
from agent.sources.firewall import iptables
from agent.sources.firewall.conditions import ANYONE, CANNOT_TELL, NO, YES, Condition
from agent.sources.firewall.evaluate import ALL_MARKS, Chain, Rule

VERDICTS = ("accept", "drop", "reject", "return", "jump", "goto")
# Statements that go on to the next one of their rule.
PASSING = ("counter", "log", "mangle", "notrack", "ct helper", "ct timeout", "ct expectation", "flow", "secmark",
           "last")  # fmt: skip
MARK = {"meta": {"key": "mark"}}
UNKNOWN = Condition("fixed", (CANNOT_TELL,))
FAMILIES = {"ipv4": "ip", "ipv6": "ip6", "2": "ip", "10": "ip6"}
MAX_DEPTH = 16
# Stands for the elements of a set that was not listed: neither a port nor a network.
UNHEARD_OF: Dict[str, Any] = {}

Sets = Mapping[Tuple[str, str, str], List[Any]]


def parse_ruleset(text: str) -> List[Chain]:
    """The chains that decide over connections; CannotTell if this is not the output of `nft -j list ruleset`."""
    try:
        rows = json.loads(text)["nftables"]
        objects = [(kind, body) for row in rows for kind, body in row.items() if isinstance(body, dict)]
        return _chains(objects)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration, RecursionError):
        raise CannotTell("unexpected output of nft: no JSON ruleset") from None


def _chains(objects: Sequence[Tuple[str, Dict[str, Any]]]) -> List[Chain]:
    sets: Dict[Tuple[str, str, str], List[Any]] = {}
    rules: Dict[Tuple[str, str, str], List[Rule]] = {}
    for kind, body in objects:
        if kind in ("set", "map"):
            sets[_key(body, "name")] = list(body.get("elem") or [])
    for kind, body in objects:
        if kind == "rule":
            rules.setdefault(_key(body, "chain"), []).extend(_Reader(sets, body).rules(list(body.get("expr") or [])))
    heads = [body for kind, body in objects if kind == "chain"]
    return [_chain(body, tuple(rules.get(_key(body, "name"), ()))) for body in heads]


def _key(body: Mapping[str, Any], name: str) -> Tuple[str, str, str]:
    return str(body["family"]), str(body["table"]), str(body[name])


def _chain(body: Mapping[str, Any], rules: Tuple[Rule, ...]) -> Chain:
    family, table, name = _key(body, "name")
    hook = f"{'nat ' if body.get('type') == 'nat' else ''}{body['hook']}" if body.get("hook") else ""
    return Chain(family, table, name, rules, hook, str(body.get("policy") or "accept"))


class _Reader:
    """Reads the rules of one table. A rule with a verdict map becomes one rule for each of its verdicts."""

    def __init__(self, sets: Sets, rule: Mapping[str, Any]) -> None:
        self._sets = sets
        self._table = (str(rule["family"]), str(rule["table"]))

    def rules(self, statements: Sequence[Any]) -> List[Rule]:
        conditions: List[Condition] = []
        found: List[Rule] = []
        for statement in statements:
            kind, body = next(iter(statement.items()))
            if kind == "mangle" and body.get("key") == MARK:
                value = body.get("value")
                found.append(Rule(tuple(conditions), "", "", value if isinstance(value, int) else ALL_MARKS))
            elif kind == "vmap":
                found += self._verdict_map(body, conditions)
            elif kind in VERDICTS:
                target = str(body["target"]) if kind in ("jump", "goto") else ""
                return [*found, Rule(tuple(conditions), kind, target)]
            elif kind == "xt" and body and body.get("type") == "target":
                return [*found, Rule(tuple(conditions), iptables.verdict_of(str(body.get("name"))))]
            elif kind in ("match", "limit", "ct count", "set", "xt"):
                conditions += self._statement(kind, body)
            elif kind not in PASSING:
                found.append(Rule(tuple(conditions), "other"))
        return found

    def _statement(self, kind: str, body: Any) -> List[Condition]:
        if kind == "match":
            return self._match(body["op"], body["left"], body["right"])
        if kind in ("limit", "ct count"):
            # under a normal load a rate is not exceeded, nor is a number of connections
            return [Condition("fixed", (NO if body.get("inv") else YES,))]
        if kind == "set":
            return [UNKNOWN] if body.get("stmt") else []
        # "xt": {"type": "match", "name": "conntrack"}: a match of iptables, whose arguments nft does not print
        return [] if body and body.get("name") == "comment" else [UNKNOWN]

    def _verdict_map(self, body: Mapping[str, Any], conditions: Sequence[Condition]) -> List[Rule]:
        found = []
        for key, verdict in self._elements(body["data"]):
            kind, target = next(iter(verdict.items()))
            more = self._match("==", body["key"], key)
            if kind in VERDICTS:
                found.append(Rule((*conditions, *more), kind, str(target["target"]) if target else ""))
            elif kind != "continue":
                found.append(Rule((*conditions, *more), "other"))
        return found

    def _elements(self, right: Any) -> List[Any]:
        """A set written out, the name of one, or a single value, as the list of its elements."""
        if isinstance(right, str) and right.startswith("@"):
            return self._sets.get((*self._table, right[1:]), [UNHEARD_OF])
        if isinstance(right, dict) and "set" in right:
            return list(right["set"]) if isinstance(right["set"], list) else [right["set"]]
        return [right]

    def _match(self, operator: str, left: Any, right: Any) -> List[Condition]:
        negated = operator == "!="
        if "concat" in left:
            return self._concatenation(left["concat"], self._elements(right), negated)
        if operator in ("<", ">", "<=", ">="):
            right = {"range": _half_range(operator, right)}
        elements = [_plain(value) for value in self._elements(right)]
        if "payload" in left:
            return _of_payload(left["payload"], elements, negated)
        if "meta" in left:
            return _of_meta(str(left["meta"]["key"]), elements, negated)
        if "ct" in left:
            return _of_connection(str(left["ct"]["key"]), elements, negated)
        if "fib" in left:
            return _of_routing(left["fib"], elements, negated)
        if "&" in left:
            return _of_flags(left["&"], elements, negated)
        return [UNKNOWN]

    def _concatenation(self, parts: Sequence[Any], elements: Sequence[Any], negated: bool) -> List[Condition]:
        """`ip saddr . tcp dport { 10.0.0.1 . 9092 }`: any of the elements, each of which has several conditions."""
        rows = [_plain(element)["concat"] for element in elements]
        values = (
            tuple(one for part, value in zip(parts, row) for one in self._match("==", part, value)) for row in rows
        )
        return [Condition("any", tuple(values), negated)]


def _plain(value: Any, depth: int = 0) -> Any:
    """An element without its timeout, counter or comment."""
    if isinstance(value, dict) and isinstance(value.get("elem"), dict) and "val" in value["elem"] and depth < MAX_DEPTH:
        return _plain(value["elem"]["val"], depth + 1)
    return value


def _half_range(operator: str, value: Any) -> List[int]:
    number = int(value)
    return {"<": [0, number - 1], "<=": [0, number], ">": [number + 1, 65535], ">=": [number, 65535]}[operator]


def _of_payload(payload: Mapping[str, Any], elements: Sequence[Any], negated: bool) -> List[Condition]:
    protocol, field = str(payload.get("protocol")), str(payload.get("field"))
    if protocol in ("tcp", "th"):
        kind = {"dport": "port", "sport": "client_port"}.get(field)
        ranges = [_range(element) for element in elements]
        if kind and None not in ranges:
            return [Condition(kind, tuple(ranges), negated)]
        return [_flags((), elements, negated)] if field == "flags" else [UNKNOWN]
    if protocol in ("ip", "ip6"):
        family = Condition("family", (protocol,))
        if field == "saddr":
            return [family, Condition("source", tuple(_network(element) for element in elements), negated)]
        if field in ("protocol", "nexthdr"):
            return [family, Condition("protocol", tuple(map(str, elements)), negated)]
        if field == "daddr":
            return [family, Condition("destination", tuple(_network(element) for element in elements), negated)]
        return [family, Condition("fixed", (CANNOT_TELL,))]
    if protocol in ("ether", "vlan", "arp"):
        return [UNKNOWN]
    return [Condition("fixed", (NO,))]  # udp, icmp, sctp, …


def _of_meta(key: str, elements: Sequence[Any], negated: bool) -> List[Condition]:
    values = tuple(map(str, elements))
    if key == "l4proto":
        return [Condition("protocol", values, negated)]
    if key == "nfproto":
        return [Condition("family", tuple(FAMILIES.get(value, value) for value in values), negated)]
    if key == "protocol":
        return [Condition("family", values, negated)]
    if key == "mark" and len(elements) == 1 and isinstance(elements[0], int):
        return [Condition("mark", ((elements[0], ALL_MARKS),), negated)]
    if key in ("iif", "iifname", "oif", "oifname"):
        return [Condition("interface", values, negated)]
    if key == "pkttype" and set(values) <= {"host", "unicast", "broadcast", "multicast"}:
        return [Condition("address_type", ("local",) if {"host", "unicast"} & set(values) else (), negated)]
    return [UNKNOWN]


def _of_connection(key: str, elements: Sequence[Any], negated: bool) -> List[Condition]:
    values = tuple(str(part) for element in elements for part in (element if isinstance(element, list) else [element]))
    if key == "state":
        return [Condition("state", values, negated)]
    if key == "status" and not {"snat", "confirmed", "expected"} & set(values):
        return [Condition("fixed", (NO,), negated)]  # a new connection was neither answered nor redirected
    return [UNKNOWN]


def _of_routing(fib: Mapping[str, Any], elements: Sequence[Any], negated: bool) -> List[Condition]:
    if fib.get("result") == "type" and list(fib.get("flags", ()))[:1] == ["daddr"]:
        return [Condition("address_type", tuple(map(str, elements)), negated)]
    if elements == [False] or elements == [True]:
        # `missing`: a peer whose packets come the wrong way would not be answered anyhow
        return [Condition("fixed", (NO if elements == [False] else YES,), negated)]
    return [UNKNOWN]


def _of_flags(parts: Sequence[Any], elements: Sequence[Any], negated: bool) -> List[Condition]:
    """tcp flags & (fin | syn | rst | ack) == syn; meta mark & 0x8000 == 0x8000"""
    payload, mask = parts
    if payload == MARK and isinstance(mask, int) and len(elements) == 1 and isinstance(elements[0], int):
        return [Condition("mark", ((elements[0], mask),), negated)]
    if not isinstance(payload, dict) or payload.get("payload") != {"protocol": "tcp", "field": "flags"}:
        return [UNKNOWN]
    return [_flags(mask if isinstance(mask, list) else [mask], elements, negated)]


def _flags(mask: Sequence[Any], elements: Sequence[Any], negated: bool) -> Condition:
    if len(elements) != 1:
        return UNKNOWN
    wanted = elements[0] if isinstance(elements[0], list) else [elements[0]]
    names = tuple(str(name) for name in wanted if name != 0)
    return Condition("flags", tuple(sorted(names)), negated, frozenset(map(str, mask)))


def _range(element: Any) -> Optional[Tuple[int, int]]:
    """A port or a range of ports; None if it is neither."""
    if isinstance(element, dict) and isinstance(element.get("range"), list) and len(element["range"]) == 2:
        low, high = element["range"]
        return (low, high) if isinstance(low, int) and isinstance(high, int) else None
    return (element, element) if isinstance(element, int) and not isinstance(element, bool) else None


def _network(element: Any) -> str:
    if isinstance(element, dict) and isinstance(element.get("prefix"), dict):
        return f"{element['prefix'].get('addr')}/{element['prefix'].get('len')}"
    if isinstance(element, dict) and isinstance(element.get("range"), list):
        return "-".join(map(str, element["range"]))
    return element if isinstance(element, str) else ANYONE
