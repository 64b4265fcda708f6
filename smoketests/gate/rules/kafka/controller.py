"""Is there an active controller, and is it not one of these hosts?

A rolling restart takes the active controller last: every time it goes, all brokers wait for the next one.

Failed: Kafka has no active controller.

Warned: the active controller is on a host that leaves. If other brokers need it as well, restart this one last.

Cannot tell: no data from Kafka. With KRaft the controllers are a quorum, which kraft_quorum checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import CannotTell, NotApplicable
from agent.status import critical, warning
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    controller = situation.kafka.controller
    if situation.kafka.quorum is not None:
        raise NotApplicable("the controllers are a quorum of their own (see kraft_quorum)")
    untold = [why for why in situation.kafka.untold if why.startswith("quorum")]
    if controller is None and untold:
        raise CannotTell("; ".join(untold))
    if controller is None:
        return ruled([critical("Kafka has no active controller: no leaders are elected")], "", controller=None)
    who = situation.broker(controller)
    if situation.stays_up and not situation.after:
        raise NotApplicable(situation.stays_up)
    leaves = not situation.after and controller in situation.leaving_ids
    said = f"{who} is the active controller: restart it last"
    return ruled([warning(said)] if leaves else [], f"{who} is the active controller", controller=controller)
