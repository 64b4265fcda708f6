"""Take the maintenance lock once the gate decides GO, so that no other maintenance starts meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from smoketests.gate import lock, shared_lock
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, PASSED, Decision, RuleResult

if TYPE_CHECKING:
    from inventory.model import Cluster

NAME, QUESTION = "hold", "Is the maintenance lock held until the maintenance is over?"


def held(decision: Decision, store: str, say: Callable[[str], None], cluster: Cluster | None = None) -> Decision:
    """The decision with one result more; no GO if another user took the lock first. Without GO, as it is.

    cluster: says where else than in the store its lock is kept.
    """
    if decision.answer != GO:
        return decision
    asked = decision.maintenance
    try:
        ours = _renewed(asked, store, cluster) or shared_lock.take(
            store, asked["hosts"], asked["cluster"], lock.owner(), asked["purpose"], asked["minutes"], cluster
        )
        result = RuleResult(PASSED, f"held: {ours.words}", {"id": ours.id, "until": ours.until})
        say(f"afterwards: smoke gate release {ours.id} --store {store}")
    except lock.Held as error:
        result = RuleResult(FAILED, f"another user took the lock first: {error}")
    except lock.CannotLock as error:
        result = RuleResult(CANNOT_TELL, str(error))
    return replace(decision, rules=[*decision.rules, result._replace(name=NAME, question=QUESTION)])


def _renewed(asked: Mapping[str, Any], store: str, cluster: Cluster | None) -> lock.Lock | None:
    """The asker's own lock of this cluster, with a later end; None without one."""
    for one in lock.held(store) if asked["lock"] else ():
        if (one.id, one.cluster) == (asked["lock"], asked["cluster"]):
            return shared_lock.renew(one, asked["minutes"], cluster)
    return None
