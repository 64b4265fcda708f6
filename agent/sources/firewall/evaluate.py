"""What packet filter rules do to a new TCP connection: one model for nftables and iptables, and its evaluation.

A condition of a rule holds, does not hold, holds for some connections only (it asks where they come from or on which
interface), or cannot be evaluated here. What cannot be evaluated is never taken for open or for closed.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from agent.named_tuples import NamedTuple
from agent.sources.firewall.conditions import CANNOT_TELL, NO, SOME, YES, Condition, Connection, matches, words_of

DOUBTS = ("", SOME, CANNOT_TELL)

ALL_MARKS = 0xFFFFFFFF
OPEN, BLOCKED, PARTLY, UNSURE = "open", "blocked", "partly", "unsure"


class Rule(NamedTuple):
    """verdict: accept, drop, reject, return, jump, goto, `other` (a verdict whose effect we do not know) or empty.

    marks: the bits of a connection's mark that it may set.
    """

    conditions: Tuple[Condition, ...]
    verdict: str
    target: str = ""
    marks: int = 0


class Chain(NamedTuple):
    """A base chain has a hook (ingress, prerouting, input, output) and a policy; the others are only jumped to.

    One that translates addresses has `nat ` before its hook: it decides nothing, but may set marks.
    """

    family: str
    table: str
    name: str
    rules: Tuple[Rule, ...]
    hook: str = ""
    policy: str = "accept"

    @property
    def title(self) -> str:
        return f"{self.family} {self.table} {self.name}"


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
    walk = _Walk(chains, connection._replace(marks=possible_marks(chains, connection, hooks)))
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


def possible_marks(chains: Sequence[Chain], connection: Connection, hooks: Sequence[str]) -> int:
    """The bits of its mark that rules on the connection's way may set, those that translate addresses included."""
    by_key = {(chain.family, chain.table, chain.name): chain for chain in chains}
    anything = connection._replace(marks=ALL_MARKS)
    waiting = [chain for chain in chains if chain.hook.rpartition(" ")[2] in hooks]
    reached: Set[str] = set()
    marks = 0
    while waiting:
        chain = waiting.pop()
        if chain.title in reached:
            continue
        reached.add(chain.title)
        for rule in chain.rules:
            target = by_key.get((chain.family, chain.table, rule.target))
            if (rule.marks or target) and matches(rule.conditions, anything) != NO:
                marks |= rule.marks
                waiting += [target] if target else []
    return marks


def fate_from_all(chains: Sequence[Chain], connection: Connection, hooks: Sequence[str]) -> Fate:
    """What becomes of the connection from each network of its peers: rules may name them one by one."""
    version = 6 if connection.family == "ip6" else 4
    peers = [peer for peer in connection.peers if peer.version == version]
    if len(peers) < 2:
        return fate(chains, connection, hooks)
    fates = {peer: fate(chains, connection._replace(peers=(peer,)), hooks) for peer in peers}
    states = {one.state for one in fates.values()}
    whys = tuple(dict.fromkeys(why for one in fates.values() for why in one.why))
    if len(states) == 1 or UNSURE in states:
        return Fate(UNSURE if UNSURE in states else states.pop(), whys)
    return Fate(PARTLY, tuple(f"not for all of {peer}" for peer, one in fates.items() if one.state != OPEN))


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
            holds = self._holds(rule)
            if holds == NO or not rule.verdict:
                continue
            if holds == SOME:
                self.depends_on += [words for words in map(words_of, rule.conditions) if words]
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

    def _holds(self, rule: Rule) -> str:
        """Whether a rule holds. One that accepts by a mark may: programs in the kernel (BPF) set marks as well."""
        holds = matches(rule.conditions, self._connection)
        if holds == NO and rule.verdict == "accept" and any(one.kind == "mark" for one in rule.conditions):
            marked = self._connection._replace(marks=ALL_MARKS)
            return NO if matches(rule.conditions, marked) == NO else CANNOT_TELL
        return holds

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
