"""Do packets get through: to the peers, into the servers' listen queues, and past connection tracking?

A link that loses packets, a listen queue that overflows and a full tracking table all look like a slow or dead peer.
Counted since the last run in the network namespace of the server that runs here, and from 0 when that changes.
Items: `retransmissions`, `listen queues`, `connection tracking`, and `MTU`, which the cluster check `drift` compares.
Warning: 2 % of the segments sent again (50 at least); 10 overflows of a listen queue; tracking table 75 % full.
Critical: 10 % sent again, 5 a second at least; the tracking table is 95 % full, or was full and dropped packets.
Ok again: in the first run without new ones.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Tuple

from agent.host import Host, NotApplicable
from agent.named_tuples import NamedTuple
from agent.sources.network import counters as tcp_counters
from agent.sources.network import interfaces
from agent.status import Verdict, combine, critical, ok, warning

SUBJECT = "network_path"
LIMITS = {
    "sent_again_percent_warning": 2,
    "sent_again_percent_critical": 10,
    "sent_again_least": 50,
    "sent_again_per_second_critical": 5,
    "listen_overflows_warning": 10,
    "tracked_percent_warning": 75,
    "tracked_percent_critical": 95,
    "tracking_drops_critical": 1,
}
PLAYBOOK = "network-path"
SENT_AGAIN, LISTEN, TRACKING, MTU = "retransmissions", "listen queues", "connection tracking", "MTU"


class Facts(NamedTuple):
    """seconds: since the last run, 0 on the first. Counts are of that time; mtus: `eno1 1500`."""

    item: str
    seconds: float = 0.0
    sent: int = 0
    sent_again: int = 0
    overflows: int = 0
    tracked: int = 0
    tracked_most: int = 0
    tracking_drops: int = 0
    mtus: Tuple[str, ...] = ()


def find(host: Host) -> Sequence[str]:
    return [SENT_AGAIN, LISTEN, TRACKING, MTU]


def look(host: Host, item: str) -> Facts:
    if item == MTU:
        return Facts(item, mtus=_mtus(host))
    if item == TRACKING:
        return _look_at_tracking(host)
    counters = tcp_counters.counters(host)
    if item == LISTEN:
        overflows, seconds = _tcp_growth(host, "ListenOverflows", counters.get("TcpExt.ListenOverflows"))
        return Facts(item, seconds, overflows=overflows)
    sent, seconds = _tcp_growth(host, "OutSegs", counters.get("Tcp.OutSegs"))
    again, _seconds = _tcp_growth(host, "RetransSegs", counters.get("Tcp.RetransSegs"))
    # OutSegs does not count those sent again (RFC 4022)
    return Facts(item, seconds, sent=sent + again, sent_again=again)


def _tcp_growth(host: Host, name: str, value: Optional[int]) -> Tuple[int, float]:
    """Counted anew in the first run that reads another network namespace: a container's broker stopped or started."""
    where, key = tcp_counters.namespace(host), f"{SUBJECT}/{name}"
    same = host.state.cursor(key) in (None, where)
    host.state.set_cursor(key, where)
    grown = _growth(host, name, value)
    return grown if same else (0, 0.0)


def _growth(host: Host, name: str, value: Optional[int]) -> Tuple[int, float]:
    if value is None:
        raise NotApplicable(f"this kernel does not count {name}")
    grown = host.state.delta(f"{SUBJECT}/{name}", value)
    return (grown.change, grown.seconds) if grown else (0, 0.0)


def _look_at_tracking(host: Host) -> Facts:
    seen = tcp_counters.tracking(host)
    if seen is None:
        raise NotApplicable("connection tracking is not in use")
    drops, seconds = _growth(host, "drop", seen.dropped)
    return Facts(TRACKING, seconds, tracked=seen.tracked, tracked_most=seen.most, tracking_drops=drops)


def _mtus(host: Host) -> Tuple[str, ...]:
    sizes = {name: interfaces.number(host, name, "mtu") for name in interfaces.watched(host)}
    found = tuple(f"{name} {size}" for name, size in sizes.items() if size is not None)
    if not found:
        raise NotApplicable("the kernel reports no MTU")
    return found


def judge(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    if facts.item == MTU:
        return ok(f"MTU: {', '.join(facts.mtus)}")
    if facts.item == TRACKING:
        return _judge_tracking(facts, limits)
    if not facts.seconds:
        return ok("first run: counting starts now")
    return _judge_listen(facts, limits) if facts.item == LISTEN else _judge_sent_again(facts, limits)


def _judge_sent_again(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    percent = 100 * facts.sent_again / max(facts.sent, 1)
    per_second = facts.sent_again / facts.seconds
    message = f"{percent:.1f} % of {facts.sent} TCP segments retransmitted ({per_second:.2g}/s)"
    if facts.sent_again < limits["sent_again_least"]:
        return ok(message)
    if percent >= limits["sent_again_percent_critical"] and per_second >= limits["sent_again_per_second_critical"]:
        return critical(f"{message}: packets are being lost", PLAYBOOK)
    if percent >= limits["sent_again_percent_warning"]:
        return warning(f"{message}, limit {limits['sent_again_percent_warning']} %", PLAYBOOK)
    return ok(message)


def _judge_listen(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    message = f"{facts.overflows} listen queue overflows in {facts.seconds / 60:.0f} min"
    if facts.overflows >= limits["listen_overflows_warning"]:
        return warning(f"{message}: a server accepts connections too slowly", PLAYBOOK)
    return ok(message)


def _judge_tracking(facts: Facts, limits: Mapping[str, Any]) -> Verdict:
    percent = 100 * facts.tracked / max(facts.tracked_most, 1)
    message = f"{facts.tracked} of {facts.tracked_most} connections tracked ({percent:.0f} %)"
    found = []
    if facts.tracking_drops >= limits["tracking_drops_critical"]:
        found.append(critical(f"{facts.tracking_drops} packets dropped, table full; {message}", PLAYBOOK))
    elif percent >= limits["tracked_percent_critical"]:
        found.append(critical(f"{message}: new connections will be dropped", PLAYBOOK))
    elif percent >= limits["tracked_percent_warning"]:
        found.append(warning(f"{message}, limit {limits['tracked_percent_warning']} %", PLAYBOOK))
    return combine(found, healthy=message)
