"""Are the disks of all other machines well?

A disk that dies while a broker is away takes the next copy of its partitions.

Failed: a finding of these checks is critical on a machine that something of these hosts depends on: without it too, a
partition here would have too few replicas in sync, or the quorum no majority, or what moves would go there. Afterwards,
also on the hosts themselves.

Warned: one is a warning, or critical on a machine that shares nothing of that.

Cannot tell: one is unknown on a machine that counts, or it did not answer. What a site cannot measure belongs in its
inventory (skip).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smoketests.gate import host_findings
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult
from smoketests.gate.maintenance import PURPOSES as ALL

LIMITS: Mapping[str, Any] = {}
PURPOSES = ALL
WHEN = ("before", "after")
CHECKS = ("mounts", "smart", "raid", "disk_errors", "disk_latency", "disk_usage")
FINAL = ""


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    return host_findings.without_trouble(situation, CHECKS, "disks")
