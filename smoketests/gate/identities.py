"""Which broker runs on which host: by the inventory, by the machine itself, by Kafka's metadata and by ZooKeeper.

None is trusted alone. Where two contradict each other, CannotTell with both sides: the wrong broker would be judged.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from agent.host import CannotTell
from agent.status import UNKNOWN
from inventory.model import Host
from inventory.names import some
from smoketests.cluster.checks.broker_ids import Names
from smoketests.cluster.view import ClusterView, findings, typed
from smoketests.readers.zookeeper.ensemble import Registered

KRAFT_ROLE, BROKER_ROLE, ZOOKEEPER_ROLE = "controller", "broker", "zookeeper"
CHECK = "server_ids"


class Server(NamedTuple):
    """What is read of server_ids: a server that the agent sees running. stored, clusters: by its meta.properties."""

    roles: tuple[str, ...]
    configured: int | None
    stored: tuple[int, ...]
    clusters: tuple[str, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """Its disks know better than its configuration, which may have been changed since it started."""
        return self.stored or (() if self.configured is None else (self.configured,))


def servers_seen(view: ClusterView) -> Mapping[str, list[Server]]:
    """Host -> the servers that its agent sees running; a host that is not in it was not looked at."""
    seen: dict[str, list[Server]] = {}
    for host, row in findings(view, CHECK):
        if CHECK in host.skip:
            continue
        role = str(row.get("item", "")).partition(" ")[0]
        facts = typed(row.get("facts"), Server)
        if facts is None and role in (BROKER_ROLE, KRAFT_ROLE, ZOOKEEPER_ROLE):
            facts = Server((role,), None, (), ())  # it runs there, and its files could not be read
        if facts is not None or row.get("status") != UNKNOWN:
            seen.setdefault(host.name, []).extend([facts] if facts else [])
    return seen


class Identities:
    """Of one cluster in one reading."""

    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self.cluster_id = view.kafka.cluster_id if view.kafka else ""
        everything = servers_seen(view)
        # servers of other clusters, by their own files: their ids are not ours
        self.others = {name: list(filter(self._is_other, servers)) for name, servers in everything.items()}
        self.seen = {
            name: [one for one in servers if not self._is_other(one)]
            if any(self.cluster_id in one.clusters for one in servers)
            else servers
            for name, servers in everything.items()
        }
        self._ids: dict[str, tuple[int, ...] | CannotTell] = {}

    def _is_other(self, server: Server) -> bool:
        return bool(self.cluster_id and server.clusters) and self.cluster_id not in server.clusters

    @functools.cached_property
    def rows(self) -> Sequence[Registered]:
        """What ZooKeeper and Kafka's metadata name, one behind the other."""
        zookeeper, kafka = self.view.zookeeper, self.view.kafka
        return [*(zookeeper.brokers or () if zookeeper else ()), *(kafka.brokers if kafka else ())]

    @functools.cached_property
    def registered(self) -> Mapping[int, Registered]:
        return {row.id: row for row in self.rows}

    def of(self, host: Host) -> tuple[int, ...]:
        """The ids of the brokers on this host; none if no broker runs there. CannotTell."""
        if host.name not in self._ids:
            try:
                self._ids[host.name] = tuple(sorted(self._by_all(host)))
            except CannotTell as problem:
                self._ids[host.name] = problem
        found = self._ids[host.name]
        if isinstance(found, CannotTell):
            raise found
        return found

    def runs(self, host: Host, role: str) -> bool:
        """Whether the agent sees a server of this role there."""
        return any(role in server.roles for server in self.seen.get(host.name, ()))

    def nodes(self, host: Host, role: str) -> frozenset[int]:
        """The ids of the servers of this role that the agent sees there, as far as they tell them."""
        servers = self.seen.get(host.name, ())
        return frozenset(number for server in servers if role in server.roles for number in server.ids)

    def may_be(self, host: Host) -> frozenset[int]:
        """Every id that any witness names for the brokers of this host."""
        named = frozenset() if host.broker_id is None else frozenset({host.broker_id})
        return named | frozenset(self._at(host)) | self.nodes(host, BROKER_ROLE)

    @functools.cached_property
    def nobodys(self) -> tuple[int, ...]:
        """Registered brokers of which nobody tells on which host of the inventory they run."""
        known: set[int] = set()
        for host in self.view.cluster.hosts:
            try:
                known |= set(self.of(host))
            except CannotTell:
                known |= self.may_be(host)
        return tuple(sorted(set(self.registered) - known))

    def _by_all(self, host: Host) -> set[int]:
        if self.runs(host, BROKER_ROLE):
            return self._running(host)
        found = set(self._not_running(host))
        for number in sorted(found):
            others = [name for name in self._seeing.get(number, ()) if name != host.name]
            if others:
                raise _which(host, f"{self._why(host, number)} {number}, but {some(others)} runs it (meta.properties)")
        return found

    def _running(self, host: Host) -> set[int]:
        """By the machine, where no other witness contradicts."""
        servers = [server for server in self.seen[host.name] if BROKER_ROLE in server.roles]
        self._same_cluster(host, servers)
        many = next((server.ids for server in servers if len(server.ids) > 1), None)
        if many:
            raise _which(host, f"its log dirs belong to nodes {' and '.join(map(str, many))}")
        ids = {number for server in servers for number in server.ids}
        if not all(server.ids for server in servers):
            ids |= set(self._at(host)) or {number for number in (host.broker_id,) if number is not None}
        if not ids:
            raise _which(host, "a broker runs there, but its files, its address and the inventory give no id")
        self._as_named(host, ids)
        for number in sorted(ids):
            self._as_registered(host, number)
        return ids | set(self._others_here(host))

    def _as_named(self, host: Host, ids: set[int]) -> None:
        everything = ids | self.nodes(host, KRAFT_ROLE)
        if host.broker_id is not None and host.broker_id not in everything:
            said = f"its meta.properties or configuration say {some(sorted(map(str, ids)))}"
            raise _which(host, f"the inventory says {host.broker_id}, but {said}")

    def _as_registered(self, host: Host, number: int) -> None:
        twins = [name for name in self._seeing.get(number, ()) if name != host.name]
        if twins:
            raise _which(host, f"by their meta.properties both {host.name} and {some(twins)} run broker {number}")
        at = self._hosts_at.get(number, [])
        if at and host.name not in at:
            raise _which(host, f"its meta.properties say {number}, but {some(at)} is registered as that")

    def _same_cluster(self, host: Host, servers: Iterable[Server]) -> None:
        ids = {cluster for server in servers for cluster in server.clusters}
        if self.cluster_id and ids and self.cluster_id not in ids:
            theirs = f"it is of cluster {some(sorted(ids))} (meta.properties)"
            raise _which(host, f"{theirs}, but Kafka reports cluster {self.cluster_id}")

    def _others_here(self, host: Host) -> list[int]:
        """Those that are registered from there and of no other host: they go too."""
        taken = set(self.view.cluster.broker_ids.values()) | set(self._seeing)
        return [number for number in self._at(host) if number not in taken]

    def _not_running(self, host: Host) -> tuple[int, ...]:
        """By the inventory and by the registered addresses, where the machine does not tell."""
        is_broker, named, found = BROKER_ROLE in host.roles, host.broker_id, self._at(host)
        if named is not None and (is_broker or named in self.registered):
            return self._with_named(host, named)
        if is_broker and not found:
            raise _which(host, "give it a broker_id in the inventory")
        if not found and host.name not in self.seen:
            self._may_be_elsewhere(host)
        return found

    def _may_be_elsewhere(self, host: Host) -> None:
        """CannotTell for a host of unknown role that did not tell, while there are brokers without a host."""
        told_ids = {number for one in self.view.cluster.hosts for number in self._at(one)}
        told_ids |= set(self._seeing) | set(self.view.cluster.broker_ids.values())
        homeless = [f"{row.id} ({row.host}:{row.port})" for row in self.registered.values() if row.id not in told_ids]
        if homeless and not host.roles:
            raise CannotTell(
                f"whether a broker runs on {host.name}: no data from it, and no host of the inventory is known to run "
                f"broker {some(homeless)}; give it its roles and its broker_id"
            )

    def _with_named(self, host: Host, named: int) -> tuple[int, ...]:
        found, others = self._at(host), self._others_here(host)
        if named in found:
            return (named, *others)
        at = self._hosts_at.get(named, [])
        if others or at:
            where = f"broker {others[0]} is registered from there" if others else f"{some(at)} is registered as that"
            raise _which(host, f"the inventory says {named}, but {where}")
        row = self.registered.get(named)
        if row and not row.fenced and host.name in self.seen:
            said = f"Kafka lists it as live at {row.host}:{row.port}"
            raise _which(host, f"the inventory says {named}, but no broker runs there, and {said}")
        return (named,)

    def _why(self, host: Host, number: int) -> str:
        return "the inventory says" if host.broker_id == number else "by its address it is"

    def _at(self, host: Host) -> tuple[int, ...]:
        """The ids that are registered from this host."""
        return self._ids_at.get(host.name, ())

    @functools.cached_property
    def _ids_at(self) -> Mapping[str, tuple[int, ...]]:
        names = Names(self.view.cluster.hosts)
        found: dict[str, set[int]] = {}
        for row in self.rows:
            for name in names.holders(row):
                found.setdefault(name, set()).add(row.id)
        return {name: tuple(sorted(ids)) for name, ids in found.items()}

    @functools.cached_property
    def _hosts_at(self) -> Mapping[int, list[str]]:
        """Id -> the hosts whose name or address it is registered with."""
        found: dict[int, list[str]] = {}
        for host in self.view.cluster.hosts:
            for number in self._at(host):
                found.setdefault(number, []).append(host.name)
        return found

    @functools.cached_property
    def _seeing(self) -> Mapping[int, list[str]]:
        """Id -> the hosts whose agent sees a broker of this id."""
        found: dict[int, list[str]] = {}
        for host in self.view.cluster.hosts:
            for number in self.nodes(host, BROKER_ROLE):
                found.setdefault(number, []).append(host.name)
        return found


def _which(host: Host, why: str) -> CannotTell:
    return CannotTell(f"which broker runs on {host.name}: {why}")
