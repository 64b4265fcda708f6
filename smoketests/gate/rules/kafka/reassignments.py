"""Is no partition reassignment running?

It moves replicas while a broker that it needs goes down, and adds its load.

Failed: a partition of these hosts is being reassigned, to them or away from them. Failed, for replace-disk: replicas
are being moved between the disks of the broker (kafka-reassign-partitions.sh).

Warned: only partitions without a replica on these hosts are; for other purposes, replicas are being moved between the
disks of a broker here, which goes on after a restart.

Cannot tell: no partition or reassignment data from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.host import CannotTell
from agent.status import count_of, critical, warning
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import Finding, RuleResult, ruled
from smoketests.gate.maintenance import REPLACE_DISK

if TYPE_CHECKING:
    from smoketests.readers.kafka.model import LogDir

LIMITS: Mapping[str, Any] = {"named": 5}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    partitions = situation.partitions
    untold = [why for why in situation.kafka.untold if why.startswith("reassignments")]
    if untold:
        raise CannotTell("; ".join(untold))
    if not situation.kafka.tells_moves:
        raise CannotTell(
            "Kafka before 2.4 does not report its reassignments; use kafka-reassign-partitions.sh --verify"
        )
    moving = [row for row in partitions if row.adding or row.removing]
    here, others = formatting.apart(situation, moving) if moving else ([], [])
    verdicts = []
    if here:
        verdicts.append(critical(f"being reassigned: {formatting.listed(here, limits)}; wait for it or cancel it"))
    if others:
        verdicts.append(
            warning(f"being reassigned: {formatting.listed(others, limits)}, {formatting.elsewhere(situation)}")
        )
    findings = formatting.by_topic(situation, here, "being reassigned")
    for row in _coming(situation):
        said = f"{count_of(row.future, 'replica')} being moved to {row.path} of {situation.broker(row.broker)}"
        said += " from another of its disks; wait for that"
        replaced = situation.purpose == REPLACE_DISK
        verdicts.append(critical(said) if replaced else warning(f"{said}, or it goes on after the restart"))
        findings += [Finding(situation.broker(row.broker), row.path, said)] if replaced else []
    return ruled(verdicts, "no reassignment runs", findings, moving=formatting.rows(moving))


def _coming(situation: GateContext) -> list[LogDir]:
    """The log dirs of these hosts to which replicas are copied from another disk."""
    ours = situation.leaving_ids
    return [row for row in situation.kafka.log_dirs or () if row.future and row.broker in ours]
