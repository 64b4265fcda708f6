"""Is every broker of the inventory registered under its own id, and no other broker?

Read from ZooKeeper (/brokers/ids), or from the brokers' metadata with KRaft, or where ZooKeeper's ACL denies reading
the ids. A broker whose id is missing is down or has lost its session; one whose id another machine holds cannot start.

Critical: a broker's id is not registered; it is held by another machine of the inventory; two hosts of the inventory
have the same id; one broker is registered under two ids; a KRaft broker is fenced.

Warning: a registered id is not in the inventory; a broker is registered from an address that is not in the inventory,
though the others' addresses are; ZooKeeper and the brokers' own metadata name different brokers.

Unknown: no reply from ZooKeeper or Kafka; the inventory gives a broker no id, and no address matches it.

Ok again: as soon as the ids match. A broker that died keeps its id for the session timeout (18 s by default).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agent.host import CannotTell, NotApplicable
from agent.status import Verdict, combine, critical, ok, unknown, warning
from inventory.model import Host
from inventory.names import some
from smoketests.cluster.view import ClusterFinding, ClusterView
from smoketests.readers.zookeeper.ensemble import Registered

LIMITS: Mapping[str, Any] = {}
READS: Mapping[str, Any] = {}
PLAYBOOK = "broker-down"


class Registry:
    """Who is registered, and which hosts each registered address may be."""

    def __init__(self, brokers: Sequence[Host], rows: Sequence[Registered], source: str) -> None:
        self.rows, self.source = rows, source
        self.by_id = {row.id: row for row in rows}
        self.ids = Counter(host.broker_id for host in brokers)
        self.named: dict[int | None, list[str]] = {}
        self._names = Names(brokers)
        for host in brokers:
            self.named.setdefault(host.broker_id, []).append(host.name)
        self._endpoints: dict[str, list[int]] = {}
        for row in rows:
            for endpoint in dict.fromkeys(row.endpoints):
                self._endpoints.setdefault(endpoint, []).append(row.id)
        self.of_host: dict[str, list[Registered]] = {}
        for row in rows:
            for name in self.holders(row):
                self.of_host.setdefault(name, []).append(row)

    def holders(self, row: Registered) -> list[str]:
        """The hosts that this registered broker may be."""
        return self._names.holders(row)

    def twins(self, row: Registered) -> list[int]:
        """Other ids under which the same endpoint is registered."""
        same = {other for endpoint in row.endpoints for other in self._endpoints[endpoint]}
        return sorted(same - {row.id})


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    rows, source = _registered(view)
    brokers = [host for host in view.cluster.hosts if has_broker(host)]
    registry = Registry(brokers, rows, source)
    found = [_of_host(host, registry) for host in brokers]
    return [*found, *_strangers(brokers, registry), *_sources_differ(view)]


def has_broker(host: Host) -> bool:
    """A KRaft controller that is no broker has an id too (node.id), and stands in no registry of brokers."""
    return "broker" in host.roles or (host.broker_id is not None and "controller" not in host.roles)


def _registered(view: ClusterView) -> tuple[tuple[Registered, ...], str]:
    """Who is registered, and where that stands."""
    if view.zookeeper and view.zookeeper.brokers is not None:
        return view.zookeeper.brokers, "ZooKeeper"
    closed = view.zookeeper is not None and view.zookeeper.closed
    if closed and view.kafka:
        return view.kafka.brokers, "Kafka's metadata"
    if view.zookeeper or "zookeeper" in view.problems:
        raise CannotTell(view.problems.get("zookeeper") or (view.zookeeper.untold if view.zookeeper else ""))
    if view.kafka:
        return view.kafka.brokers, "Kafka's metadata"
    if "kafka" in view.problems:
        raise CannotTell(view.problems["kafka"])
    raise NotApplicable("the inventory names neither ZooKeeper nor Kafka servers of this cluster")


def _of_host(host: Host, registry: Registry) -> ClusterFinding:
    if host.broker_id is None:
        return _without_id(host, registry)
    item = f"broker {host.broker_id}"
    said = registry.by_id.get(host.broker_id)
    verdicts: list[Verdict] = []
    if registry.ids[host.broker_id] > 1:
        both = some(registry.named[host.broker_id])
        verdicts.append(critical(f"the inventory gives id {host.broker_id} to {both}: only one can start"))
    if said is None:
        missing = f"{host.name} has no broker registered as {host.broker_id} in {registry.source}"
        verdicts.append(critical(f"{missing}: it is down or lost its session", PLAYBOOK))
        return ClusterFinding(item, combine(verdicts, ""), {"id": host.broker_id, "registered": False}, host.name)
    verdicts += _held_by(host, said, registry)
    facts = {"id": said.id, "registered": True, "address": f"{said.host}:{said.port}", "rack": said.rack}
    return ClusterFinding(item, combine(verdicts, f"registered at {said.host}:{said.port}"), facts, host.name)


def _held_by(host: Host, said: Registered, registry: Registry) -> list[Verdict]:
    """What is wrong with how this broker stands in the registry."""
    verdicts = []
    where = f"{said.host}:{said.port}"
    holders, twins = registry.holders(said), registry.twins(said)
    if holders and host.name not in holders:
        holds = f"id {said.id} of {host.name} is held by {some(holders)} ({where}): {host.name} cannot start"
        verdicts.append(critical(holds, PLAYBOOK))
    elif not holders and registry.of_host:
        verdicts.append(
            warning(f"id {said.id} of {host.name} is registered at {where}, which is no host of the inventory")
        )
    if twins:
        verdicts.append(critical(f"{where} is registered under the ids {said.id} and {some([*map(str, twins)])}"))
    if said.fenced:
        verdicts.append(
            critical(f"{host.name} (id {said.id}) is fenced: no heartbeats reach the controllers", PLAYBOOK)
        )
    return verdicts


def _without_id(host: Host, registry: Registry) -> ClusterFinding:
    said = registry.of_host.get(host.name)
    if not said:
        why = f"the inventory gives {host.name} no broker_id, and no registered broker has its address"
        return ClusterFinding(host.name, unknown(why), {}, host.name)
    ids = [str(row.id) for row in said]
    verdict = ok(f"registered as {ids[0]}")
    if len(ids) > 1:
        verdict = critical(f"{host.name} is registered under the ids {some(ids)}")
    return ClusterFinding(host.name, verdict, {"id": said[0].id, "registered": True}, host.name)


def names_of(host: Host) -> set[str]:
    """What a server on this host may be called: its name, its address, each also without the domain."""
    names = whole_names_of(host)
    return names | {short(name) for name in names}


def whole_names_of(host: Host) -> set[str]:
    """Without the parts: kafka-1.dc1 and kafka-1.dc2 are two machines."""
    return {name.lower() for name in (host.name, host.address) if name}


def names_in(said: Registered) -> set[str]:
    """Where a broker registered itself from, in the same words."""
    names = whole_names_in(said)
    return names | {short(name) for name in names}


def whole_names_in(said: Registered) -> set[str]:
    return {said.host.lower(), *(endpoint.rpartition(":")[0].strip("[]").lower() for endpoint in said.endpoints)}


class Names:
    """Which of these hosts a registered broker may be: by its whole name or address; by the first part if by none."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._whole: dict[str, list[str]] = {}
        self._short: dict[str, list[str]] = {}
        for host in hosts:
            for known, names in ((self._whole, whole_names_of(host)), (self._short, names_of(host))):
                for name in names:
                    known.setdefault(name, []).append(host.name)

    def holders(self, row: Registered) -> list[str]:
        whole = [host for name in sorted(whole_names_in(row)) for host in self._whole.get(name, ())]
        found = whole or [host for name in sorted(names_in(row)) for host in self._short.get(name, ())]
        return list(dict.fromkeys(found))


