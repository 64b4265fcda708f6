"""The gate's decision: one result for each rule, and GO, NO-GO or CANNOT TELL overall."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent import status
from agent.status import CRITICAL, OK, UNKNOWN, WARNING, Verdict, combine

PASSED, ACCEPTED, WARNED, SKIPPED = "passed", "accepted", "warned", status.SKIPPED
CANNOT_TELL, FAILED = "cannot tell", "failed"
# mildest first
BY_SEVERITY = (SKIPPED, PASSED, ACCEPTED, WARNED, CANNOT_TELL, FAILED)
OF_VERDICT = {OK: PASSED, SKIPPED: SKIPPED, WARNING: WARNED, UNKNOWN: CANNOT_TELL, CRITICAL: FAILED}

GO, NO_GO, UNTOLD = "GO", "NO-GO", "CANNOT TELL"
EXIT_CODES = {GO: 0, NO_GO: 2, UNTOLD: 3}


class Finding(NamedTuple):
    """One thing that a rule failed for, or could not tell: what a person may accept, and nothing else with it.

    host, item: what it is about; both empty where it is about the question as a whole. said: for a person. key: what
    makes it another finding when it changes, of the same host and item; `said` where it is about the whole.
    """

    host: str
    item: str
    said: str
    status: str = FAILED
    key: str = ""

    def id(self, rule: str) -> str:
        """Six hex digits; the same as long as it is the same finding."""
        return digest(rule, self.status, self.host, self.item, self.key or ("" if self.item else self.said))


class RuleResult(NamedTuple):
    """One rule's answer. name, question: put in by the registry. because: why a person accepts it.

    evidence: JSON values, what the rule saw. findings: what it failed for or could not tell, each by itself.
    """

    status: str
    reason: str
    evidence: Mapping[str, Any] = types.MappingProxyType({})
    name: str = ""
    question: str = ""
    because: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def token(self) -> str:
        """disks#1a2b3c: what --accept takes to accept exactly these findings; empty where there is none."""
        ids = sorted({one.id(self.name) for one in self.findings})
        if self.status not in (FAILED, CANNOT_TELL) or not ids:
            return ""
        return f"{self.name}#{ids[0] if len(ids) == 1 else digest(self.name, *ids)}"


def digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:6]


def ruled(
    verdicts: Sequence[Verdict], healthy: str, findings: Sequence[Finding] = (), /, **evidence: Any
) -> RuleResult:
    """The worst of these verdicts: critical is failed, unknown cannot tell, warning warned; none of them is passed.

    findings: what the verdicts are about, one by one; a verdict by itself where none are given.
    """
    verdict = combine(verdicts, healthy)
    found = findings or [
        Finding("", "", one.reason, OF_VERDICT[one.status]) for one in verdicts if one.status in (CRITICAL, UNKNOWN)
    ]
    return RuleResult(OF_VERDICT[verdict.status], verdict.reason, evidence, findings=tuple(found))


@dataclass(frozen=True)
class Decision:
    """All rules of one question. at: ISO 8601, UTC. state: what the gate behind the maintenance compares with.

    readings: (at, answer) of each look, when it was looked until the answer stood still. unsteady: why that was ended
    before; then it is no GO.
    """

    maintenance: Mapping[str, Any]
    at: str
    seconds: float
    rules: Sequence[RuleResult]
    run_id: str = ""
    who: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    readings: Sequence[tuple[str, str]] = ()
    unsteady: str = ""

    @property
    def answer(self) -> str:
        """GO, NO-GO or CANNOT TELL; what is not known is never GO."""
        statuses = {rule.status for rule in self.rules}
        if FAILED in statuses:
            return NO_GO
        return GO if not self.unsteady and statuses - {SKIPPED} and CANNOT_TELL not in statuses else UNTOLD

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.answer]

    def with_status(self, *statuses: str) -> list[RuleResult]:
        """The rules that came out so."""
        return [rule for rule in self.rules if rule.status in statuses]

    @property
    def summary(self) -> str:
        """The answer and what decides it, in one line."""
        asked = self.maintenance
        who = ", ".join(map(str, asked["hosts"]))
        what = f"{'after ' if asked['after'] else ''}{asked['purpose']} of {who}"
        told = [f"{len(self.with_status(status))} {status}" for status in (PASSED, WARNED, ACCEPTED)]
        worst = self.with_status(FAILED) + self.with_status(CANNOT_TELL)
        whys = [self.unsteady] + [f"{rule.name} {rule.status}: {rule.reason}" for rule in worst[:1]]
        whys += [f"{len(worst) - 1} more rules"] * (len(worst) > 1)
        why = "; ".join(filter(None, whys)) or ", ".join(one for one in told if not one.startswith("0 "))
        return " ".join(f"{self.answer} for {what}: {why or 'no rule ran'}".split())

    @property
    def missing(self) -> str:
        """What keeps it from GO, in a sentence; empty at GO."""
        worst = self.with_status(FAILED) + self.with_status(CANNOT_TELL)
        said = [f"{rule.name} {rule.status}: {rule.reason}" for rule in worst]
        return "; ".join(filter(None, [self.unsteady, *said]))
