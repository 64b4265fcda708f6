"""Is each Kafka or ZooKeeper server here the node that its disks belong to?

Compared for each running server: node.id or broker.id of its configuration, and meta.properties in its log dirs (of
ZooKeeper: myid in its dataDir). `smoke gate` compares both with the inventory, Kafka and ZooKeeper.
Critical: the configuration names another node than the log dirs do, or the log dirs belong to several nodes or
clusters: the server does not start again.
Unknown: its configuration cannot be read, and no log dir names a node.
Ok again: as soon as they agree.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.kafka import node_ids
from agent.sources.kafka import processes as kafka
from agent.status import Verdict, combine, critical

LIMITS: Mapping[str, Any] = {}
PLAYBOOK = "broker-down"


class Facts(NamedTuple):
    """roles: broker, controller, zookeeper; two of a combined KRaft server. configured: None where it names no id.

    stored, clusters: the ids that its log dirs (myid) name, each once. untold: log dirs that told none.
    """

    item: str
    roles: Tuple[str, ...]
    config_path: str
    configured: Optional[int]
    stored: Tuple[int, ...]
    clusters: Tuple[str, ...]
    untold: Tuple[str, ...]


def find(host: Host) -> Sequence[str]:
    found = list(kafka.running(host))
    if not found:
        raise NotApplicable("no Kafka or ZooKeeper server is running on this machine (see services)")
    return found


def look(host: Host, item: str) -> Facts:
    service = kafka.running(host).get(item)
    if service is None:
        raise NotApplicable(f"{item} does not run (see services)")
    roles = tuple(role for role in ("broker", "controller", "zookeeper") if kafka.serves(service, role))
    nodes = node_ids.of(host, service)
    if not service.config and not nodes:
        raise CannotTell(f"{'' if host.is_root() else 'needs root: '}{service.config_path} cannot be read")
    return Facts(
        item=item,
        roles=roles,
        config_path=service.config_path,
        configured=node_ids.configured(service),
        stored=tuple(sorted({node.id for node in nodes if node.id is not None})),
        clusters=tuple(sorted({node.cluster for node in nodes if node.cluster})),
        untold=tuple(node.path for node in nodes if node.id is None),
    )


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    found: List[Verdict] = []
    stored = " and ".join(map(str, facts.stored))
    if len(facts.stored) > 1:
        found.append(critical(f"its log dirs belong to nodes {stored}: it does not start again", PLAYBOOK))
    elif facts.stored and facts.configured not in (None, *facts.stored):
        message = f"{facts.config_path} names node {facts.configured}, its log dirs belong to node {stored}"
        found.append(critical(f"{message}: it does not start again", PLAYBOOK))
    if len(facts.clusters) > 1:
        clusters = " and ".join(facts.clusters)
        found.append(critical(f"its log dirs belong to clusters {clusters}: it does not start again", PLAYBOOK))
    node = stored or ("unknown" if facts.configured is None else str(facts.configured))
    cluster = f" of cluster {facts.clusters[0]}" if facts.clusters else ""
    return combine(found, healthy=f"node {node}{cluster}")
