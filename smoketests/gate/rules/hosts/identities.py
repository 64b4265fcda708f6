"""Do the inventory, the machines, Kafka and ZooKeeper agree which broker runs on which host?

A host on which the agent finds a broker runs a broker, whatever the inventory says. Its id and its cluster are those of
meta.properties in its log dirs; the inventory's broker_id, the registered addresses and Kafka's cluster id must match.

Failed: never; contradictions are reported with both sources, and neither is used.

Warned: the sources contradict each other about a host that, by none of them, shares a partition with the hosts that
leave; a registered broker runs on no host of the inventory, and is fenced or shares no partition with them.

Cannot tell: two sources contradict each other; a broker that shares partitions with the hosts that leave runs on
no host of the inventory, so that its hardware was not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.host import CannotTell, NotApplicable
from agent.status import Verdict, count_of, unknown, warning
from inventory.names import some
from smoketests.gate import formatting, locality
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.identities import CHECK

if TYPE_CHECKING:
    from inventory.model import Host

LIMITS: Mapping[str, Any] = {"named": 3}
CHECKS = (CHECK,)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    if not situation.has_brokers:
        raise NotApplicable("the cluster has no brokers")
    found: dict[str, list[int]] = {}
    near = _registries(situation)
    far: list[str] = []
    for host in situation.view.hosts:
        try:
            found[host.name] = list(situation.ids_of(host))
        except CannotTell as problem:
            (far if _is_apart(situation, host) else near).append(str(problem))
    near += [*_of_others(situation), *_homeless(situation)]
    verdicts = [unknown(some(near, limits["named"]))] if near else []
    if far:
        verdicts.append(warning(f"{some(far, limits['named'])}; {formatting.elsewhere(situation)}"))
    verdicts += _strangers(situation, limits)
    ids = {name: numbers for name, numbers in found.items() if numbers}
    return ruled(verdicts, f"{count_of(len(ids), 'host')} with a broker, all sources agree", brokers=ids)


def _of_others(situation: GateContext) -> list[str]:
    """Servers of other clusters that go with these hosts: nobody here judges what they take away."""
    if situation.after or situation.stays_up:
        return []
    return [
        f"{host.name} also runs a {' and '.join(one.roles)} of cluster {some(one.clusters)}, which is not judged here"
        for host in situation.leaving
        for one in situation.identities.others.get(host.name, ())
    ]


def _homeless(situation: GateContext) -> list[str]:
    """Brokers with a replica, of which no host is known to run them: they may be of a host here that does not tell.

    A broker that is down is registered nowhere: behind a maintenance, what runs on the host now says nothing of it.
    """
    seen = situation.identities
    known = {number for host in situation.view.cluster.hosts for number in seen.may_be(host)}
    try:
        lost = {broker for row in situation.partitions for broker in row.replicas} - known
    except (CannotTell, NotApplicable):
        return []
    found = []
    for host in situation.leaving:
        told = host.name in seen.seen
        ids = lost - situation.living_ids if told else lost
        if ids and not seen.may_be(host) and (situation.after or not told):
            who = some([str(number) for number in sorted(ids)], 3)
            found.append(
                f"whether broker {who}, which no host is known to run, is of {host.name}: give it its broker_id"
            )
    return found


def _is_apart(situation: GateContext, host: Host) -> bool:
    """Whether no broker that this host may run, by any witness, shares a partition with the hosts that leave."""
    may_be = situation.identities.may_be(host)
    try:
        ours = situation.leaving_ids
        return bool(may_be) and not may_be & (ours | locality.neighbours(situation))
    except (CannotTell, NotApplicable):
        return False


def _registries(situation: GateContext) -> list[str]:
    """Brokers that ZooKeeper and Kafka's metadata have at different addresses: two clusters with the same ids."""
    view = situation.view
    if not (view.kafka and view.zookeeper and view.zookeeper.brokers):
        return []
    at = {row.id: row for row in view.zookeeper.brokers}
    odd = [row for row in view.kafka.brokers if row.id in at and not {*row.endpoints} & {*at[row.id].endpoints}]
    return [
        f"broker {row.id} is at {some(at[row.id].endpoints, 2)} by ZooKeeper, at {some(row.endpoints, 2)} by Kafka"
        for row in odd
        if at[row.id].endpoints and row.endpoints
    ]


def _strangers(situation: GateContext, limits: Mapping[str, Any]) -> list[Verdict]:
    nobodys = situation.identities.nobodys
    if not nobodys:
        return []
    rows = situation.identities.registered
    who = some([f"{number} ({rows[number].host}:{rows[number].port})" for number in nobodys], limits["named"])
    said = f"broker {who} runs on no host of the inventory: its hardware was not checked; add its host"
    living = situation.living_ids & frozenset(nobodys)
    if not living:  # Kafka 4 lists what was never unregistered; nothing depends on it
        return [warning(f"broker {who} runs on no host of the inventory, and is fenced")]
    shared = _shared(situation, living)
    if shared:
        return [unknown(f"{said}. It holds {count_of(shared, 'partition')} of these hosts")]
    return [warning(f"{said}. It shares no partition with these hosts")]


def _shared(situation: GateContext, nobodys: frozenset[int]) -> int:
    try:
        ours = situation.leaving_ids
        return len([row for row in situation.partitions if ours & set(row.replicas) and nobodys & set(row.replicas)])
    except (CannotTell, NotApplicable):
        return 0
