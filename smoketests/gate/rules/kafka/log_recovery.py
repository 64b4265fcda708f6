"""Has every broker of these hosts finished its start, so that a restart repeats no log recovery?

A broker that was not stopped cleanly recovers its logs before it registers, for minutes or hours; a restart meanwhile
starts that again from the beginning (Strimzi forces no restart then).

Warned: the machine runs the broker, and it is not registered, or fenced: it starts, recovers its logs, or hangs.

Cannot tell: never; missing data about the broker is reported by other rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agent.host import NotApplicable
from agent.status import warning
from inventory.names import some
from smoketests.cluster.view import told
from smoketests.gate import formatting
from smoketests.gate.context import BROKER_ROLE, GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.maintenance import PURPOSES as ALL

PURPOSES = tuple(purpose for purpose in ALL if purpose != DECOMMISSION)
WHEN = ("before",)
CHECKS = ("services", "server_ids")


class Process(NamedTuple):
    """What is read of services."""

    pid: int
    up_s: float


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    ours = situation.leaving_ids
    if not ours:
        raise NotApplicable(f"no broker runs on {some(sorted(situation.names))}")
    running = {number for host in situation.leaving for number in situation.identities.nodes(host, BROKER_ROLE)}
    waiting = sorted(running - situation.living_ids)
    since = _since(situation)
    said = [f"{situation.broker(number)} runs and is not registered{since}" for number in waiting]
    verdicts = [warning(f"{one}: log recovery may be running; a restart starts it again") for one in said]
    return ruled(verdicts, f"{formatting.brokers(situation, ours - {*waiting})} is registered", waiting=waiting)


def _since(situation: GateContext) -> str:
    """How long the youngest server there runs; empty where nobody tells."""
    up = [row.facts.up_s for row in told(situation.view, "services", Process, situation.leaving) if row.facts.pid]
    return f", {min(up) / 60:.0f} min after its start" if up else ""
