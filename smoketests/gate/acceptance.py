"""Accepted findings: one finding of one rule, for one decision or until a day. A new finding is not accepted with it.

STORE/gate/accepted/cluster=NAME/RULE-ID.json for each that holds for longer than one answer.
"""

from __future__ import annotations

import json
import os
import re
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent import atomic_file
from agent.formats.text import printable
from agent.status import moment
from inventory.names import some
from smoketests.gate.decision import ACCEPTED, BY_SEVERITY, CANNOT_TELL, FAILED, Decision, Finding, RuleResult

ID = re.compile(r"[0-9a-f]{6}")
LARGEST = 64 << 10
LONGEST = 400
# of the year 9999; what is beyond has no date
LAST_SECOND = 253_402_300_800.0


@dataclass(frozen=True)
class Acceptance:
    """A finding that somebody accepted until a moment. until, at: seconds since the epoch."""

    rule: str
    id: str
    said: str
    because: str
    who: str
    at: float
    until: float

    @property
    def words(self) -> str:
        """disks#1a2b3c until 2026-11-30T12:00Z by ann@bastion (…): kafka-a03: smart: … ("ticket 4711")"""
        said, because, who = map(printable, (self.said, self.because, self.who))
        return f'{self.rule}#{self.id} until {moment(self.until)} by {who}: {said} ("{because}")'


def applied(given: Mapping[str, str], accepted: Iterable[Acceptance], result: RuleResult) -> RuleResult:
    """The result without what is accepted of it: accepted if nothing is left, else by the rest.

    given: what this question accepts, RULE#ID -> why. accepted: what was accepted until a later day.
    """
    if result.status not in (FAILED, CANNOT_TELL):
        return result
    standing = {(one.rule, one.id): one for one in accepted}
    taken: dict[str, dict[str, str]] = {}
    left: list[Finding] = []
    for finding in result.findings:
        number = finding.id(result.name)
        tokens = [f"{result.name}#{number}"]
        # of the rule as a whole: nothing could be read, and no single thing is known that would be accepted with it
        tokens += [result.name] if finding.status == CANNOT_TELL and not (finding.host or finding.item) else []
        by = next((token for token in tokens if given.get(token)), "")
        held = standing.get((result.name, number))
        if by or held:
            why = given[by] if by else held.because if held else ""
            taken[number] = {"said": finding.said, "because": why, "by": by or "earlier"}
        else:
            left.append(finding)
    # several at once, all of them or all that nothing else accepts: as the answer named them
    by = next((token for token in (result.token, result._replace(findings=tuple(left)).token) if given.get(token)), "")
    if by and left:
        taken |= {one.id(result.name): {"said": one.said, "because": given[by], "by": by} for one in left}
        left = []
    return _without(result, taken, left) if taken else result


def _without(result: RuleResult, taken: Mapping[str, Mapping[str, str]], left: Sequence[Finding]) -> RuleResult:
    evidence = {**result.evidence, "accepted": dict(taken)}
    because = some(list(dict.fromkeys(one["because"] for one in taken.values())), 3)
    if not left:
        reason = f"{result.status}: {result.reason}"
        return result._replace(status=ACCEPTED, reason=reason, because=because, evidence=evidence)
    status = max((finding.status for finding in left), key=BY_SEVERITY.index)
    said, done = [finding.said for finding in left], [one["said"] for one in taken.values()]
    reason = f"{some(said, 3)}; accepted: {some(done, 3)}"
    return result._replace(status=status, reason=reason, because=because, evidence=evidence, findings=tuple(left))


def useless(accept: Mapping[str, str], before: Iterable[RuleResult]) -> list[str]:
    """Of what is accepted, what no rule found, in words. before: the rules' answers as nobody accepted anything."""
    known: set[str] = set()
    for result in before:
        known |= {result.token, *(f"{result.name}#{finding.id(result.name)}" for finding in result.findings)}
        known |= {result.name} if result.status == CANNOT_TELL else set()
    return [f"--accept {token}: no such finding now" for token in accept if token not in known]


def keep_all(decision: Decision, store: str) -> list[str]:
    """Keep what this decision accepted by its finding, if it is to hold for longer; what went wrong, in words."""
    asked, problems = decision.maintenance, []
    at = time.time()
    for rule in decision.rules if asked.get("until") else ():
        named = {token for token in asked["accept"] if token.startswith(f"{rule.name}#")}
        for number, one in rule.evidence.get("accepted", {}).items():
            if one["by"] in named:
                said, why = one["said"][:LONGEST], one["because"][:LONGEST]
                kept = Acceptance(rule.name, number, said, why, decision.who, at, float(asked["until"]))
                try:
                    keep(store, str(asked["cluster"]), kept)
                except OSError as error:
                    problems.append(f"{rule.name}#{number} is accepted for this decision only: {error}")
    return problems


def keep(store: str, cluster: str, one: Acceptance) -> None:
    """OSError."""
    folder = _folder(store, cluster)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{one.rule}-{one.id}.json")
    atomic_file.replace(path, json.dumps(asdict(one)).encode(), 0o644)


def standing(store: str, cluster: str, now: float) -> list[Acceptance]:
    """Those of this cluster that have not ended; one that cannot be read accepts nothing."""
    return sorted(
        (one for one in _all(_folder(store, cluster)) if one.at <= now + 60 and now < one.until),
        key=lambda one: (one.rule, one.id),
    )


def _all(folder: str) -> Iterator[Acceptance]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name.endswith(".json"):
            one = _read(os.path.join(folder, name))
            if one and name == f"{one.rule}-{one.id}.json":
                yield one


def _read(path: str) -> Acceptance | None:
    try:
        with open(path, encoding="utf-8") as file:
            said: Any = json.loads(file.read(LARGEST))
        words = {name: said[name] for name in ("rule", "id", "said", "because", "who")}
        if not all(isinstance(word, str) for word in words.values()) or not ID.fullmatch(words["id"]):
            return None
        at, until = float(said["at"]), float(said["until"])
    except (OSError, ValueError, RecursionError, KeyError, TypeError, OverflowError):
        return None
    if not (0 <= at < until < LAST_SECOND and words["because"].strip()):
        return None
    return Acceptance(**{name: word[:LONGEST] for name, word in words.items()}, at=at, until=until)


def _folder(store: str, cluster: str) -> str:
    return os.path.join(store, "gate", "accepted", "cluster=" + urllib.parse.quote(cluster, safe=""))
