"""Is no other host of the same rack, drawer or power feed in trouble?

A host that leaves takes one copy; a rack, drawer or feed that fails meanwhile takes all others on it. Trouble is a
warning or worse of power, cooling, chassis or network, or no reply at all.

Failed: another host of the same rack, drawer or feed is in trouble, and partitions here would be left below
min.insync.replicas (or without a copy) if all of that part failed too.

Warned: such a host is in trouble, but no partition depends on it.

Cannot tell: such a host is in trouble, and there is no partition data from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import CannotTell, NotApplicable
from agent.status import Verdict, critical, unknown, warning
from inventory.names import some
from smoketests.cluster import shared_components
from smoketests.gate import formatting, locality
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled

LIMITS: Mapping[str, Any] = {"named": 5}
WHEN = ("before",)
CHECKS = ("power", "cooling", "chassis", "nic_link", "nic_resets")
KINDS = {kind for kind, checks in shared_components.HOST_KINDS.items() if set(checks) & set(CHECKS)} | {
    shared_components.UNREACHED
}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    hosts = shared_components.of_hosts(situation.view)
    parts = [part for part in shared_components.host_parts(hosts) if part.members & situation.names]
    if not parts:
        raise NotApplicable("no rack, drawer or feed is shared, by the inventory")
    verdicts, seen = [], {}
    for part in parts:
        bad = {name: hosts[name].problems & KINDS for name in sorted(part.members - situation.names)}
        troubled = {name: sorted(problems) for name, problems in bad.items() if problems}
        if troubled:
            seen[part.name] = troubled
            verdicts.append(_verdict(situation, part, troubled, limits))
    names = some([part.name for part in parts])
    return ruled(verdicts, f"no other host on {names} is in trouble", troubled=seen)


def _verdict(
    situation: GateContext, part: shared_components.Part, troubled: Mapping[str, list[str]], limits: Mapping[str, Any]
) -> Verdict:
    who = some([f"{name} ({', '.join(kinds)})" for name, kinds in troubled.items()], 3)
    said = f"on {part.name}, in trouble are {who}"
    try:
        exposed = locality.exposed(situation, _brokers(situation, part))
    except NotApplicable:
        return warning(said)
    except CannotTell as error:
        return unknown(f"{said}; what depends on it is unknown: {error}")
    hosts = [host for host in situation.view.cluster.hosts if host.name in part.members - situation.names]
    if locality.of_quorums(situation, hosts):
        return critical(f"{said}; if all of it fails, the quorum of these hosts has no majority left")
    if not exposed:
        return warning(f"{said}; every partition here has enough copies elsewhere")
    return critical(f"{said}; if all of it fails, {formatting.listed(exposed, limits)} are left with too few copies")


def _brokers(situation: GateContext, part: shared_components.Part) -> set[int]:
    hosts = [host for host in situation.view.cluster.hosts if host.name in part.members - situation.names]
    return {broker for host in hosts for broker in situation.ids_of(host)}
