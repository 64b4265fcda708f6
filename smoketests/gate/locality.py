"""What the hosts that leave have in common with a machine in trouble: partitions, a quorum, what moves to it.

Trouble counts where something would fail if that machine went too. A dead disk on a broker that shares no partition
with the hosts that leave is no reason to wait: it is reported, with the reason why it does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.host import CannotTell, NotApplicable
from inventory.model import Host
from inventory.names import some
from smoketests.cluster.view import ClusterView
from smoketests.gate import ensembles
from smoketests.gate.context import KRAFT_ROLE, GateContext
from smoketests.gate.maintenance import DECOMMISSION

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import Partition, Quorum

APART = "it shares no partition and no quorum with"
# as the rule kraft_quorum has it
FETCH_TIMEOUT_MS = 2000
SPARE = "without it too, every partition of these hosts keeps enough replicas in sync"


class Weighed(NamedTuple):
    """counts: names of hosts that something here depends on. apart: host -> why its trouble does not count."""

    counts: frozenset[str]
    apart: dict[str, str]

    def why(self, names: Iterable[str]) -> str:
        """One clause for all of these hosts: what most of them have in common with the hosts that leave."""
        whys = {self.apart[name] for name in names if name in self.apart}
        return "; ".join(sorted(whys))


def weigh(situation: GateContext, names: Iterable[str]) -> Weighed:
    """Which of these hosts count. Where Kafka does not tell its partitions, all of them do."""
    wanted = set(names)
    # what any check found counts together: the disks of one machine and the memory of another may be the last copies
    asked = {host.name: host for host in situation.view.cluster.hosts if host.name in wanted | situation.troubled}
    counts = {name for name in asked if name in situation.names}
    counts |= of_quorums(situation, list(asked.values()))
    brokers: dict[str, set[int]] = {}
    for name, host in asked.items():
        try:
            brokers[name] = set(situation.ids_of(host))
        except CannotTell:
            brokers[name] = set(situation.identities.may_be(host))
    try:
        needed = of_brokers(situation, set().union(*brokers.values()) if brokers else set())
        near = neighbours(situation)
    except NotApplicable:
        brokers, needed, near = {name: set() for name in asked}, frozenset(), frozenset()
    except CannotTell:
        return Weighed(frozenset(wanted & set(asked)), {})
    counts |= {name for name, numbers in brokers.items() if numbers & needed}
    far = f"{APART} {some(sorted(situation.names), 3)}"
    apart = {name: SPARE if brokers[name] & near else far for name in asked if name in wanted - counts}
    return Weighed(frozenset(counts & wanted), apart)


def ids(situation: GateContext) -> frozenset[int]:
    """The brokers on the hosts in question."""
    return situation.leaving_ids


def of_brokers(situation: GateContext, brokers: Collection[int]) -> frozenset[int]:
    """Which of these count: a partition here would have too few replicas without all of them, or they receive some."""
    if situation.purpose == DECOMMISSION and not situation.after:
        return frozenset(brokers)
    in_need = {broker for row in exposed(situation, brokers) for broker in row.replicas}
    return frozenset(brokers) & in_need


def exposed(situation: GateContext, brokers: Collection[int]) -> list[Partition]:
    """Partitions of the hosts that leave which would have too few replicas in sync without these brokers too.

    Afterwards the hosts are back, and only the others would be gone.
    """
    ours = ids(situation)
    gone = set(brokers) if situation.is_back else set(brokers) | ours
    rows = [row for row in situation.partitions if ours & set(row.replicas)]
    return [row for row in rows if len(row.replicas) > 1 and set(brokers) & set(row.replicas) and too_few(row, gone)]


def too_few(row: Partition, gone: Collection[int]) -> bool:
    """Whether fewer replicas in sync are left than it needs; where min.insync.replicas is unknown, all but one."""
    left = len(set(row.isr) - set(gone))
    if row.min_isr is None:
        return left < len(row.replicas) - 1
    return left < (row.min_isr if len(row.replicas) > row.min_isr else 1)


def neighbours(situation: GateContext) -> frozenset[int]:
    """Brokers that share a partition with the hosts that leave, and take over what these led; not themselves."""
    ours = ids(situation)
    rows = [row.replicas for row in situation.partitions if ours & set(row.replicas)]
    return frozenset(broker for replicas in rows for broker in replicas) - ours


def of_quorums(situation: GateContext, hosts: Sequence[Host]) -> set[str]:
    """Those whose ZooKeeper server or controller the quorum could not lose too, where one of its servers leaves."""
    found: set[str] = set()
    for view in (situation.view, *situation.served):
        found |= _of_ensemble(situation, view, hosts)
    return found | _of_controllers(situation, hosts)


def _of_ensemble(situation: GateContext, view: ClusterView, hosts: Sequence[Host]) -> set[str]:
    members = view.zookeeper.members if view.zookeeper else ()
    voting = [member for member in members if member.mode != "observer"]
    on = {member.server: ensembles.holders(member.server, situation.view.cluster.hosts) for member in voting}
    ours = [server for server, holders in on.items() if {host.name for host in holders} & situation.names]
    if not ours:
        return set()
    troubled = {host.name for host in hosts} - situation.names
    theirs = [server for server, holders in on.items() if {host.name for host in holders} & troubled]
    gone = {*theirs, *(() if situation.is_back else ours)}
    going = [member for member in voting if member.server in gone]
    if ensembles.left_in_step(members, going, ensembles.MOST_BEHIND) >= ensembles.majority(members):
        return set()
    return {host.name for server in theirs for host in on[server]} & troubled


def _of_controllers(situation: GateContext, hosts: Sequence[Host]) -> set[str]:
    quorum = situation.view.kafka.quorum if situation.view.kafka else None
    if quorum is None:
        return set()
    ours = [host for host in situation.leaving if _has_controller(situation, host)]
    theirs = [host for host in hosts if _has_controller(situation, host) and host.name not in situation.names]
    gone, unnamed = _late(quorum), 0
    for host in (*theirs, *(() if situation.is_back else ours)):
        voters = _voters_on(situation, quorum, host)
        gone, unnamed = gone | voters, unnamed + (not voters)
    if not ours or len(quorum.voters) - len(gone) - unnamed >= len(quorum.voters) // 2 + 1:
        return set()
    return {host.name for host in theirs}


def _late(quorum: Quorum) -> set[int]:
    """The voters that are not caught up; where that is not told, kraft_quorum says so."""
    rows = [voter for voter in quorum.voters if voter.id != quorum.leader and voter.behind_ms is not None]
    return {voter.id for voter in rows if not 0 <= (voter.behind_ms or 0) < FETCH_TIMEOUT_MS}


def _voters_on(situation: GateContext, quorum: Quorum, host: Host) -> set[int]:
    """By the machine's own files, else by address or by its id."""
    seen = situation.identities.nodes(host, KRAFT_ROLE)
    at = {voter.id for voter in quorum.voters for server in voter.endpoints if ensembles.holders(server, [host])}
    known = {host.broker_id} if host.broker_id is not None else set()
    return {voter.id for voter in quorum.voters} & (set(seen) or at or known)


def _has_controller(situation: GateContext, host: Host) -> bool:
    return KRAFT_ROLE in host.roles or situation.identities.runs(host, KRAFT_ROLE)
