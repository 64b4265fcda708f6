"""The five statuses, and what a check's outcome is made of."""

from __future__ import annotations

import time
from typing import Any, Iterable, Mapping, Sequence

from agent.named_tuples import NamedTuple

OK = "ok"
SKIPPED = "skipped"
WARNING = "warning"
UNKNOWN = "unknown"
CRITICAL = "critical"

# Mildest first: the overall status of several is the last of them in this order.
BY_SEVERITY = (SKIPPED, OK, WARNING, UNKNOWN, CRITICAL)

# What nobody needs to do anything about.
FINE = (SKIPPED, OK)

# Nagios plug-in exit codes.
EXIT_CODES = {SKIPPED: 0, OK: 0, WARNING: 1, CRITICAL: 2, UNKNOWN: 3}


class Verdict(NamedTuple):
    """One status, one sentence a person can act on, and the playbook that mends it."""

    status: str
    reason: str
    playbook: str = ""


class Finding(NamedTuple):
    """What one check found of one item in one run. Times are seconds since the epoch, UTC."""

    check: str
    item: str
    verdict: Verdict
    facts: Mapping[str, Any]
    duration_ms: int
    first_seen: float

    @property
    def status(self) -> str:
        return self.verdict.status


def ok(reason: str) -> Verdict:
    return Verdict(OK, reason)


def skipped(reason: str) -> Verdict:
    return Verdict(SKIPPED, reason)


def warning(reason: str, playbook: str = "") -> Verdict:
    return Verdict(WARNING, reason, playbook)


def unknown(reason: str, playbook: str = "") -> Verdict:
    return Verdict(UNKNOWN, reason, playbook)


def critical(reason: str, playbook: str = "") -> Verdict:
    return Verdict(CRITICAL, reason, playbook)


def worst(statuses: Iterable[str]) -> str:
    """The most severe of them; `ok` when there are none."""
    return max(statuses, key=BY_SEVERITY.index, default=OK)


def combine(verdicts: Sequence[Verdict], healthy: str) -> Verdict:
    """One verdict of several rules: the worst status, all reasons, worst first.

    `healthy` is the reason given when no rule had anything to say. The playbook is that of the worst rule.
    """
    if not verdicts:
        return ok(healthy)
    ranked = sorted(verdicts, key=lambda verdict: BY_SEVERITY.index(verdict.status), reverse=True)
    playbook = next((verdict.playbook for verdict in ranked if verdict.playbook), "")
    return Verdict(ranked[0].status, "; ".join(verdict.reason for verdict in ranked), playbook)


def count_of(number: int, noun: str) -> str:
    """A number and its noun, whose plural ends in s.

    >>> count_of(1, "disk"), count_of(0, "SMART warning")
    ('1 disk', '0 SMART warnings')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def moment(seconds: float) -> str:
    """A time of day for a sentence: 2026-11-18T03:12Z"""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(seconds))
