"""Is nothing in trouble that shares a rack, drawer or power feed with these hosts?

A host that leaves takes one copy; a rack, drawer or feed that fails meanwhile takes all others on it. Trouble is a
warning or worse of power, cooling, chassis or network, or no answer at all.

Failed: another host of the same rack, drawer or feed is in trouble, and partitions here would be left below
min.insync.replicas (or without a copy) if all of that part went too.

Warned: such a host is in trouble, but no partition depends on it.

Cannot tell: such a host is in trouble, and Kafka did not tell its partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.status import Verdict, critical, unknown, warning
from smoketests.cluster import fates
from smoketests.cluster.view import CannotTell, NotAsked, some
from smoketests.gate import wording
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import PURPOSES as ALL
from smoketests.gate.situation import Situation

if TYPE_CHECKING:
    from smoketests.readers.kafka import Partition

LIMITS: Mapping[str, Any] = {"named": 5}
PURPOSES = ALL
WHEN = ("before",)
CHECKS = ("power", "cooling", "chassis", "nic_link", "nic_resets")
FINAL = ""
KINDS = {kind for kind, checks in fates.HOST_KINDS.items() if set(checks) & set(CHECKS)} | {fates.UNREACHED}


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    hosts = fates.of_hosts(situation.view)
    parts = [part for part in fates.host_parts(hosts) if part.members & situation.names]
    if not parts:
        raise NotAsked(
            f"{some(sorted(situation.names))}: the inventory names no rack, drawer or feed with others on it"
        )
    verdicts, seen = [], {}
    for part in parts:
        bad = {name: hosts[name].problems & KINDS for name in sorted(part.members - situation.names)}
        troubled = {name: sorted(problems) for name, problems in bad.items() if problems}
        if troubled:
            seen[part.name] = troubled
            verdicts.append(_verdict(situation, part, troubled, limits))
    names = some([part.name for part in parts])
    return ruled(verdicts, f"nobody else on {names} is in trouble", troubled=seen)


def _verdict(
    situation: Situation, part: fates.Part, troubled: Mapping[str, list[str]], limits: Mapping[str, Any]
) -> Verdict:
    who = some([f"{name} ({', '.join(kinds)})" for name, kinds in troubled.items()], 3)
    said = f"on {part.name}, in trouble are {who}"
    try:
        exposed = _exposed(situation, part)
    except NotAsked:
        return warning(said)
    except CannotTell as error:
        return unknown(f"{said}; what depends on it cannot be told: {error}")
    if not exposed:
        return warning(f"{said}; every partition here has enough copies elsewhere")
    return critical(f"{said}; if all of it fails, {wording.listed(exposed, limits)} are left with too few copies")


def _exposed(situation: Situation, part: fates.Part) -> list[Partition]:
    """The partitions of the brokers that leave which would have too few replicas in sync without that part too."""
    gone = set(situation.leaving_ids)
    for host in situation.view.cluster.hosts:
        if host.name in part.members:
            gone |= set(situation.ids_of(host))
    rows = [row for row in situation.partitions if situation.leaving_ids & set(row.replicas)]
    return [row for row in rows if len(row.replicas) > 1 and _too_few(row, gone)]


def _too_few(row: Partition, gone: set[int]) -> bool:
    left = len(set(row.isr) - gone)
    needed = row.min_isr if row.min_isr is not None and len(row.replicas) > row.min_isr else 1
    return left < needed
