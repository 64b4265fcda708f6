"""Steps that only read: a check that must pass, and a wait for a check or a command."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.formats.text import printable
from agent.status import BY_SEVERITY, OK, SKIPPED
from playbooks.executors import command, gate
from playbooks.machine import Lost, NotRun
from playbooks.plan.template import Action, NotTold
from playbooks.run.session import Failed, NotKnown, Session
from playbooks.target import CannotLook

MOST_SHOWN = 10


def check(session: Session, action: Action) -> None:
    """Failed if it is worse than the step allows."""
    why = _ailing(session, action)
    if why and not action.step.may_fail:
        session.note("failed", action, why=why)
        raise Failed(why)
    session.show(f"   {why}; the step may fail, continuing" if why else "   ok")
    session.note("passed", action)


def wait(session: Session, action: Action) -> None:
    """Look again and again until it is so. Failed when the time is over."""
    step = action.step
    if step.purpose:
        gate.do(session, action)
        return
    ask: Callable[[Session, Action], str] = _ailing if step.check else _unfinished
    until = time.monotonic() + step.deadline
    told = ""
    while True:
        session.keep()
        why = ask(session, action)
        if not why:
            break
        if why != told:
            session.show(f"   not yet: {why}")
            told = why
        if time.monotonic() + step.every > until:
            session.note("failed", action, why=why)
            raise Failed(f"timed out after {step.deadline} s: {why}")
        time.sleep(step.every)
    session.show("   ok")
    session.note("passed", action)


def _ailing(session: Session, action: Action) -> str:
    """What is not as well as it has to be; empty if all is."""
    step = action.step
    item = session.filling().words(step.item, action.each)
    try:
        findings = session.target.findings([step.check], session.say)
    except CannotLook as error:
        return f"{step.check}: state unknown: {printable(str(error))}"
    found = [one for one in findings if one["check"] == step.check and item in ("", one["item"])]
    if not found:
        said = "; ".join(_words(one) for one in findings[:MOST_SHOWN] if one["status"] not in (OK, SKIPPED))
        return said or f"no finding from {step.check}" + (f" for {item}" if item else "")
    bad = [one for one in found if not _good(one, step.status)]
    return "; ".join(_words(one) for one in bad[:MOST_SHOWN])


def _good(finding: Mapping[str, Any], worst: str) -> bool:
    """What is not known is never good."""
    return BY_SEVERITY.index(finding["status"]) <= BY_SEVERITY.index(worst)


def _words(finding: Mapping[str, Any]) -> str:
    return printable(f"{finding['check']} {finding['item']} {finding['status']}: {finding['reason']}")


def _unfinished(session: Session, action: Action) -> str:
    """Why the command does not succeed yet; a machine that is away now may come back."""
    step = action.step
    try:
        argv: Sequence[str] = session.filling().argv(step.run, action.each)
        outcome = command.machine_of(session, action).run(argv, step.seconds)
    except NotTold as error:
        raise NotKnown(str(error)) from error
    except (NotRun, Lost) as error:
        return printable(str(error))
    return "" if outcome.code in step.exits else f"exit code {outcome.code} {printable(outcome.said)}".strip()
