"""A step that runs a command, on the machine or on the controller."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import Any

from agent.formats.text import printable
from playbooks.executors import gate
from playbooks.machine import Lost, Machine, NotRun, Outcome
from playbooks.plan.template import Action, NotTold
from playbooks.run import changes, leaving
from playbooks.run.session import Failed, NotKnown, Session

SHOWN_ROWS = 40
TRY_AGAIN_S = 5.0
LOOK_S = 60
ANSWERS = {"y": "yes", "s": "skip it"}


def do(session: Session, action: Action) -> None:
    """Ask, look once more, run, and write down how it ended."""
    step, filling = action.step, session.filling()
    try:
        argv, given = filling.argv(step.run, action.each), filling.input(step.input, action.each)
    except NotTold as error:
        raise NotKnown(str(error)) from error
    if is_done(session, action):
        session.note("already", action, **restored(session, action))
        session.show("   already done")
        return
    if step.changes:
        session.hold()
        session.check_devices(action, step.uses())
        if not agreed(session, action, argv, given):
            session.note("skipped", action)
            return
        if leaving.takes_away(step, argv, session.servers):
            gate.still_go(session, action)
        session.check_devices(action, step.uses())
    else:
        show_command(session, argv, given)
    run(session, action, argv, given)


def agreed(session: Session, action: Action, argv: Sequence[str], given: str) -> bool:
    """Whether the person wants it; of what destroys data, they type the disk's serial number."""
    show_command(session, argv, given)
    need = action.step.destroys
    if need:
        fact = {**session.plan.facts, **session.progress.facts}[need]
        size = int(fact.words("size_bytes") or 0) / 1e9
        words = f"   This destroys all data on {fact.words('device')} ({fact.words('model')}, {size:.1f} GB)."
        session.show(words)
        session.person.type_out("   Type its serial number to continue", fact.words("serial"))
        return True
    return session.yes or session.person.choose("   Run it?", ANSWERS) == "y"


def show_command(session: Session, argv: Sequence[str], given: str) -> None:
    session.show("   $ " + printable(shlex.join(argv)))
    for row in given.splitlines():
        session.show("   < " + printable(row))


def run(session: Session, action: Action, argv: Sequence[str], given: str) -> None:
    """The command itself, between its two lines of the journal."""
    step = action.step
    session.keep(step.seconds)  # a person may have thought for hours, and a file system is checked for hours
    destroys = {"destroys": step.destroys} if step.destroys else {}
    changed = changes.of_command(argv, session.units) if step.on == "host" else {}
    session.note("started", action, argv=list(argv), on=step.on, **destroys, **changed)
    began = time.monotonic()
    try:
        outcome = _outcome(session, action, argv, given)
    except NotRun as error:
        session.note("not started", action, why=printable(str(error)), **changes.revoked(changed))
        raise NotKnown(f"the command did not start: {printable(str(error))}") from error
    except Lost as error:
        session.note("lost", action, why=str(error))
        wait_for_the_end(session, action, f"{printable(str(error))}")
        return
    _ended(session, action, outcome, time.monotonic() - began)
    session.interrupts.stop_if_asked()


def _outcome(session: Session, action: Action, argv: Sequence[str], given: str) -> Outcome:
    step = action.step
    mark = session.mark(action)
    if not step.changes:
        return machine_of(session, action).run(argv, step.seconds, given, mark)
    with session.interrupts.gently():
        return machine_of(session, action).run(argv, step.seconds, given, mark)


def _ended(session: Session, action: Action, outcome: Outcome, seconds: float) -> None:
    step = action.step
    show_output(session, outcome)
    facts = {"exit_code": outcome.code, "seconds": round(seconds, 1)}
    if outcome.code in step.exits or step.may_fail:
        session.note("ended", action, **facts, **(restored(session, action) if outcome.code == 0 else {}))
        if outcome.code not in step.exits:
            session.show(f"   exit code {outcome.code}; the step may fail, continuing")
        return
    session.note("failed", action, **facts, said=printable(outcome.said))
    late = f"timed out after {step.seconds} s" if outcome.code == 124 else f"exit code {outcome.code}"
    raise Failed(f"{late}: {printable(outcome.said) or 'no output'}")