def short(name: str) -> str:
    """The first part of a full name; an address as it is."""
    return name if ":" in name or name.replace(".", "").isdigit() else name.partition(".")[0]


def _strangers(brokers: Sequence[Host], registry: Registry) -> list[ClusterFinding]:
    without_id = {host.name for host in brokers if host.broker_id is None}
    found = []
    for row in registry.rows:
        if row.id not in registry.named and not without_id & set(registry.holders(row)):
            where = f"is registered in {registry.source}"
            said = f"broker {row.id} ({row.host}:{row.port}) {where}, which is not in the inventory"
            found.append(ClusterFinding(f"broker {row.id}", warning(said), {"id": row.id, "registered": True}))
    return found


def _sources_differ(view: ClusterView) -> list[ClusterFinding]:
    """Where both can be asked, ZooKeeper and the brokers' own metadata must name the same brokers."""
    if not (view.kafka and view.zookeeper and view.zookeeper.brokers is not None):
        return []
    here = {row.id for row in view.zookeeper.brokers}
    there = {row.id for row in view.kafka.brokers}
    verdict = ok(f"ZooKeeper and Kafka's metadata name the same {len(here)} brokers")
    if here != there:
        sides = ((sorted(here - there), "ZooKeeper"), (sorted(there - here), "Kafka"))
        only = [f"{some([*map(str, ids)])} only in {where}" for ids, where in sides if ids]
        verdict = warning(f"ZooKeeper and the brokers' own metadata name different brokers: {'; '.join(only)}")
    return [ClusterFinding("metadata", verdict, {"zookeeper": sorted(here), "kafka": sorted(there)})]
