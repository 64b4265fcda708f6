"""Everything that one reading of the gate knows; the rules see nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from smoketests.cluster.view import CannotTell, ClusterView, NotAsked
from smoketests.gate.maintenance import DECOMMISSION, REPLACE_DISK, REPLACE_PSU, Maintenance
from smoketests.readers.zookeeper import Registered

if TYPE_CHECKING:
    from inventory.model import Cluster, Host
    from smoketests.gate.lock import Lock
    from smoketests.readers.kafka import KafkaFacts, Partition

RAID10 = "raid10"
KRAFT_ROLE, BROKER_ROLE, ZOOKEEPER_ROLE = "controller", "broker", "zookeeper"


def may_have_brokers(cluster: Cluster) -> bool:
    """A host of which no role is said may be one."""
    return any(BROKER_ROLE in host.roles or not host.roles for host in cluster.hosts)


@dataclass(frozen=True)
class Situation:
    """view: the cluster of the hosts. served: other clusters whose ZooKeeper runs on these hosts.

    locks: None if they could not be read; `unread` says why ("locks", "before"). before: the state that was recorded
    in front of the maintenance, empty if none is known. now: seconds since the epoch, by the clock of the locks.
    store: where the locks are. serving: names of clusters on whose hosts this cluster's ZooKeeper runs.
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
        from smoketests.gate.arrays import spare_the_machine

        return all(spare_the_machine(self, host, self.maintenance.disk) for host in self.leaving)

    @property
    def is_back(self) -> bool:
        """Whether the hosts should be well again."""
        return self.after and self.purpose != DECOMMISSION

    @property
    def kafka(self) -> KafkaFacts:
        """What Kafka said; NotAsked for a cluster without brokers, CannotTell where it said nothing."""
        if self.view.kafka is not None:
            return self.view.kafka
        if not self.has_brokers and not self.view.cluster.kafka:
            raise NotAsked(f"{self.view.cluster.name or 'the cluster'} has no brokers")
        raise CannotTell(self.view.problems.get("kafka") or self._nameless("kafka: [host:9092]"))

    def _nameless(self, example: str) -> str:
        name = self.view.cluster.name
        return f"the inventory names no Kafka servers of {name}; give the cluster {example}"

    @property
    def has_brokers(self) -> bool:
        return may_have_brokers(self.view.cluster)

    @property
    def partitions(self) -> Sequence[Partition]:
        """All of them; CannotTell if Kafka told but a part."""
        said = self.kafka
        partial = [why for why in said.untold if why.startswith("topic") and not why.startswith("topic settings")]
        if said.partitions is None or partial:
            raise CannotTell("; ".join(partial or said.untold) or "Kafka did not tell its partitions")
        return said.partitions

    @functools.cached_property
    def leaving_ids(self) -> frozenset[int]:
        """The broker ids that go; CannotTell for a broker whose id nobody tells."""
        return frozenset(broker for host in self.leaving for broker in self.ids_of(host))

    def ids_of(self, host: Host) -> tuple[int, ...]:
        """The ids of the broker on this host; none if it holds no broker, by its roles and by who is registered."""
        is_broker = BROKER_ROLE in host.roles
        found = self._registered_from(host)
        if host.broker_id is not None and (is_broker or host.broker_id in {row.id for row in self.registered}):
            return self._with_named(host, host.broker_id, found)
        if is_broker and not found:
            raise CannotTell(f"which broker runs on {host.name}: give it a broker_id in the inventory")
        return found

    def _with_named(self, host: Host, named: int, found: Sequence[int]) -> tuple[int, ...]:
        """The inventory's id, and those that it does not know and that are registered from there: they go too.

        CannotTell where it is another machine's by its address: the wrong broker would be judged.
        """
        known = set(self.view.cluster.broker_ids.values())
        nobodys = [number for number in found if number not in known]
        if named in found:
            return (named, *nobodys)
        theirs = [one.name for one in self.view.cluster.hosts if named in self._registered_from(one)]
        if nobodys or theirs:
            where = f"broker {nobodys[0]} is registered from there" if nobodys else f"{theirs[0]} is registered as that"
            raise CannotTell(f"which broker runs on {host.name}: the inventory says {named}, but {where}")
        return (named,)

    def _registered_from(self, host: Host) -> tuple[int, ...]:
        from smoketests.cluster.broker_ids import names_of

        return tuple(sorted({number for name in names_of(host) for number in self._ids_by_name.get(name, ())}))

    @functools.cached_property
    def _ids_by_name(self) -> Mapping[str, set[int]]:
        from smoketests.cluster.broker_ids import names_in

        found: dict[str, set[int]] = {}
        for row in self._rows:
            for name in names_in(row):
                found.setdefault(name, set()).add(row.id)
        return found

    @property
    def registered(self) -> Iterable[Registered]:
        """The brokers that ZooKeeper or Kafka's metadata name."""
        return {row.id: row for row in self._rows}.values()

    @property
    def living_ids(self) -> frozenset[int]:
        """Of those, the ids of the brokers that are not fenced."""
        return frozenset(row.id for row in self.registered if not row.fenced)

    @functools.cached_property
    def _rows(self) -> Sequence[Registered]:
        zookeeper = self.view.zookeeper
        return [*(zookeeper.brokers or () if zookeeper else ()), *(self.view.kafka.brokers if self.view.kafka else ())]

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

    def broker(self, number: int) -> str:
        """broker 3 (kafka-a03)"""
        name = self.broker_names.get(number)
        return f"broker {number} ({name})" if name else f"broker {number}"