def restored(session: Session, action: Action) -> dict[str, list[Any]]:
    """What the step put back, for the journal, once it is done."""
    argv = session.filling().argv(action.step.run, action.each)
    return changes.restored(argv, session.units) if action.step.on == "host" else {}


def show_output(session: Session, outcome: Outcome) -> None:
    rows = [printable(row.expandtabs()) for row in (outcome.out + outcome.err).splitlines()]
    for row in rows[:SHOWN_ROWS]:
        session.show("   | " + row)
    if len(rows) > SHOWN_ROWS:
        session.show(f"   | … {len(rows) - SHOWN_ROWS} more lines")


def machine_of(session: Session, action: Action) -> Machine:
    return session.target.controller if action.step.on == "controller" else session.target.machine


def is_done(session: Session, action: Action) -> bool:
    """What the step's own `done` says; False where it has none. NotKnown where it cannot be asked."""
    return _succeeds(session, action, action.step.done)


def _was_done(session: Session, action: Action) -> bool:
    """Likewise of a step that was begun."""
    return _succeeds(session, action, action.step.was_done or action.step.done)


def _succeeds(session: Session, action: Action, command: Sequence[str]) -> bool:
    if not command:
        return False
    filling = session.filling()
    try:
        argv, given = filling.argv(command, action.each), filling.input(action.step.input, action.each)
        return machine_of(session, action).run(argv, LOOK_S, given).code == 0
    except NotTold:
        return False
    except (NotRun, Lost) as error:
        raise NotKnown(f"cannot check whether the step is done: {printable(str(error))}") from error


def wait_for_the_end(session: Session, action: Action, why: str) -> None:
    """The connection went while it ran: ask again until the step's time is over. NotKnown."""
    until = time.monotonic() + action.step.seconds
    session.say(f"{why}; retrying {session.target.name} for {action.step.seconds} s")
    while True:
        try:
            if not machine_of(session, action).still_running(session.mark(action)):
                break
        except (NotRun, Lost):
            session.target.machine.close()
        if time.monotonic() > until:
            raise NotKnown("outcome unknown: the machine does not respond, or the command is still running")
        time.sleep(TRY_AGAIN_S)
    if not _was_done(session, action):
        raise NotKnown("outcome unknown: the command has ended, its exit code is lost")
    session.note("ended", action, how="found done afterwards", **restored(session, action))
    session.show("   done")


def settle(session: Session, action: Action) -> bool:
    """A step that began and of which no end is written down. True: it is behind us; False: it can be done (again)."""
    if action.step.kind != "run":
        return False
    session.show("   started earlier, outcome unknown")
    if not _no_longer_runs(session, action):
        raise NotKnown("the command is still running there: resume when it has ended")
    if action.step.done or action.step.was_done:
        if _was_done(session, action):
            session.note("ended", action, how="found done afterwards", **restored(session, action))
            session.show("   done")
            return True
        session.show("   not done")
        return False
    if not action.step.changes:
        return False
    if session.yes:
        raise NotKnown("outcome unknown: check by hand, then resume without --yes")
    answers = {"d": "done", "a": "run it again", "s": "skip it"}
    answer = session.person.choose("   Check the host. What is its state?", answers)
    if answer == "a":
        return False
    told = restored(session, action) if answer == "d" else {}
    session.note("ended" if answer == "d" else "skipped", action, how="confirmed by a person", **told)
    return True


def _no_longer_runs(session: Session, action: Action) -> bool:
    """Waits as long as the step may take."""
    until = time.monotonic() + action.step.seconds
    while True:
        try:
            running = machine_of(session, action).still_running(session.mark(action))
        except (NotRun, Lost) as error:
            raise NotKnown(f"cannot check whether it is still running: {printable(str(error))}") from error
        if not running:
            return True
        if time.monotonic() > until:
            return False
        session.show(f"   still running there (process {running[0]}); waiting")
        time.sleep(TRY_AGAIN_S)
