"""The data of one reading of the gate; the rules see nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.host import CannotTell, NotApplicable
from agent.status import CRITICAL, UNKNOWN
from smoketests.cluster.view import ClusterView
from smoketests.gate.arrays import spare_the_machine
from smoketests.gate.identities import BROKER_ROLE, KRAFT_ROLE, ZOOKEEPER_ROLE, Identities
from smoketests.gate.maintenance import DECOMMISSION, REPLACE_DISK, REPLACE_PSU, Maintenance
from smoketests.readers.zookeeper.ensemble import Registered

if TYPE_CHECKING:
    from inventory.model import Cluster, Host
    from smoketests.gate.acceptance import Acceptance
    from smoketests.gate.lock import Lock
    from smoketests.gate.playbook_runs import Run
    from smoketests.readers.kafka.cluster import KafkaFacts, Partition

__all__ = ["BROKER_ROLE", "KRAFT_ROLE", "ZOOKEEPER_ROLE", "GateContext", "may_have_brokers"]


def may_have_brokers(cluster: Cluster) -> bool:
    """A host of which no role is said may be one."""
    return any(BROKER_ROLE in host.roles or not host.roles for host in cluster.hosts)


@dataclass(frozen=True)
class GateContext:
    """view: the cluster of the hosts. served: other clusters whose ZooKeeper runs on these hosts.

    locks: None if they could not be read; `unread` says why ("locks", "before"). before: the state that was recorded
    in front of the maintenance, empty if none is known. now: seconds since the epoch, by the clock of the locks.
    store: where the locks are. serving: names of clusters on whose hosts this cluster's ZooKeeper runs.
    accepted: what somebody accepted of this cluster until a later day. recent: records of the last hour's answers
    about it, newest first. who: the asker, as lock.owner names him. runs: playbooks' runs of this cluster that changed
    something and did not take it back; None if their journals could not be read (`unread`: "runs").
    """

    maintenance: Maintenance
    view: ClusterView
    leaving: tuple[Host, ...]
    served: tuple[ClusterView, ...] = ()
    locks: Sequence[Lock] | None = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    now: float = 0.0
    store: str = ""
    serving: frozenset[str] = frozenset()
    accepted: Sequence[Acceptance] = ()
    recent: Sequence[Mapping[str, Any]] = ()
    who: str = ""
    runs: Sequence[Run] | None = ()

    @property
    def purpose(self) -> str:
        return self.maintenance.purpose

    @property
    def after(self) -> bool:
        return self.maintenance.after

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Of the hosts that leave."""
        return frozenset(host.name for host in self.leaving)

    @functools.cached_property
    def must_be_well(self) -> tuple[Host, ...]:
        """The hosts that carry the load: before, the others; afterwards, all but those that are gone for good."""
        return tuple(host for host in self.view.hosts if self.is_back or host.name not in self.names)

    @functools.cached_property
    def troubled(self) -> frozenset[str]:
        """Of those, the hosts of which a check found something critical, or could not tell."""
        sick = {
            host.name
            for rows in self.view.rows.values()
            for host, row in rows
            if row.get("status") in (CRITICAL, UNKNOWN) and row.get("check") not in host.skip
        }
        sick |= {name for name, one in self.view.reports.items() if not one.report.findings}
        return frozenset(host.name for host in self.must_be_well if host.name in sick)

    @property
    def stays_up(self) -> str:
        """Why the hosts keep running meanwhile; empty if they do not."""
        if self.purpose == REPLACE_PSU:
            return "the machine runs on while one of its power supplies is replaced"
        if self.purpose == REPLACE_DISK and self._has_redundant_disk:
            return "the machine runs on while a disk of its array is replaced"
        return ""

    @functools.cached_property
    def _has_redundant_disk(self) -> bool:
        return all(spare_the_machine(self.view, host, self.maintenance.disk) for host in self.leaving)

    @property
    def is_back(self) -> bool:
        """Whether the hosts should be well again."""
        return self.after and self.purpose != DECOMMISSION

    @property
    def kafka(self) -> KafkaFacts:
        """What Kafka reported; NotApplicable for a cluster without brokers, CannotTell without data."""
        if self.view.kafka is not None:
            return self.view.kafka
        if not self.has_brokers and not self.view.cluster.kafka:
            raise NotApplicable(f"{self.view.cluster.name or 'the cluster'} has no brokers")
        raise CannotTell(self.view.problems.get("kafka") or self._nameless("kafka: [host:9092]"))

    def _nameless(self, example: str) -> str:
        name = self.view.cluster.name
        return f"the inventory names no Kafka servers of {name}; give the cluster {example}"

    @property
    def has_brokers(self) -> bool:
        seen = self.identities
        return may_have_brokers(self.view.cluster) or any(seen.runs(host, BROKER_ROLE) for host in self.view.hosts)

    @property
    def partitions(self) -> Sequence[Partition]:
        """All of them; CannotTell if Kafka told but a part."""
        said = self.kafka
        partial = [why for why in said.untold if why.startswith("topic") and not why.startswith("topic settings")]
        if said.partitions is None or partial:
            raise CannotTell("; ".join(partial or said.untold) or "no partition data from Kafka")
        return said.partitions

    @functools.cached_property
    def leaving_ids(self) -> frozenset[int]:
        """The broker ids that go; CannotTell for a broker whose id nobody tells."""
        return frozenset(broker for host in self.leaving for broker in self.ids_of(host))

    @functools.cached_property
    def identities(self) -> Identities:
        return Identities(self.view)

    def ids_of(self, host: Host) -> tuple[int, ...]:
        """The ids of the brokers on this host, by every witness; none if no broker runs there. CannotTell."""
        return self.identities.of(host)

    @property
    def registered(self) -> Iterable[Registered]:
        """The brokers that ZooKeeper or Kafka's metadata name."""
        return self.identities.registered.values()

    @property
    def living_ids(self) -> frozenset[int]:
        """Of those, the ids of the brokers that are not fenced."""
        return frozenset(row.id for row in self.registered if not row.fenced)

    @functools.cached_property
    def broker_names(self) -> Mapping[int, str]:
        """Broker id -> host name, as far as it is known."""
        known: dict[int, str] = {}
        for host in self.view.cluster.hosts:
            try:
                known.update(dict.fromkeys(self.ids_of(host), host.name))
            except CannotTell:
                continue
        return known

    def brokers_of(self, host: Host) -> frozenset[int]:
        """The ids of this host's brokers, as far as they are known."""
        return frozenset(number for number, name in self.broker_names.items() if name == host.name)

    def broker(self, number: int) -> str:
        """broker 3 (kafka-a03)"""
        name = self.broker_names.get(number)
        return f"broker {number} ({name})" if name else f"broker {number}"
