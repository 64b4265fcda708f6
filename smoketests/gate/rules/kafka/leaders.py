"""Where will the leaders move, broker by broker, if these hosts go?

A simulation: each partition that a leaving broker leads goes to its first other replica in sync, as Kafka elects.

Warned: a broker would lead twice as many partitions as the mean of all that stay.

Cannot tell: no partition data from Kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agent.status import count_of, warning
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import Partition

LIMITS: Mapping[str, Any] = {"percent_of_mean_warning": 200, "min_partitions_per_broker": 10}
WHEN = ("before",)
NAMED = 6


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    formatting.held(situation)  # raises where no broker leaves
    partitions, leaving = situation.partitions, situation.leaving_ids
    now = Counter(row.leader for row in partitions if row.leader >= 0)
    then, homeless = landed(partitions, leaving)
    staying = situation.living_ids - leaving
    table = {broker: (now[broker], then[broker]) for broker in sorted({*staying, *then})}
    gains = {broker: after - before for broker, (before, after) in table.items()}
    most = sorted(table, key=lambda broker: -gains[broker])[:NAMED]
    moved = sum(now[broker] for broker in leaving)
    said = f"{count_of(moved, 'leader')} to move: " + ", ".join(
        f"{situation.broker(b)} {table[b][0]} to {table[b][1]}" for b in most
    )
    evidence = {
        "moved": moved,
        "homeless": homeless,
        "leaders": {str(broker): {"now": before, "then": after} for broker, (before, after) in table.items()},
    }
    if not moved:
        return ruled([], "they lead no partition", **evidence)
    crowded = _crowded(then, len(table), limits)
    verdicts = [
        warning(f"{situation.broker(broker)} would lead far more than the others; {said}") for broker in crowded
    ]
    return ruled(verdicts[:1], said, **evidence)


def landed(partitions: Iterable[Partition], leaving: Collection[int]) -> tuple[Counter[int], int]:
    """How many partitions each broker leads then, and how many nobody does."""
    then: Counter[int] = Counter()
    homeless = 0
    for row in partitions:
        left = [broker for broker in row.replicas if broker in row.isr and broker not in leaving]
        if row.leader >= 0 and row.leader not in leaving:
            then[row.leader] += 1
        elif row.leader >= 0 and left:
            then[left[0]] += 1
        else:
            homeless += 1
    return then, homeless


def _crowded(then: Counter[int], brokers: int, limits: Mapping[str, Any]) -> list[int]:
    mean = sum(then.values()) / max(brokers, 1)
    if mean < limits["min_partitions_per_broker"] or brokers < 2:
        return []
    return [broker for broker, count in then.most_common() if 100 * count > limits["percent_of_mean_warning"] * mean]
