"""Is no replication throttle left over from an earlier reassignment?

A broker that comes back must fetch what it missed; a leftover throttle makes that take days.

Warned: a broker or topic is throttled though no reassignment runs: kafka-configs.sh --delete-config.

Cannot tell: no settings from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import CannotTell, NotApplicable
from agent.status import warning
from inventory.names import some
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    throttled = situation.kafka.throttled
    if throttled is None:
        raise CannotTell("; ".join(situation.kafka.untold) or "no replication-throttle data from Kafka")
    if any(row.adding or row.removing for row in situation.partitions):
        raise NotApplicable("a reassignment runs, its throttles are intended")
    said = f"replication is throttled though no reassignment runs: {some(list(throttled))}"
    return ruled([warning(said)] if throttled else [], "no throttle is left over", throttled=list(throttled)[:200])
