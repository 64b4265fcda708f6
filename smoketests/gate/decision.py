"""What the gate answers: one result for each rule, and GO, NO-GO or CANNOT TELL of them all."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent.status import CRITICAL, OK, SKIPPED, UNKNOWN, WARNING, Verdict, combine

NOT_ASKED, PASSED, ACCEPTED, WARNED = "not asked", "passed", "accepted", "warned"
CANNOT_TELL, FAILED = "cannot tell", "failed"
# mildest first
BY_SEVERITY = (NOT_ASKED, PASSED, ACCEPTED, WARNED, CANNOT_TELL, FAILED)
OF_VERDICT = {OK: PASSED, SKIPPED: NOT_ASKED, WARNING: WARNED, UNKNOWN: CANNOT_TELL, CRITICAL: FAILED}

GO, NO_GO, UNTOLD = "GO", "NO-GO", "CANNOT TELL"
EXIT_CODES = {GO: 0, NO_GO: 2, UNTOLD: 3}


class RuleResult(NamedTuple):
    """One rule's answer. name, question: put in by the registry. because: why a person accepts it.

    evidence: JSON values, what the rule saw.
    """

    status: str
    reason: str
    evidence: Mapping[str, Any] = types.MappingProxyType({})
    name: str = ""
    question: str = ""
    because: str = ""


def ruled(verdicts: Sequence[Verdict], healthy: str, **evidence: Any) -> RuleResult:
    """The worst of these verdicts: critical is failed, unknown cannot tell, warning warned; none of them is passed."""
    verdict = combine(verdicts, healthy)
    return RuleResult(OF_VERDICT[verdict.status], verdict.reason, evidence)


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
        return GO if not self.unsteady and statuses - {NOT_ASKED} and CANNOT_TELL not in statuses else UNTOLD

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.answer]

    def with_status(self, *statuses: str) -> list[RuleResult]:
        """The rules that came out so."""
        return [rule for rule in self.rules if rule.status in statuses]

    @property
    def missing(self) -> str:
        """What keeps it from GO, in a sentence; empty at GO."""
        worst = self.with_status(FAILED) + self.with_status(CANNOT_TELL)
        said = [f"{rule.name} {rule.status}: {rule.reason}" for rule in worst]
        return "; ".join(filter(None, [self.unsteady, *said]))
