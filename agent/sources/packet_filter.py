"""What packet filter rules do to a new TCP connection: one model for nftables and iptables, and its evaluation.

A condition of a rule holds, does not hold, holds for some connections only (it asks where they come from or on which
interface), or cannot be told by us. What cannot be told is never taken for open or for closed.
"""

from __future__ import annotations

import fnmatch
import ipaddress
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

NO, YES, SOME, CANNOT_TELL = "no", "yes", "some", "cannot tell"
DOUBTS = ("", SOME, CANNOT_TELL)

OPEN, BLOCKED, PARTLY, UNSURE = "open", "blocked", "partly", "unsure"

# What a client's port may be (Linux takes 32768-60999; others take other ports from 1024).
CLIENT_PORTS = (1024, 65535)
SYN = frozenset({"syn"})
# A source that is named elsewhere, such as an ipset.
ANYONE = "?"

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Condition(NamedTuple):
    """kind says what `values` are.

    port, client_port: (from, to) pairs. protocol, family (ip, ip6), state, address_type: names. source: networks as
    text. interface: names, perhaps with *. flags: names after looking at `mask` only. any: tuples of conditions, one of
    which must hold as a whole. fixed: one of NO, YES, SOME, CANNOT_TELL.
    """

    kind: str
    values: Tuple[object, ...] = ()
    negated: bool = False
    mask: FrozenSet[str] = frozenset()


class Rule(NamedTuple):
    """verdict: accept, drop, reject, return, jump, goto, `other` (a verdict whose effect we do not know) or empty."""

    conditions: Tuple[Condition, ...]
    verdict: str
    target: str = ""


class Chain(NamedTuple):
    """A base chain has a hook (ingress, prerouting, input, output) and a policy; the others are only jumped to."""

    family: str
    table: str
    name: str
    rules: Tuple[Rule, ...]
    hook: str = ""
    priority: int = 0
    policy: str = "accept"

    @property
    def title(self) -> str:
        return f"{self.family} {self.table} {self.name}"


class Connection(NamedTuple):
    """A new TCP connection to `port`. peers: where it may come from, empty: from anywhere.

    interfaces: those it may come in on, empty: not known.
    """

    port: int
    family: str
    peers: Tuple[Network, ...] = ()
    interfaces: Tuple[str, ...] = ()


class Fate(NamedTuple):
    """state: OPEN, BLOCKED, PARTLY (for some sources or interfaces) or UNSURE. why: the chains, sources or words."""

    state: str
    why: Tuple[str, ...] = ()


class _Ends(NamedTuple):
    """What can become of the connection in a chain: (accepted or not, doubt), and with what doubt it falls through."""

    outcomes: FrozenSet[Tuple[bool, str]]
    through: Optional[str]


NOBODY_KNOWS = _Ends(frozenset({(True, CANNOT_TELL), (False, CANNOT_TELL)}), None)


def fate(chains: Sequence[Chain], connection: Connection, hooks: Sequence[str]) -> Fate:
    """What becomes of a connection on its way through all base chains of these hooks, each of which may end it."""
    walk = _Walk(chains, connection)
    bases = [chain for chain in chains if chain.hook in hooks and chain.family in (connection.family, "inet", "netdev")]
    ends = [(chain.title, walk.base(chain)) for chain in bases]
    blocking = [title for title, outcomes in ends if not any(accepted for accepted, _doubt in outcomes)]
    if blocking:
        return Fate(BLOCKED, tuple(blocking))
    mixed = [(title, outcomes) for title, outcomes in ends if not all(accepted for accepted, _doubt in outcomes)]
    unsure = [title for title, outcomes in mixed if any(doubt == CANNOT_TELL for _accepted, doubt in outcomes)]
    if unsure:
        return Fate(UNSURE, tuple(unsure))
    return Fate(PARTLY, tuple(dict.fromkeys(walk.depends_on))) if mixed else Fate(OPEN)


