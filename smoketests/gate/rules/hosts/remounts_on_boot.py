"""Would every data mount of these hosts be mounted again after a restart?

Most maintenance restarts the machine: a mount that is not in /etc/fstab is gone then, and the broker fills the root
disk.

Warned: /etc/fstab does not match what is mounted on a host that leaves.

Cannot tell: never; a host without a reply may leave all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agent.host import NotApplicable
from agent.status import warning
from inventory.names import some
from smoketests.cluster.view import told
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.maintenance import PURPOSES as ALL

PURPOSES = tuple(purpose for purpose in ALL if purpose != DECOMMISSION)
WHEN = ("before",)
CHECKS = ("mounts",)


class Mount(NamedTuple):
    """What is read of mounts."""

    fstab_problem: str
    options_only_now: tuple[str, ...]


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    if situation.stays_up:
        raise NotApplicable(situation.stays_up)
    rows = told(situation.view, "mounts", Mount, situation.leaving)
    if not rows:
        raise NotApplicable(f"no data mount reported by {some(sorted(situation.names))}")
    lost = [f"{row.host.name} {row.item}: {row.facts.fstab_problem}" for row in rows if row.facts.fstab_problem]
    lost += [
        f"{row.host.name} {row.item}: {','.join(row.facts.options_only_now)} is not in /etc/fstab"
        for row in rows
        if row.facts.options_only_now
    ]
    return ruled([warning(some(lost, 3))] if lost else [], f"{len(rows)} data mounts are in /etc/fstab", lost=lost)
