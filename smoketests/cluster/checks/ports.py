"""Does every machine reach the ports of its peers and of ZooKeeper, and if not, which side is at fault?

Each host tries its peers itself (check `peer_ports`); this check combines the results. A port that no host reaches is
the fault of its own machine, a machine that reaches no peer is cut off, and a single pair is a firewall or a route.

Critical: a port that no host reaches; a machine that reaches none of its peers.

Warning: some hosts reach a port and others do not: a firewall rule, a route or a name on one side.

Unknown: no data from a host.

Ok again: as soon as every host reaches every port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agent.status import combine, critical, warning
from inventory.names import some
from smoketests.cluster.view import ClusterFinding, ClusterView, Told, told, untold

LIMITS = {"min_witnesses": 2}
PLAYBOOK = "firewall"
DOWN = "broker-down"


class Reached(NamedTuple):
    peers: int
    unreached: tuple[tuple[str, str], ...]


READS = {"peer_ports": Reached}


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    rows = told(view, "peer_ports", Reached)
    verdicts = untold(view, "peer_ports", view.with_role("broker"), {row.host.name for row in rows})
    tried = sum(row.facts.peers for row in rows)
    cut_off = _cut_off(rows)
    found = [
        ClusterFinding(row.host.name, critical(_alone(row.host.name, row.facts), PLAYBOOK), {}, row.host.name)
        for row in cut_off
    ]
    witnesses = [row for row in rows if row not in cut_off]
    tried_by: dict[str, list[Told[Reached]]] = {}
    for row in witnesses:
        for target in row.host.peers:
            tried_by.setdefault(target, []).append(row)
    whys = _whys(witnesses)
    owners = {name: host.name for host in view.cluster.hosts for name in (host.name, host.address)}
    found += [_of_target(target, whys[target], len(tried_by[target]), owners, limits) for target in sorted(whys)]
    facts = {"hosts": len(rows), "tried": tried, "unreached": len(whys)}
    said = f"{len(rows)} hosts tried {tried} connections to their peers"
    return [*found, ClusterFinding("peers", combine(verdicts, said), facts)]


def _cut_off(rows: Sequence[Told[Reached]]) -> list[Told[Reached]]:
    """Hosts that reach nobody, where others do reach somebody: if none does, it is the ports that are shut."""
    alone = [row for row in rows if row.facts.peers > 1 and len(row.facts.unreached) == row.facts.peers]
    return alone if len(alone) < len(rows) else []


def _alone(name: str, facts: Reached) -> str:
    whys = sorted({why for _target, why in facts.unreached})
    return f"{name} reaches none of its {facts.peers} peers ({some(whys, 3)}): cut off, though reachable from here"


def _whys(rows: Sequence[Told[Reached]]) -> dict[str, dict[str, str]]:
    """Target -> host -> why it does not reach it; only of what it was told to try."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        own = set(row.host.peers)
        for target, why in row.facts.unreached:
            if target in own:
                found.setdefault(target, {})[row.host.name] = why
    return found


def _of_target(
    target: str, whys: Mapping[str, str], tried: int, owners: Mapping[str, str], limits: Mapping[str, Any]
) -> ClusterFinding:
    """One port: unreached by all that tried it, or by some."""
    owner = owners.get(target.rpartition(":")[0].strip("[]"), "")
    said = f"{target} ({some(sorted(set(whys.values())), 3)})"
    facts = {"target": target, "unreached_by": sorted(whys), "tried_by": tried}
    if len(whys) == tried >= limits["min_witnesses"]:
        refused = set(whys.values()) == {"refused"}
        why = "no process listens" if refused else "it is down, or its firewall drops them"
        verdict = critical(f"none of {len(whys)} hosts reaches {said}: {why}", DOWN if refused else PLAYBOOK)
        return ClusterFinding(target, verdict, facts, owner)
    others = tried - len(whys)
    rest = f"{others} others do" if others else "no other host tried it"
    return ClusterFinding(target, warning(f"{some(sorted(whys))} cannot reach {said}; {rest}", PLAYBOOK), facts)