def can_drop(chains: Sequence[Chain], hooks: Sequence[str]) -> bool:
    """Whether anything on these hooks could end a connection at all; a table full of `accept` is no firewall."""
    by_key = {(chain.family, chain.table, chain.name): chain for chain in chains}
    waiting = [chain for chain in chains if chain.hook in hooks]
    reached: Set[str] = set()
    while waiting:
        chain = waiting.pop()
        if chain.title in reached:
            continue
        reached.add(chain.title)
        if chain.policy == "drop" or any(rule.verdict in ("drop", "reject", "other") for rule in chain.rules):
            return True
        targets = [by_key.get((chain.family, chain.table, rule.target)) for rule in chain.rules if rule.target]
        waiting += [target for target in targets if target]
    return False


class _Walk:
    """One connection's way through the chains; what a chain does to it is worked out once for each doubt."""

    def __init__(self, chains: Sequence[Chain], connection: Connection) -> None:
        self._chains = {(chain.family, chain.table, chain.name): chain for chain in chains}
        self._connection = connection
        self._known: Dict[Tuple[str, str], _Ends] = {}
        self.depends_on: List[str] = []

    def base(self, chain: Chain) -> FrozenSet[Tuple[bool, str]]:
        outcomes, through = self._follow(chain, "")
        return outcomes if through is None else outcomes | {(chain.policy != "drop", through)}

    def _follow(self, chain: Chain, doubt: str) -> _Ends:
        key = (chain.title, doubt)
        if key not in self._known:
            self._known[key] = NOBODY_KNOWS  # stands while we are inside: the kernel allows no loops
            self._known[key] = self._rules(chain, doubt)
        return self._known[key]

    def _rules(self, chain: Chain, entered: str) -> _Ends:
        """A rule that holds for some connections only leaves the others to the rules after it."""
        outcomes: Set[Tuple[bool, str]] = set()
        leaving: List[str] = []
        doubt = entered
        for rule in chain.rules:
            holds = matches(rule.conditions, self._connection)
            if holds == NO or not rule.verdict:
                continue
            if holds == SOME:
                self.depends_on += [words for words in map(_words, rule.conditions) if words]
            ends = self._ends(rule, chain, doubt if holds == YES else _worse(doubt, holds))
            outcomes |= ends.outcomes
            leaves = rule.verdict in ("return", "goto")
            if leaves and ends.through is not None:
                leaving.append(ends.through)
            if holds == YES and (leaves or ends.through is None):
                break
            if leaves or ends.outcomes:
                doubt = _worse(doubt, _worse(SOME if holds == YES else holds, "" if leaves else ends.through or ""))
        else:
            leaving.append(doubt)
        if not outcomes:  # whatever way they took, all of them fell through
            return _Ends(frozenset(), entered)
        return _Ends(frozenset(outcomes), max(leaving, key=DOUBTS.index, default=None))

    def _ends(self, rule: Rule, chain: Chain, doubt: str) -> _Ends:
        """What one rule that holds does."""
        if rule.verdict in ("accept", "drop", "reject"):
            return _Ends(frozenset({(rule.verdict == "accept", doubt)}), None)
        if rule.verdict == "return":
            return _Ends(frozenset(), doubt)
        target = self._chains.get((chain.family, chain.table, rule.target))
        return NOBODY_KNOWS if rule.verdict == "other" or target is None else self._follow(target, doubt)


def _worse(one: str, other: str) -> str:
    return max(one, other, key=DOUBTS.index)


def _words(condition: Condition) -> str:
    """`source 10.0.0.0/24`: what the answer depends on, for a person."""
    if condition.kind not in ("source", "interface", "client_port"):
        return ""
    values = ", ".join(map(str, condition.values[:2])) + (", ..." if len(condition.values) > 2 else "")
    return f"{condition.kind.replace('_', ' ')} {'not ' if condition.negated else ''}{values}"[:80]


