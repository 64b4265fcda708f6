"""A step that runs the gate. Only GO continues the run."""

from __future__ import annotations

import calendar
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from agent.formats.text import printable
from playbooks.model import Step
from playbooks.plan.template import Action
from playbooks.run import leaving
from playbooks.run.prompt import Stopped
from playbooks.run.session import Failed, NotKnown, Session
from smoketests.gate import Maintenance, decision_store, evaluate
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, NO_GO, PASSED, SKIPPED, Decision
from smoketests.gate.waiting import Patience, until_steady

if TYPE_CHECKING:
    from smoketests.results.run import RunOptions

TIMESTAMP = "%Y-%m-%dT%H:%M:%SZ"
# beyond it a moment is told, not an age
OLD_S = 3600.0


def do(session: Session, action: Action) -> None:
    """One answer; a wait looks again until it stands or the time is over. Failed at NO-GO, else NotKnown."""
    step = action.step
    decision = _steady(session, action) if step.kind == "wait" else _decide(session, action, step)
    _show(session, decision)
    if decision.answer != GO:
        _refuse(session, action, decision, f"the gate's answer is {decision.answer}")
    session.note("passed", action, **_kept(decision), **({"after": True} if step.after else {}))
    if not step.after:
        session.hold(step.purpose, step.minutes)


def still_go(session: Session, action: Action) -> None:
    """In front of a step that takes something away: ask again unless the last GO is fresh. Failed, NotKnown.

    A playbook that asks the gate nothing is none of these.
    """
    step = leaving.gate_of(session.playbook, int(action.key.partition(".")[0]))
    age = _age_s(session.progress.go_at)
    if step is None or 0 <= age <= session.max_go_age_s:
        return
    since = f"GO is {age:.0f} s old" if 0 <= age < OLD_S else "the last GO has expired"
    session.show(f"   {since}: running the gate again")
    asked = replace(step, after=False)
    decision = _decide(session, action, asked)
    _show(session, decision)
    if decision.answer != GO:
        _refuse(session, action, decision, f"refused: the gate's answer is now {decision.answer}")
    session.note("gate repeated", action, **_kept(decision))
    session.hold(asked.purpose, asked.minutes)


def _age_s(at: str) -> float:
    """Seconds since this moment; endless for what is none."""
    try:
        return time.time() - calendar.timegm(time.strptime(at, TIMESTAMP))
    except ValueError:
        return math.inf


def _show(session: Session, decision: Decision) -> None:
    for rule in decision.rules:
        if rule.status not in (PASSED, SKIPPED):
            session.show(f"   {rule.status}: {rule.token or rule.name}: {printable(rule.reason)}")
    session.show(f"   gate: {decision.answer}")


def _kept(decision: Decision) -> dict[str, str]:
    return {"answer": decision.answer, "run_id": decision.run_id, "looked_at": decision.at}


def _refuse(session: Session, action: Action, decision: Decision, words: str) -> NoReturn:
    session.note("failed", action, why=printable(decision.missing), **_kept(decision))
    raise (Failed if decision.answer == NO_GO else NotKnown)(f"{words}: {decision.missing}")


@dataclass
class News:
    """Of the looks of a wait, those that other rules keep from GO than the one before are kept, beside the last.

    A wait of three days at one a minute would else leave 200 MB.
    """

    store: str
    told: tuple[tuple[str, str], ...] = (("", ""),)

    def kept(self, decision: Decision, store: str) -> Decision:
        worst = decision.with_status(FAILED, CANNOT_TELL)
        before, self.told = self.told, tuple((rule.name, rule.status) for rule in worst)
        return decision if self.told == before else decision_store.kept(decision, store)


def _decide(
    session: Session, action: Action, step: Step, keep: Callable[[Decision, str], Decision] = decision_store.kept
) -> Decision:
    from smoketests.results.run import CannotAsk

    try:
        return keep(evaluate.look(_maintenance(session, step), _wanted(session), session.say), session.target.store)
    except CannotAsk as error:
        session.note("failed", action, why=printable(str(error)))
        raise NotKnown(f"cannot run the gate: {error}") from error


def _steady(session: Session, action: Action) -> Decision:
    step = action.step
    patience = Patience(step.deadline / 60, step.every, step.readings)
    news = News(session.target.store)

    def look() -> Decision:
        session.keep()
        return _decide(session, action, step, news.kept)

    decision = decision_store.kept(until_steady(look, patience, lambda words: session.show("   " + words)), news.store)
    if "Ctrl-C" in decision.unsteady:
        raise Stopped("you stopped it with Ctrl-C")
    return decision


def _wanted(session: Session) -> RunOptions:
    wanted = session.target.wanted
    if wanted is None:
        raise NotKnown("the gate requires the cluster's inventory: add -i FILE")
    return replace(wanted, limit="", store=session.target.store, checks=())


def _maintenance(session: Session, step: Step) -> Maintenance:
    lock = session.progress.lock
    disks = (fact.words("serial") for fact in session.plan.facts.values() if fact.kind.endswith("-disk"))
    disk = next(filter(None, disks), "") if step.purpose == "replace-disk" else ""
    return Maintenance(
        (session.plan.host,), step.purpose, session.plan.cluster, disk, step.minutes, step.after, session.accept,
        str(lock["id"]) if lock else "",
    )  # fmt: skip
