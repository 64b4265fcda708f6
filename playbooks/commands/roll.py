"""smoke playbook run NAME --host kafka-a[01-12]: one machine at a time, stopping at the first doubt."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from agent.formats.text import printable
from playbooks.commands.carry_out import FAILED, carried_out, elsewhere
from playbooks.commands.playbook import UNUSABLE, fail, named_needs, say, target_of, usable
from playbooks.facts import Choice
from playbooks.loader import load
from playbooks.model import Playbook
from playbooks.plan import plan as plans
from playbooks.plan import plan_text
from playbooks.plan.plan import CannotPlan, NoPlan
from playbooks.run import journal as journals
from playbooks.run import leaving, progress, rolling
from playbooks.run import run as carrying_out
from playbooks.run.journal import InUse, Journal
from playbooks.run.prompt import Stopped
from playbooks.run.rolling import Roll
from playbooks.run.session import Failed, NotKnown, Session
from playbooks.target import Target
from smoketests.gate import lock
from smoketests.gate.playbook_runs import FINISHED

Options = Mapping[str, Any]


def run(playbook: Playbook, hosts: list[str], store: str, yes: bool, options: Options) -> NoReturn:
    """Look at all of them first; nothing is begun if one cannot be done."""
    for name, word in (("plan_id", "--plan"), ("disk", "--disk"), ("item", "--item")):
        if options[name]:
            raise click.UsageError(f"{word} applies to one host, but --host matches {len(hosts)}")
    _look_at_all(playbook, hosts, store, yes, options)
    try:
        roll = rolling.begin(store, playbook, hosts, options["inventories"], lock.owner())
    except OSError as error:
        fail(f"cannot write the journal in {store}, nothing was done: {error}")
    click.echo(f"{playbook.title}: {len(hosts)} machines, one at a time; {roll.id}")
    _go(roll, playbook, store, yes, options)


def resume(roll_id: str, store: str, yes: bool, options: dict[str, Any]) -> NoReturn:
    """Go on with the machine that it stood at."""
    try:
        roll = rolling.reopen(store, roll_id, lock.owner())
    except (NoPlan, OSError) as error:
        fail(str(error))
    except InUse as error:
        say(str(error))
        sys.exit(FAILED)
    if roll.over:
        fail(f"{roll_id} has already finished")
    playbook = usable(load, roll.playbook_path)
    if playbook.sha256 != roll.sha256:
        fail(
            f"the playbook {roll.playbook} has changed since {roll_id} started; "
            f"start a new run for {', '.join(roll.left)}"
        )
    click.echo(f"{playbook.title}: {roll_id}, {roll.words}")
    _go(roll, playbook, store, yes, {**options, "inventories": options["inventories"] or roll.inventories})


def _look_at_all(playbook: Playbook, hosts: list[str], store: str, yes: bool, options: Options) -> None:
    problems = []
    for name in hosts:
        target = _target(name, store, options)
        try:
            made = plans.make(playbook, target, _choice(options), say)
            problems += [f"{name}: {problem}" for problem in plan_text.problems(made)]
            if not rolling.takes_away(made):
                problems.append(f"{name}: nothing to do for {playbook.name}: no broker or ZooKeeper server found")
            if yes and rolling.wants_person(made):
                problems.append(f"{name}: this must be confirmed by a person: {rolling.wants_person(made)}")
        except CannotPlan as error:
            problems.append(f"{name}: {error}")
        finally:
            target.close()
    if problems:
        fail("nothing was started:\n" + "\n".join(problems))


def _choice(options: Options) -> Choice:
    return Choice("", "", named_needs(options["choose"]))


def _target(name: str, store: str, options: Options) -> Target:
    return target_of(store, **{**options, "host": name})


def _go(roll: Roll, playbook: Playbook, store: str, yes: bool, options: Options) -> NoReturn:
    total = len(roll.hosts)
    for name in [one for one in roll.left if _is_finished(roll, one, store)]:
        roll.write("done", host=name)  # killed between the last word of its run and ours
    while roll.left:
        target = _target(roll.left[0], store, options)
        name = _current(roll, store) or _following(roll, target)
        if name != target.name:
            target.close()
            target = _target(name, store, options)
        click.echo(f"\n== {name} ({len(roll.done) + 1} of {total})")
        code, words = _one(roll, playbook, target, yes, options)
        if code:
            roll.write("stopped", host=name, why=printable(words))
            roll.close()
            say(f"stopped at {name}: {words}")
            say(f"{len(roll.done)} of {total} done, left: {', '.join(roll.left)}")
            say(f"to continue: smoke playbook resume {roll.id}{' --yes' if yes else ''}{elsewhere(store)}")
            sys.exit(code)
        roll.write("done", host=name)
    roll.write("finished")
    roll.close()
    click.echo(f"\n{playbook.name}: done on {total} machines; details: smoke playbook log{elsewhere(store)}")
    sys.exit(0)


def _current(roll: Roll, store: str) -> str:
    """The machine whose run was begun and is not over."""
    for name in roll.left:
        run_id = roll.run_of.get(name, "")
        if run_id and _exists(run_id, store) and not progress.of(journals.read(run_id, store)).over:
            return name
    return ""


def _is_finished(roll: Roll, name: str, store: str) -> bool:
    run_id = roll.run_of.get(name, "")
    return _exists(run_id, store) and progress.of(journals.read(run_id, store)).over == FINISHED


def _exists(run_id: str, store: str) -> bool:
    return run_id in journals.runs(store)


def _following(roll: Roll, target: Target) -> str:
    return rolling.following(target.cluster, roll.left) if target.cluster else roll.left[0]


def _one(roll: Roll, playbook: Playbook, target: Target, yes: bool, options: Options) -> tuple[int, str]:
    """One machine, from its plan to its end. Exit code and why it ended."""
    try:
        journal = _journal(roll, playbook, target, options)
    except (NoPlan, InUse, CannotPlan, OSError) as error:
        target.close()
        return UNUSABLE, str(error)
    code, words, session = carried_out(carrying_out.go, journal, target, yes, options)
    if code > 1 and yes and not _took_away(session):
        words = f"{words}\n{_put_back(session)}"
    target.close()
    journal.close()
    if code and session.progress.lock:
        held = session.progress.lock
        words += f"\n{held['cluster']} stays locked by this run of {target.name}, id {held['id']}, until it has ended"
    return code, words


def _journal(roll: Roll, playbook: Playbook, target: Target, options: Options) -> Journal:
    """Of the run that was begun, or of a new one, whose id is written down before it begins."""
    run_id = roll.run_of.get(target.name, "")
    if run_id and _exists(run_id, target.store):
        state = progress.of(journals.read(run_id, target.store))
        if state.undoing and not state.over:
            raise NoPlan(f"{run_id} is being undone: smoke playbook undo {run_id}")
        if state.over == "":
            journal = journals.reopen(run_id, target.store)
            journal.write("resumed", who=lock.owner())
            return journal
    made = plans.make(playbook, target, _choice(options), say)
    problems = plan_text.problems(made)
    if problems:
        raise CannotPlan("\n".join(problems))
    plans.save(made, target.store)
    roll.write("host", host=target.name, run=made.id)
    return journals.begin(made, target.store, lock.owner())


def _took_away(session: Session) -> bool:
    """Whether a step that takes something away was begun: then a person looks before anything is taken back."""
    began = {str(event["step"]) for event in session.journal.events if event["event"] == "started"}
    steps = enumerate(session.playbook.steps, 1)
    away = {
        str(number)
        for number, step in steps
        if leaving.takes_away(step, [session.filling().words(word) for word in step.run], session.servers)
    }
    return any(key.partition(".")[0] in away for key in began)


def _put_back(session: Session) -> str:
    """Take back what was done in front of it, leaders above all, and let the lock go. What came of it."""
    session.show("\nno server was stopped yet: undoing the steps done so far")
    try:
        carrying_out.undo(session)
    except (Stopped, Failed, NotKnown, OSError) as error:
        return f"undo failed: {error}; run: smoke playbook undo {session.plan.id}"
    return "its steps were undone and its lock released"
