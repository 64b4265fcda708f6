"""Do all live brokers report the same state for the partitions of these hosts?

A broker that is cut off from the controllers still answers clients, with stale metadata. Every live broker is asked,
and of what they report the worst counts.

Warned: a broker that shares no partition with these hosts does not answer, or its metadata is stale.

Cannot tell: such a broker shares a partition with these hosts, or the brokers keep reporting different states of one.
Afterwards also: it runs on one of these hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.host import NotApplicable
from agent.status import Verdict, count_of, unknown, warning
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled

if TYPE_CHECKING:
    from smoketests.readers.kafka.model import Doubt

LIMITS: Mapping[str, Any] = {"named": 5}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    facts, leaving = situation.kafka, situation.leaving_ids
    if situation.stays_up:
        raise NotApplicable(situation.stays_up)
    shared = [row for row in situation.partitions if leaving & set(row.replicas)]
    beside = {broker for row in shared for broker in row.replicas} - leaving
    names = {row.name for row in shared}
    verdicts = [
        _doubted(situation, one, beside) for one in facts.doubts if situation.is_back or one.broker not in leaving
    ]
    ours = [one for one in facts.disputes if f"{one.topic}-{one.number}" in names]
    verdicts += [unknown(f"{one.topic[:80]}-{one.number}: {one.words}") for one in ours[: limits["named"]]]
    if len(ours) > limits["named"]:
        verdicts.append(unknown(f"brokers disagree on {len(ours) - limits['named']} more partitions"))
    asked = len([row for row in facts.brokers if not row.fenced])
    evidence = {"doubts": [list(one) for one in facts.doubts[:100]], "disputes": [list(one) for one in ours[:100]]}
    return ruled(verdicts, f"{count_of(asked, 'broker')} queried, all report the same", **evidence)


def _doubted(situation: GateContext, doubt: Doubt, beside: set[int]) -> Verdict:
    said = f"{situation.broker(doubt.broker)}: {doubt.why}"
    if doubt.broker in beside or doubt.broker in situation.leaving_ids:
        return unknown(said)
    return warning(f"{said}; it shares no partition with these hosts")
