"""Whether a condition of a packet filter rule holds for a new TCP connection.

It holds, does not hold, holds for some connections only (it asks where they come from or on which interface), or
cannot be evaluated here.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, FrozenSet, List, Sequence, Tuple, Union

from agent.named_tuples import NamedTuple

NO, YES, SOME, CANNOT_TELL = "no", "yes", "some", "cannot tell"

# What a client's port may be (Linux takes 32768-60999; others take other ports from 1024).
CLIENT_PORTS = (1024, 65535)
SYN = frozenset({"syn"})
# A source that is named elsewhere, such as an ipset.
ANYONE = "?"
# A longer list, of the banned say, is not compared network by network.
MOST_NETWORKS = 1000

if TYPE_CHECKING:
    import ipaddress

    Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Condition(NamedTuple):
    """kind says what `values` are.

    port, client_port: (from, to) pairs. mark: (value, mask). protocol, family (ip, ip6), state, address_type: names.
    source, destination: networks as text. interface: names, perhaps with *. flags: names after looking at `mask` only.
    any: tuples of conditions, one of which must hold as a whole. fixed: one of NO, YES, SOME, CANNOT_TELL.
    """

    kind: str
    values: Tuple[object, ...] = ()
    negated: bool = False
    mask: FrozenSet[str] = frozenset()


class Connection(NamedTuple):
    """A new TCP connection to `port`. peers: where it may come from, empty: from anywhere.

    interfaces: those it may come in on, empty: not known. addresses: this machine's, one of which it comes to; empty:
    not known, or it goes out. marks: the bits that a rule on its way may have set of its mark, which is 0 at first.
    """

    port: int
    family: str
    peers: Tuple[Network, ...] = ()
    interfaces: Tuple[str, ...] = ()
    addresses: Tuple[Network, ...] = ()
    marks: int = 0


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
    if texts and all(_is_loopback(text) for text in texts):
        return NO  # nobody comes from there but the machine itself
    if not connection.peers or ANYONE in texts or len(texts) > MOST_NETWORKS:
        return SOME if texts else NO
    networks = [network for text in texts for network in networks_of(text)]
    if all(any(_within(peer, network) for network in networks) for peer in connection.peers):
        return YES
    return SOME if any(peer.overlaps(network) for peer in connection.peers for network in networks) else NO


def _destination(condition: Condition, connection: Connection) -> str:
    """Whether it goes to one of these networks: what comes in does so to an address of this machine."""
    version = 4 if connection.family == "ip" else 6
    texts = [str(value) for value in condition.values if (":" in str(value)) == (version == 6)]
    if any(text.endswith("/0") for text in texts):
        return YES
    if not texts or all(_is_loopback(text) for text in texts):
        return NO
    own = [address for address in connection.addresses if address.version == version]
    networks = [network for text in texts[:MOST_NETWORKS] for network in networks_of(text)]
    hits = [any(_within(address, network) for network in networks) for address in own]
    return SOME if not hits else YES if all(hits) else SOME if any(hits) else NO


def _is_loopback(text: str) -> bool:
    return text.startswith("127.") or text in ("::1", "::1/128")


def _mark(condition: Condition, connection: Connection) -> str:
    """A new connection has no mark; a bit of it can be set only by a rule that it meets."""
    value, mask = next((pair for pair in condition.values if isinstance(pair, tuple)), (0, 0))
    if value & mask & ~connection.marks:
        return NO
    return SOME if connection.marks & mask else _yes(value & mask == 0)


def _within(peer: Network, network: Network) -> bool:
    return peer.version == network.version and peer.subnet_of(network)  # type: ignore[arg-type]


def networks_of(text: str) -> List[Network]:
    """`10.0.0.0/24`, `10.0.0.1` or `10.0.0.1-10.0.0.9` as networks; nothing if it is none of them.

    >>> networks_of("10.0.0.0-10.0.0.5")
    [IPv4Network('10.0.0.0/30'), IPv4Network('10.0.0.4/31')]
    """
    import ipaddress  # not needed on a machine without servers, slow to load

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
    "destination": _destination,
    "mark": _mark,
}


def words_of(condition: Condition) -> str:
    """`source 10.0.0.0/24`: what the answer depends on, for a person."""
    if condition.kind == "mark":
        return "a mark that another rule sets"
    if condition.kind not in ("source", "destination", "interface", "client_port"):
        return ""
    values = ", ".join(map(str, condition.values[:2])) + (", ..." if len(condition.values) > 2 else "")
    return f"{condition.kind.replace('_', ' ')} {'not ' if condition.negated else ''}{values}"[:80]
