"""Has every partition on these hosts another copy elsewhere?

Strimzi's rule silently allows it: nothing protects a single copy anyway. Its readers and writers stop nevertheless, and
if the disk does not come back, its data are gone.

Failed: a partition with one replica, on a broker that leaves. Accept it where the topic is not needed meanwhile.

Warned: the broker is decommissioned: its replicas are moved before it is stopped.

Cannot tell: no partition data from Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import count_of, critical, warning
from smoketests.gate import formatting
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION

LIMITS: Mapping[str, Any] = {"named": 5}
WHEN = ("before",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    rows = formatting.held(situation)
    single = [row for row in rows if len(row.replicas) == 1]
    said = f"{formatting.listed(single, limits)} without another replica"
    healthy = f"{count_of(len(rows), 'partition')} there, all with another replica"
    if single and situation.purpose == DECOMMISSION:
        return ruled([warning(f"{said}: {formatting.DRAINED}")], healthy, single=formatting.rows(single))
    findings = formatting.by_topic(situation, single, "one replica")
    verdicts = [critical(f"{said}: neither read nor written meanwhile")] if single else []
    return ruled(verdicts, healthy, findings, single=formatting.rows(single))
