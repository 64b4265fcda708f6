"""GO, NO-GO or CANNOT TELL before a maintenance, and verification after it.

`decide(maintenance, wanted, say)` looks once at the hosts, at everything that must carry their load, at ZooKeeper and
at Kafka, and asks every rule of smoketests/gate/rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from smoketests.gate.decision import Decision, RuleResult
from smoketests.gate.maintenance import PURPOSES, Maintenance

if TYPE_CHECKING:
    from smoketests.results import run

__all__ = ["PURPOSES", "Decision", "Maintenance", "RuleResult", "decide"]


def decide(maintenance: Maintenance, wanted: run.RunOptions, say: Callable[[str], None]) -> Decision:
    """One reading, judged and kept in the store. wanted: inventories, ssh access, deadline, store.

    say: is told, line by line, what a person should know beside it. run.CannotAsk for a question that makes no
    sense: a host that is not there, no disk named, a rule that cannot be accepted.
    """
    from smoketests.gate import decision_store, evaluate

    return decision_store.kept(evaluate.look(maintenance, wanted, say), wanted.store or decision_store.STORE)
