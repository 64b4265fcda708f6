"""Are the disks of all other machines well?

A disk that dies while a broker is away takes the next copy of its partitions.

Failed: a finding of these checks is critical on a machine that must carry the load; afterwards, also on the hosts
themselves.

Warned: one is a warning.

Cannot tell: one is unknown, or a machine did not answer. What a site cannot measure belongs in its inventory (skip).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smoketests.gate import machines
from smoketests.gate.decision import RuleResult
from smoketests.gate.maintenance import PURPOSES as ALL
from smoketests.gate.situation import Situation

LIMITS: Mapping[str, Any] = {}
PURPOSES = ALL
WHEN = ("before", "after")
CHECKS = ("mounts", "smart", "raid", "disk_errors", "disk_latency", "disk_usage")
FINAL = ""


def judge(situation: Situation, limits: Mapping[str, Any]) -> RuleResult:
    return machines.without_trouble(situation, CHECKS, "disks")
