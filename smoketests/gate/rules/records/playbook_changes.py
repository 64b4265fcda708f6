"""Are all changes that playbooks made here undone: order of replicas, throttles, units?

A playbook that moves leaders away rewrites the order of replicas; an abandoned run leaves it so, and no leader moves
back by itself. Its journal lists what it changed; Kafka and the machine show whether it is still changed.

Failed: afterwards, something that a run for these hosts changed is still changed.

Warned: before, or for a run on another host of the cluster, the same.

Cannot tell: afterwards, the journals cannot be read, there is no partition or throttle data from Kafka, or a unit was
disabled and not recorded as enabled again (`systemctl is-enabled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agent.formats.text import printable
from agent.host import CannotTell, NotApplicable
from agent.status import CRITICAL, UNKNOWN, Verdict, critical, unknown, warning
from inventory.names import some
from smoketests.cluster.view import told
from smoketests.gate import playbook_runs
from smoketests.gate.context import GateContext
from smoketests.gate.decision import OF_VERDICT, Finding, RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.playbook_runs import Change, Run

LIMITS: Mapping[str, Any] = {"named": 3}
CHECKS = ("services",)
KINDS = {CRITICAL: critical, UNKNOWN: unknown}


class Process(NamedTuple):
    """What is read of services."""

    pid: int


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    if situation.runs is None:
        raise (CannotTell if situation.after else NotApplicable)(
            situation.unread.get("runs", "the journals cannot be read")
        )
    verdicts: list[Verdict] = []
    findings = []
    for run in situation.runs:
        if run.state == playbook_runs.RUNNING:
            continue  # what it does is under way
        ours = situation.after and run.host in situation.names
        for status, said in _still_so(situation, run, limits):
            cure = f"smoke playbook resume {run.id}, or undo" if run.abandoned else f"smoke playbook undo {run.id}"
            words = printable(f"{run.playbook} of {run.host} ({run.state}): {said}; {cure}")
            verdicts.append(KINDS[status](words) if ours else warning(words))
            findings += [Finding(run.host, f"run {run.id}", words, OF_VERDICT[status], said)] if ours else []
    seen = [run.id for run in situation.runs]
    return ruled(verdicts, "no playbook left a change behind", findings, runs=seen[:50])


def _still_so(situation: GateContext, run: Run, limits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What of this run's changes is still as it made it, and what cannot be told, each a status and a clause."""
    by_kind: dict[str, list[Change]] = {}
    for change in run.changes:
        by_kind.setdefault(change.kind, []).append(change)
    try:
        yield from _orders(situation, by_kind.get(playbook_runs.REPLICA_ORDER, []), limits)
        yield from _throttles(situation, by_kind.get(playbook_runs.THROTTLE, []), limits)
    except (CannotTell, NotApplicable) as problem:
        yield UNKNOWN, f"whether Kafka is restored: {problem}"
    if run.state == playbook_runs.FINISHED and DECOMMISSION in run.purposes:
        return  # its units are meant to stay as they are
    for change in by_kind.get(playbook_runs.UNIT_STOPPED, []):
        if not _runs(situation, run.host):
            yield CRITICAL, f"it stopped {change.item}, and no server runs there"
    for change in by_kind.get(playbook_runs.UNIT_DISABLED, []):
        yield UNKNOWN, f"it disabled {change.item}, and it is not recorded as enabled again (systemctl is-enabled)"


def _orders(situation: GateContext, changes: list[Change], limits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not changes:
        return
    now = {row.name: row.replicas for row in situation.partitions}
    left = []
    for change in changes:
        replicas = now.get(change.item)
        before = tuple(change.before) if isinstance(change.before, list) else ()
        # replicas that were moved elsewhere meanwhile, and topics that are gone, have no order to get back
        if replicas is not None and replicas != before and set(replicas) == set(before):
            left.append(change.item)
    if left:
        which = some(sorted(left), limits["named"])
        yield CRITICAL, f"it changed the order of replicas of {which}, and that is unchanged"


def _throttles(situation: GateContext, changes: list[Change], limits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not changes:
        return
    throttled = situation.kafka.throttled
    if throttled is None:
        raise CannotTell("no replication-throttle data from Kafka")
    left = [change.item for change in changes if any(f"{change.item} ".startswith(f"{name} ") for name in throttled)]
    if left:
        yield CRITICAL, f"replication is still throttled: {some(left, limits['named'])}"


def _runs(situation: GateContext, name: str) -> bool:
    hosts = [host for host in situation.view.hosts if host.name == name]
    return any(row.facts.pid for row in told(situation.view, "services", Process, hosts))
