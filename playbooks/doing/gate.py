"""A step that asks the gate. Nothing but GO leads on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent.formats.text import printable
from playbooks.filling import Action
from playbooks.person import Stopped
from playbooks.session import Failed, NotKnown, Session
from smoketests.gate import Maintenance, decide
from smoketests.gate.decision import GO, NO_GO, Decision
from smoketests.gate.waiting import Patience, until_steady

if TYPE_CHECKING:
    from smoketests.asking import Wanted

# one GO alone may be luck
STEADY = 3


def do(session: Session, action: Action) -> None:
    """One answer; a wait looks again until it stands or the time is over. Failed at NO-GO, else NotKnown."""
    step = action.step
    decision = _steady(session, action) if step.kind == "wait" else _decide(session, action)
    for rule in decision.rules:
        if rule.status not in ("passed", "not asked"):
            session.show(f"   {rule.status}: {rule.name}: {printable(rule.reason)}")
    session.show(f"   gate: {decision.answer}")
    if decision.answer != GO:
        session.note("failed", action, answer=decision.answer, why=printable(decision.missing), run_id=decision.run_id)
        raise (Failed if decision.answer == NO_GO else NotKnown)(f"the gate says {decision.answer}: {decision.missing}")
    session.note("passed", action, answer=decision.answer, run_id=decision.run_id)
    if not step.after:
        session.hold(step.purpose, step.minutes)


def _decide(session: Session, action: Action) -> Decision:
    from smoketests.asking import CannotAsk

    try:
        return decide(_maintenance(session, action), _wanted(session), session.say)
    except CannotAsk as error:
        session.note("failed", action, why=printable(str(error)))
        raise NotKnown(f"the gate cannot be asked: {error}") from error


def _steady(session: Session, action: Action) -> Decision:
    step = action.step
    patience = Patience(step.deadline / 60, step.every, STEADY)
    decision = until_steady(lambda: _decide(session, action), patience, lambda words: session.show("   " + words))
    if "Ctrl-C" in decision.unsteady:
        raise Stopped("you stopped it with Ctrl-C")
    return decision


def _wanted(session: Session) -> Wanted:
    wanted = session.target.wanted
    if wanted is None:
        raise NotKnown("the gate asks the cluster: name its inventory with -i")
    return replace(wanted, limit="", store=session.target.store, checks=())


def _maintenance(session: Session, action: Action) -> Maintenance:
    step, lock = action.step, session.progress.lock
    disks = (fact.words("serial") for fact in session.plan.facts.values() if fact.kind.endswith("-disk"))
    disk = next(filter(None, disks), "") if step.purpose == "replace-disk" else ""
    return Maintenance(
        (session.plan.host,), step.purpose, session.plan.cluster, disk, step.minutes, step.after, session.accept,
        str(lock["id"]) if lock else "",
    )  # fmt: skip
