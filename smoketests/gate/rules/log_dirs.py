"""Do all brokers that carry the load answer, and have none of them a failed log dir?

A broker that hangs keeps its place in the metadata and in the ISR until its session ends: that it tells its own log
dirs is the sign that it lives.

Failed: a log dir has an error, on a broker that stays; afterwards, on any.

Cannot tell: a broker did not tell its log dirs that lives by any of the witnesses, which are asked one after the other
while it may be dying: Kafka's metadata, ZooKeeper, the ISR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.status import critical, unknown
from smoketests.cluster.view import some
from smoketests.gate import wording
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import PURPOSES as ALL
from smoketests.gate.situation import Situation

LIMITS: Mapping[str, Any] = {"named": 3}
PURPOSES = ALL
WHEN = ("before", "after")
CHECKS = ()
FINAL = ""


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    said = situation.kafka
    alive = situation.living_ids | {broker for row in said.partitions or () for broker in row.isr}
    asked = alive if situation.after else alive - situation.leaving_ids
    told = [row for row in said.log_dirs or () if row.broker in asked]
    failed = [f"{row.path} of {situation.broker(row.broker)} ({row.error})" for row in told if row.error]
    silent = asked - {row.broker for row in told}
    verdicts = []
    if failed:
        verdicts.append(critical(f"given up by its broker: {some(failed, limits['named'])}"))
    if silent:
        whys = [why for why in said.untold if why.startswith("log dirs")]
        whys += ["Kafka's metadata does not name it any more"] if silent - {row.id for row in said.brokers} else []
        why = "; ".join(whys) or "Kafka did not say why"
        verdicts.append(unknown(f"{wording.brokers(situation, silent)} did not tell its log dirs: {why}"))
    healthy = f"{len(told)} log dirs of {len(asked)} brokers have no error"
    return ruled(verdicts, healthy, failed=failed[:100], silent=sorted(silent))
