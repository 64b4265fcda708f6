"""Take the maintenance lock once the gate says GO, so that nobody else begins meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from smoketests.gate import lock
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, PASSED, Decision, RuleResult

NAME, QUESTION = "hold", "Is the cluster ours until the maintenance is over?"


def held(decision: Decision, store: str, say: Callable[[str], None]) -> Decision:
    """The decision with one result more; no GO if somebody was quicker. Without GO, as it is."""
    if decision.answer != GO:
        return decision
    asked = decision.maintenance
    try:
        ours = _renewed(asked, store) or lock.take(
            store, asked["hosts"], asked["cluster"], lock.owner(), asked["purpose"], asked["minutes"]
        )
        result = RuleResult(PASSED, f"held: {ours.words}", {"id": ours.id, "until": ours.until})
        say(f"when it is over: smoke gate release {ours.id} --store {store}")
    except lock.Held as error:
        result = RuleResult(FAILED, f"somebody was quicker: {error}")
    except lock.CannotLock as error:
        result = RuleResult(CANNOT_TELL, str(error))
    return replace(decision, rules=[*decision.rules, result._replace(name=NAME, question=QUESTION)])


def _renewed(asked: Mapping[str, Any], store: str) -> lock.Lock | None:
    """The asker's own lock of this cluster, with a later end; None without one."""
    for one in lock.held(store) if asked["lock"] else ():
        if (one.id, one.cluster) == (asked["lock"], asked["cluster"]):
            return lock.renew(one, asked["minutes"])
    return None
