"""The maintenance lock where every controller of a cluster sees it: in its ZooKeeper, or in a topic of its Kafka.

An inventory says where (`maintenance_lock: zookeeper` or `kafka`); the folder of the store is kept beside it. What is
held, its holder and its expiry are decided by the clock of ZooKeeper's leader, or of the broker that leads the topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from smoketests.gate import lock
from smoketests.gate.lock import CannotLock, Held, Lock

if TYPE_CHECKING:
    from inventory.model import Cluster

STORE, ZOOKEEPER, KAFKA = "store", "zookeeper", "kafka"


class Shared(Protocol):
    """One cluster's lock in one place. Each raises CannotLock where the place cannot be used."""

    def take(self, wanted: Lock, minutes: float) -> Lock:
        """Give the lock with the place's own times, or raise Held; one that expired is taken over."""

    def renew(self, ours: Lock, minutes: float) -> Lock:
        """Held if somebody else has it by now."""

    def release(self, ours: Lock) -> bool:
        """False if it was no longer ours."""

    def held(self) -> Sequence[Lock]:
        """That of the cluster, also one that expired and was never released."""


def of(cluster: Cluster | None) -> Shared | None:
    """Where the inventory wants it beside the store; None for the store alone. CannotLock where that cannot be."""
    where = cluster.maintenance_lock if cluster else ""
    if not cluster or where in ("", STORE):
        return None
    servers = cluster.zookeeper if where == ZOOKEEPER else cluster.kafka
    if not servers:
        raise CannotLock(f"maintenance_lock: {where} of {cluster.name}, and the inventory names no {where} servers")
    if where == ZOOKEEPER:
        from smoketests.gate.lock_in_zookeeper import InZooKeeper

        return InZooKeeper(cluster.name, servers)
    from smoketests.gate.lock_in_kafka import InKafka

    return InKafka(cluster.name, servers)


def take(
    store: str,
    hosts: Sequence[str],
    cluster: str,
    owner: str,
    purpose: str,
    minutes: float,
    where: Cluster | None = None,
) -> Lock:
    """As lock.take, in the store and where the cluster has it; in both or in none."""
    shared = of(where)
    ours = lock.take(store, hosts, cluster, owner, purpose, minutes)
    if shared is None:
        return ours
    try:
        shared.take(ours, minutes)
    except Held as error:
        lock.release(ours)
        raise Held(replace(error.lock, store=store)) from error
    except CannotLock:
        lock.release(ours)
        raise
    return ours


def renew(ours: Lock, minutes: float, where: Cluster | None = None) -> Lock:
    """As lock.renew; Held if somebody took it over in either place."""
    shared = of(where)
    if shared:
        shared.renew(ours, minutes)
    return lock.renew(ours, minutes)


def release(ours: Lock, where: Cluster | None = None) -> bool:
    """As lock.release, in both places; False if it was ours in neither. What one cannot leaves the other as it is."""
    shared = of(where)
    elsewhere = shared.release(ours) if shared else False
    return lock.release(ours) or elsewhere


def held(store: str, where: Cluster | None = None) -> list[Lock]:
    """As lock.held, and what the cluster's own place has; a lock that is in both counts once."""
    shared = of(where)
    here = lock.held(store)
    known = {one.id for one in here}
    there = shared.held() if shared else ()
    return [*here, *(replace(one, store=store) for one in there if one.id not in known)]
