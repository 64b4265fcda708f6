"""Does every machine reach the ports of its peers and of ZooKeeper, and if not, whose fault is it?

Each host tries its peers itself (check `peer_ports`); here the answers are put together. A port that nobody reaches is
its own machine's fault, a machine that reaches nobody is cut off, and a single pair is a firewall or a route.

Critical: a port that none reaches; a machine that reaches none of its peers.

Warning: some reach a port that others do not: a firewall rule, a route or a name on one side.

Unknown: a host did not tell.

Ok again: as soon as all reach all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agent.status import combine, critical, warning
from inventory.model import Cluster, Host
from smoketests.cluster.view import ClusterFinding, ClusterView, some, told, untold

LIMITS = {"min_witnesses": 2}
PLAYBOOK = "firewall"
DOWN = "broker-down"


class Reached(NamedTuple):
    peers: int
    unreached: tuple[tuple[str, str], ...]


READS = {"peer_ports": Reached}


def peers(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """Host name -> the `host:port` that it must reach: every other broker's ports and the ensemble's client ports."""
    brokers = [host for host in cluster.hosts if "broker" in host.roles and host.ports]
    ensemble = [server.partition("/")[0] for server in cluster.zookeeper]
    return {
        host.name: tuple(dict.fromkeys([
            *(f"{_bracketed(other)}:{port}" for other in brokers if other is not host for port in other.ports),
            *(server for server in ensemble if server.rpartition(":")[0] not in (host.name, host.address)),
        ]))
        for host in cluster.hosts if "broker" in host.roles
    }  # fmt: skip


def _bracketed(host: Host) -> str:
    address = host.address or host.name
    return f"[{address}]" if ":" in address else address


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    rows = told(view, "peer_ports", Reached)
    verdicts = untold(view, "peer_ports", view.with_role("broker"), {row.host.name for row in rows})
    tried = sum(row.facts.peers for row in rows)
    cut_off = [row for row in rows if row.facts.peers > 1 and len(row.facts.unreached) == row.facts.peers]
    found = [
        ClusterFinding(row.host.name, critical(_cut_off(row.host.name, row.facts), PLAYBOOK), {}, row.host.name)
        for row in cut_off
    ]
    whys: dict[str, dict[str, str]] = {}
    for row in rows:
        if row not in cut_off:
            for target, why in row.facts.unreached:
                whys.setdefault(target, {})[row.host.name] = why
    found += [_of_target(view, target, of_host, len(rows) - len(cut_off), limits)
              for target, of_host in sorted(whys.items())]  # fmt: skip
    facts = {"hosts": len(rows), "tried": tried, "targets": len(whys)}
    said = f"{len(rows)} hosts tried {tried} connections to their peers"
    return [*found, ClusterFinding("peers", combine(verdicts, said), facts)]


def _cut_off(name: str, facts: Reached) -> str:
    whys = sorted({why for _target, why in facts.unreached})
    return f"{name} reaches none of its {facts.peers} peers ({some(whys, 3)}): it is cut off, though we reach it"


def _of_target(
    view: ClusterView, target: str, whys: Mapping[str, str], witnesses: int, limits: Mapping[str, Any]
) -> ClusterFinding:
    """One port: unreached by all that could say so, or by some."""
    owner = next((host for host in view.cluster.hosts if target.rpartition(":")[0].strip("[]")
                  in (host.name, host.address)), None)  # fmt: skip
    could = witnesses - (owner is not None and owner.name in view.reports and "broker" in owner.roles)
    said = f"{target} ({some(sorted(set(whys.values())), 3)})"
    facts = {"target": target, "unreached_by": sorted(whys), "witnesses": could}
    if len(whys) >= max(could, limits["min_witnesses"]):
        refused = set(whys.values()) == {"refused"}
        why = "nothing listens there" if refused else "it is down, or a firewall on it drops them"
        verdict = critical(f"none of {len(whys)} hosts reaches {said}: {why}", DOWN if refused else PLAYBOOK)
        return ClusterFinding(target, verdict, facts, owner.name if owner else "")
    rest = f"{could - len(whys)} others do" if could > len(whys) else "nobody else told"
    return ClusterFinding(target, warning(f"{some(sorted(whys))} cannot reach {said}; {rest}", PLAYBOOK), facts)
