"""Can this machine connect to the ports of the machines that it depends on: other brokers, and ZooKeeper?

The inventory says which (`peers`); each is tried with one TCP connection that is closed at once. Which side is to
blame is shown by the cluster check `ports`, which has the results of all machines.

Warning: a peer refuses the connection (nothing listens there), does not answer (a firewall drops it, or the machine is
down), or its name is unknown here.
Unknown: no peer could be tried.
Ok again: as soon as all accept connections.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple

from agent.host import CannotTell, Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.status import Verdict, ok, warning

LIMITS = {"unreached_warning": 1, "named": 6}
PLAYBOOK = "firewall"
CONNECT_S = 3.0
DEADLINE_S = 20.0


class Facts(NamedTuple):
    """unreached: (peer, why not). peers: how many were tried."""

    peers: int
    unreached: Tuple[Tuple[str, str], ...]


def find(host: Host) -> Sequence[str]:
    if not host.expected.peers:
        raise NotApplicable("the inventory names no peers for this machine")
    return ["peers"]


def look(host: Host, item: str) -> Facts:
    whys = host.connect(*host.expected.peers, deadline_s=CONNECT_S)
    if not whys:
        raise CannotTell("no peer could be tried")
    return Facts(len(whys), tuple((peer, why[:120]) for peer, why in whys.items() if why))


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    count = len(facts.unreached)
    if count < limits["unreached_warning"]:
        return ok(f"connected to {facts.peers - count} of {facts.peers} peers")
    named = [f"{peer} ({why})" for peer, why in facts.unreached[: limits["named"]]]
    more = f" and {count - len(named)} more" if count > len(named) else ""
    playbook = "" if all(why == "refused" for _peer, why in facts.unreached) else PLAYBOOK
    return warning(f"cannot connect to {count} of {facts.peers} peers: {', '.join(named)}{more}", playbook)