def matches(conditions: Sequence[Condition], connection: Connection) -> str:
    """Whether all the conditions hold for a connection."""
    answers = [_matches(condition, connection) for condition in conditions]
    if NO in answers:
        return NO
    return CANNOT_TELL if CANNOT_TELL in answers else SOME if SOME in answers else YES


def _matches(condition: Condition, connection: Connection) -> str:
    answer = _KINDS[condition.kind](condition, connection)
    if condition.negated and answer in (YES, NO):
        return NO if answer == YES else YES
    return answer


def _fixed(condition: Condition, connection: Connection) -> str:
    return str(condition.values[0])


def _any(condition: Condition, connection: Connection) -> str:
    answers = [matches(value, connection) for value in condition.values if isinstance(value, tuple)]
    return max(answers, key=(NO, SOME, CANNOT_TELL, YES).index, default=NO)


def _port(condition: Condition, connection: Connection) -> str:
    return _yes(any(low <= connection.port <= high for low, high in _ranges(condition)))


def _client_port(condition: Condition, connection: Connection) -> str:
    low, high = CLIENT_PORTS
    if any(start <= low and end >= high for start, end in _ranges(condition)):
        return YES
    return SOME if any(start <= high and end >= low for start, end in _ranges(condition)) else NO


def _ranges(condition: Condition) -> List[Tuple[int, int]]:
    return [value for value in condition.values if isinstance(value, tuple)]


def _protocol(condition: Condition, connection: Connection) -> str:
    return _yes(bool({"tcp", "6", "all", "0"} & set(condition.values)))


def _family(condition: Condition, connection: Connection) -> str:
    return _yes(connection.family in condition.values)


def _state(condition: Condition, connection: Connection) -> str:
    return _yes("new" in condition.values)


def _address_type(condition: Condition, connection: Connection) -> str:
    return _yes("local" in condition.values)


def _flags(condition: Condition, connection: Connection) -> str:
    return _yes(SYN & (condition.mask or SYN) == set(condition.values))


def _interface(condition: Condition, connection: Connection) -> str:
    patterns = [str(value) for value in condition.values]
    if patterns == ["lo"]:
        return NO  # what matters comes from outside
    hits = [any(fnmatch.fnmatchcase(name, one) for one in patterns) for name in connection.interfaces]
    return SOME if not hits else YES if all(hits) else SOME if any(hits) else NO


def _source(condition: Condition, connection: Connection) -> str:
    version = 4 if connection.family == "ip" else 6
    texts = [str(value) for value in condition.values if (":" in str(value)) == (version == 6) or value == ANYONE]
    if any(text.endswith("/0") for text in texts):
        return YES
    if not connection.peers or ANYONE in texts:
        return SOME if texts else NO
    networks = [network for text in texts for network in networks_of(text)]
    if all(any(_within(peer, network) for network in networks) for peer in connection.peers):
        return YES
    return SOME if any(peer.overlaps(network) for peer in connection.peers for network in networks) else NO


def _within(peer: Network, network: Network) -> bool:
    return peer.version == network.version and peer.subnet_of(network)  # type: ignore[arg-type]


def networks_of(text: str) -> List[Network]:
    """`10.0.0.0/24`, `10.0.0.1` or `10.0.0.1-10.0.0.9` as networks; nothing if it is none of them.

    >>> networks_of("10.0.0.0-10.0.0.5")
    [IPv4Network('10.0.0.0/30'), IPv4Network('10.0.0.4/31')]
    """
    first, dash, last = text.partition("-")
    try:
        if dash:
            return list(ipaddress.summarize_address_range(ipaddress.ip_address(first), ipaddress.ip_address(last)))
        return [ipaddress.ip_network(text, strict=False)]
    except (ValueError, TypeError):
        return []


def _yes(holds: bool) -> str:
    return YES if holds else NO


_KINDS = {
    "fixed": _fixed,
    "any": _any,
    "port": _port,
    "client_port": _client_port,
    "protocol": _protocol,
    "family": _family,
    "state": _state,
    "address_type": _address_type,
    "flags": _flags,
    "interface": _interface,
    "source": _source,
}
