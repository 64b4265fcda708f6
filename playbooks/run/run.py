"""Run a playbook, continue an interrupted run, and undo one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from agent.formats.text import printable
from playbooks import show
from playbooks.executors import check, command, gate, kafka
from playbooks.machine import Lost, NotRun
from playbooks.model import Step
from playbooks.plan.template import Action, FoundLater, NotTold
from playbooks.run import changes, leaving
from playbooks.run.progress import BEHIND, DONE, LEFT_OUT, UNKNOWN
from playbooks.run.prompt import Stopped
from playbooks.run.session import Failed, NotKnown, Session

DOING: Mapping[str, Callable[[Session, Action], None]] = {
    "gate": gate.do,
    "run": command.do,
    "kafka": kafka.do,
    "check": check.check,
    "wait": check.wait,
}


def go(session: Session) -> None:
    """Every step that is not behind us, in order. Stopped, Failed, NotKnown; each is in the journal already."""
    _noted(session, lambda: _steps(session))
    session.let_go()
    session.note("finished")


def _steps(session: Session) -> None:
    for number, step in enumerate(session.playbook.steps, 1):
        for action in _actions(session, number, step):
            _do(session, action)


def _noted(session: Session, work: Callable[[], None]) -> None:
    """Whatever ends the run is written down, with its words."""
    try:
        work()
    except KeyboardInterrupt:
        session.note("stopped", why="Ctrl-C")
        raise Stopped("you stopped it with Ctrl-C") from None
    except (Stopped, Failed, NotKnown) as error:
        session.note("stopped", why=printable(str(error)))
        raise


def _actions(session: Session, number: int, step: Step) -> Iterator[Action]:
    """What a step is here. What it needs to know is found now."""
    if session.progress.status.get(str(number)) == LEFT_OUT:
        return
    while True:
        filling = session.filling()
        try:
            wanted = filling.holds(step.when)
            actions = filling.actions(number, step) if wanted else []
            for name in step.uses() if wanted else ():
                filling.value(name)
            break
        except FoundLater as error:
            session.learn(error)
    if not actions:
        _head(session, Action(str(number), step))
        session.show(f"   skipped: {step.when if not wanted else f'{step.each} is empty here'}")
        session.note("left out", Action(str(number), step))
    yield from actions


def _do(session: Session, action: Action) -> None:
    status = session.progress.status.get(action.key, "")
    if status in BEHIND:
        return
    _head(session, action)
    if status == UNKNOWN and command.settle(session, action):
        return
    if action.step.kind == "confirm":
        _confirm(session, action)
        return
    DOING[action.step.kind](session, action)


def _head(session: Session, action: Action) -> None:
    step, filling = action.step, session.filling()
    each = f" ({printable(action.each)})" if action.each else ""
    mark = f"{show.mark(step)} ".lstrip()
    session.show(f"\n{action.key}. {mark}{printable(_worded(session, step.name, action))}{each}")
    if step.note:
        session.show(f"   {printable(filling.words(step.note, action.each))}")


def _worded(session: Session, text: str, action: Action) -> str:
    """A name may speak of what is found later; a left-out step never finds it."""
    try:
        return session.filling().words(text, action.each)
    except FoundLater:
        return text


def _confirm(session: Session, action: Action) -> None:
    if action.step.takes_away:
        gate.still_go(session, action)
    words = session.filling().words(action.step.words, action.each)
    for row in show.wrapped(printable(words), 3):
        session.show(row)
    if session.yes and not action.step.unattended:
        raise NotKnown("this must be confirmed by a person: resume without --yes")
    if session.yes:
        session.show("   confirmed by --yes")
    else:
        session.person.choose("   Confirm?", {"y": "yes"})
    session.note("confirmed", action, **({"how": "--yes"} if session.yes else {}))


def undo(session: Session) -> None:
    """Every step that was done and can be taken back, the last first."""
    session.note("undoing")
    _noted(session, lambda: _undo_steps(session))
    session.let_go()
    session.note("undone")


def _undo_steps(session: Session) -> None:
    steps = list(enumerate(session.playbook.steps, 1))
    for number, step in reversed(steps):
        for action in reversed(_known_actions(session, number, step)):
            status = session.progress.status.get(action.key)
            if step.kind in ("run", "kafka") and step.changes and status in (DONE, UNKNOWN):
                _undo(session, action, status)


def _known_actions(session: Session, number: int, step: Step) -> list[Action]:
    """None where it was never reached."""
    try:
        return session.filling().actions(number, step)
    except FoundLater:
        return []


def _undo(session: Session, action: Action, status: str) -> None:
    step = action.step
    _head(session, action)
    if step.kind == "kafka":
        kafka.undo(session, action)
        return
    if not step.undo:
        session.show(f"   cannot be undone: {step.no_undo or 'the playbook defines no undo'}")
        return
    try:
        argv = session.filling().argv(step.undo, action.each)
    except NotTold as error:
        raise NotKnown(str(error)) from error
    session.hold()
    session.check_devices(_without_danger(action), step.uses())
    if status == UNKNOWN:
        session.show("   started earlier, outcome unknown")
    command.show_command(session, argv, "")
    if not session.yes and session.person.choose("   Undo it?", {"y": "yes", "s": "leave as is"}) == "s":
        session.note("undo skipped", action)
        return
    if step.on == "host" and leaving.command_takes_away(argv, session.servers):
        gate.still_go(session, action)
    changed = changes.of_command(argv, session.units) if step.on == "host" else {}
    session.note("undo started", action, argv=list(argv), **changed)
    _run_undo(session, action, argv)


def _run_undo(session: Session, action: Action, argv: tuple[str, ...]) -> None:
    try:
        with session.interrupts.gently():
            outcome = command.machine_of(session, action).run(argv, action.step.seconds, mark=session.mark(action))
    except NotRun as error:
        session.note("undo failed", action, why=printable(str(error)))
        raise NotKnown(f"the command did not start: {printable(str(error))}") from error
    except Lost as error:
        raise NotKnown(f"{printable(str(error))}: check the host, then undo again") from error
    command.show_output(session, outcome)
    if outcome.code:
        session.note("undo failed", action, exit_code=outcome.code, said=printable(outcome.said))
        raise Failed(f"exit code {outcome.code}: {printable(outcome.said)}")
    session.note("undo ended", action, **changes.restored(argv, session.units))
    session.interrupts.stop_if_asked()


def _without_danger(action: Action) -> Action:
    """Taking back destroys nothing; that the devices are the same still counts."""
    return replace(action, step=replace(action.step, destroys=""))
