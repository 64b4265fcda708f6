"""Is no other maintenance of this cluster, or of the machines of its ZooKeeper, open?

`smoke gate --hold` and the playbooks take a lock for the whole cluster, with owner and expiry.

Failed: another user or run holds it. Name your own with --lock ID; afterwards, a lock of these very hosts is yours.

Warned: a lock expired and was never released: is that maintenance over? The lock that --lock names is no longer held.

Cannot tell: the locks in the store cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.host import CannotTell
from agent.status import Verdict, critical, warning
from inventory.names import some
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.lock import Lock

FINAL = "release it with `smoke gate release ID` once its owner agrees"


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    if situation.locks is None:
        raise CannotTell(situation.unread.get("locks", "the locks cannot be read"))
    clusters = {view.cluster.name for view in (situation.view, *situation.served)} | situation.serving
    theirs = [lock for lock in situation.locks if lock.cluster in clusters and not _is_ours(situation, lock)]
    open_ones = [lock.words for lock in theirs if not lock.expired(situation.now)]
    forgotten = [lock.words for lock in theirs if lock.expired(situation.now)]
    verdicts = [critical(f"another maintenance is open: {some(open_ones, 3)}")] if open_ones else []
    if forgotten:
        verdicts.append(warning(f"never released, is it over? {some(forgotten, 3)}"))
    if not situation.after:
        verdicts += _own(situation, situation.locks)
    return ruled(verdicts, f"no other maintenance is open, by {situation.store}", locks=[*open_ones, *forgotten])


def _is_ours(situation: GateContext, lock: Lock) -> bool:
    return lock.id == situation.maintenance.lock or (situation.after and set(lock.hosts) == situation.names)


def _own(situation: GateContext, locks: Sequence[Lock]) -> list[Verdict]:
    """What is wrong with the asker's own lock, if one is named."""
    named = situation.maintenance.lock
    ours = next((lock for lock in locks if lock.id == named), None)
    if not named or (ours and not ours.expired(situation.now)):
        return []
    what = "has expired and can be taken over" if ours else "is not held any more"
    return [warning(f"your lock {named} {what}; take one with --hold")]
