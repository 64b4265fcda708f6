"""smoke playbook run, resume, undo, log: run a playbook, continue a run, undo it, read its journal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import click

from agent.formats.text import printable
from playbooks import show
from playbooks.commands import roll as roll_commands
from playbooks.commands.carry_out import FAILED, carried_out, elsewhere
from playbooks.commands.playbook import (
    ACCESS,
    CHOOSING,
    CHOOSING_LATER,
    choice_of,
    fail,
    say,
    sudo_password,
    target_of,
    usable,
    with_options,
    with_own,
    with_store,
)
from playbooks.loader import folders, named
from playbooks.model import Playbook
from playbooks.plan import plan as plans
from playbooks.plan import plan_text, refusals
from playbooks.plan.plan import CannotPlan, NoPlan, Plan
from playbooks.run import journal as journals
from playbooks.run import progress, rolling
from playbooks.run import run as carrying_out
from playbooks.run.journal import InUse, Journal
from playbooks.run.session import MAX_GO_AGE_S, Session
from playbooks.target import Target
from smoketests.gate import lock
from smoketests.gate import playbook_runs as gate_runs

MOST_EVENTS = 2000

with_yes = click.option("--yes", is_flag=True, help="Do not prompt; only for playbooks marked safe or rolling.")
GO_AGE = (
    click.option("--max-go-age", "max_go_age_s", type=click.FloatRange(0, MAX_GO_AGE_S), default=MAX_GO_AGE_S,
                 show_default=True, metavar="SECONDS",
                 help="Before a step that takes a server down, run the gate again if its GO is older than this."),
)  # fmt: skip
ACCEPTING = (
    *GO_AGE,
    click.option("--accept", multiple=True, metavar="RULE#ID",
                 help="Accept this finding of the gate, by the token it prints (disks#1a2b3c); for this command only."),
    click.option("--because", default="", metavar="WHY", help="The reason; stored with the decision."),
)  # fmt: skip


@click.command()
@click.argument("name")
@with_options(CHOOSING, ACCESS, ACCEPTING, (with_own, with_store, with_yes))
@click.option(
    "--plan", "plan_id", default="", metavar="ID", help="Compare with this plan (default: the newest of the last day)."
)
def run(name: str, yes: bool, own: Sequence[str], store: str, plan_id: str, **options: Any) -> None:
    """Run a playbook on one host, prompting before each step that changes something.

    A rolling playbook (rolling-restart) can run on several hosts (--host kafka-a[01-12]), one at a time; with --yes
    unattended. It stops at the first doubt and continues there with `resume ID`.

    It refuses to run if facts have changed since the plan, or if a disk is not the one in the plan.
    """
    book = usable(named, name, folders(own))
    _check_yes(book, yes)
    _check_accepting(options)
    hosts = _hosts(book, options)
    if len(hosts) > 1 or (hosts and yes and not plan_id):
        options["sudo_password"] = sudo_password(options["ask_sudo"])
        roll_commands.run(book, hosts, store, yes, {**options, "plan_id": plan_id})
    target = target_of(store, **options)
    try:
        made = _planned(book, target, choice_of(**options), plan_id, store)
        journal = journals.begin(made, store, lock.owner())
    except (NoPlan, InUse, CannotPlan, OSError) as error:
        target.close()
        fail(str(error))
    click.echo(f"{book.title}: run {made.id} on {made.host}")
    for row in [*show.wrapped(f"Risk: {book.risk}"), *_facts(made)]:
        click.echo(row)
    _carry_out(carrying_out.go, journal, target, yes, options, book.name)


def _hosts(book: Playbook, options: Mapping[str, Any]) -> list[str]:
    """The machines of a rolling playbook; none where `target_of` finds the one that is meant, or says why not."""
    if not book.rolling or not options["inventories"] or not options["host"]:
        return []
    from smoketests.results import run as asking

    try:
        _inventory, found = asking.load(asking.RunOptions(options["inventories"], options["host"]))
    except asking.CannotAsk as error:
        fail(str(error))
    clusters = {host.cluster for host in found}
    if len(clusters) > 1:
        fail(f"the hosts belong to {len(clusters)} clusters ({', '.join(sorted(clusters))}); run one cluster at a time")
    return [host.name for host in found]


def _planned(book: Playbook, target: Target, choice: Any, plan_id: str, store: str) -> Plan:
    """A plan of this moment that says the same as the one that a person saw. CannotPlan, NoPlan."""
    before = plans.load(plan_id, store) if plan_id else plans.newest(book.name, target.name, choice, store)
    if before and (before.playbook.name, before.host) != (book.name, target.name):
        raise NoPlan(f"{plan_id} is a plan for {before.playbook.name} on {before.host}")
    made = plans.make(book, target, choice, say, before)
    problems = plan_text.problems(made)
    if problems:
        raise CannotPlan("\n".join(problems))
    if before is None:
        plans.save(made, store)
        return made
    changed = plans.changes(before, made)
    if changed:
        rows = "\n".join(f"  {printable(row)}" for row in changed)
        raise CannotPlan(
            f"refused: facts changed since plan {before.id} of {before.at}:\n{rows}\nFind out why, then plan again."
        )
    return before


def _facts(made: Plan) -> list[str]:
    rows = [f"{name}: {plan_text.describe(fact)}" for name, fact in made.facts.items()]
    return [line for row in rows for line in show.wrapped(printable(row))]


def _check_yes(book: Playbook, yes: bool) -> None:
    if yes and not (book.safe or book.rolling):
        fail(f"--yes requires a safe or rolling playbook; {book.name} is neither: {' '.join(book.risk.split())}")


def _check_accepting(options: Mapping[str, Any]) -> None:
    if options["accept"] and not options["because"].strip():
        raise click.UsageError("--accept requires --because; the reason is stored with the decision")


@click.command()
@click.argument("run_id", metavar="ID")
@with_options(ACCESS, ACCEPTING, CHOOSING_LATER, (with_store, with_yes))
def resume(run_id: str, yes: bool, store: str, **options: Any) -> None:
    """Continue a run that was stopped, failed, or lost its connection."""
    _check_accepting(options)
    if rolling.is_one(store, run_id):
        options["sudo_password"] = sudo_password(options["ask_sudo"])
        roll_commands.resume(run_id, store, yes, options)
    journal = _reopened(run_id, store)
    _check_yes(journal.plan.playbook, yes)
    state = progress.of(journal.events)
    if state.over or state.undoing:
        fail(f"{run_id} is {state.over or 'being undone: smoke playbook undo ' + run_id}")
    target = _target_again(journal.plan, store, options)
    journal.write("resumed", who=lock.owner())
    click.echo(f"{journal.plan.playbook.title}: run {run_id} on {journal.plan.host}, {state.words}")
    _carry_out(carrying_out.go, journal, target, yes, options, journal.plan.playbook.name)


@click.command()
@click.argument("run_id", metavar="ID")
@with_options(ACCESS, ACCEPTING, CHOOSING_LATER, (with_store, with_yes))
def undo(run_id: str, yes: bool, store: str, **options: Any) -> None:
    """Undo the steps of a run, the last first, prompting before each."""
    _check_accepting(options)
    journal = _reopened(run_id, store)
    _check_yes(journal.plan.playbook, yes)
    if progress.of(journal.events).over == "undone":
        fail(f"{run_id} has already been undone")
    target = _target_again(journal.plan, store, options)
    click.echo(f"{journal.plan.playbook.title}: undoing run {run_id} on {journal.plan.host}")
    journal.write("resumed", who=lock.owner())
    _carry_out(carrying_out.undo, journal, target, yes, options, journal.plan.playbook.name)


def _reopened(run_id: str, store: str) -> Journal:
    try:
        return journals.reopen(run_id, store)
    except (NoPlan, OSError) as error:
        fail(str(error))
    except InUse as error:
        say(str(error))
        sys.exit(FAILED)


def _target_again(plan: Plan, store: str, options: dict[str, Any]) -> Target:
    """The machine of the plan; its inventory, if no other is named."""
    options["inventories"] = options["inventories"] or plan.inventories
    options["host"] = plan.host
    target = target_of(store, **options)
    if no_rights := refusals.rights(plan.playbook, target.host):
        target.close()
        fail(no_rights)
    return target


def _carry_out(
    work: Callable[[Session], None], journal: Journal, target: Target, yes: bool, options: dict[str, Any], name: str
) -> NoReturn:
    """Do it, and end with its exit code."""
    code, words, session = carried_out(work, journal, target, yes, options)
    target.close()
    journal.close()
    if code:
        state = session.progress
        say(words)
        verb = "undo" if state.undoing else "resume"
        say(f"journal: {journal.path}; to continue: smoke playbook {verb} {journal.plan.id}{elsewhere(target.store)}")
        if state.lock and not state.over:
            words = (
                f"{state.lock['cluster']} stays locked until the run ends, or: smoke gate release {state.lock['id']}"
            )
            say(f"the maintenance stays open: {words}{elsewhere(target.store)}")
    else:
        click.echo(f"\n{name}: done; details: smoke playbook log {journal.plan.id}{elsewhere(target.store)}")
    sys.exit(code)


@click.command()
@click.argument("run_id", metavar="[ID]", required=False, default="")
@with_store
def log(run_id: str, store: str) -> None:
    """List all runs, or the events of one run."""
    try:
        rows = list(_events(run_id, store)) if run_id else [*_runs(store), *_rolls(store)]
    except NoPlan as error:
        fail(str(error))
    for row in rows or [f"no runs in {store}"]:
        click.echo(row)


def _runs(store: str) -> Sequence[str]:
    found = []
    for run_id in journals.runs(store):
        try:
            events = journals.read(run_id, store)
            planned = events[0]["plan"]
            state = "is running" if journals.is_open(run_id, store) else progress.of(events).words
            found.append(printable(f"{run_id}  {planned['playbook']}  {planned['host']}  {state}"))
        except (NoPlan, KeyError, TypeError, ValueError) as error:
            found.append(printable(f"{run_id}  cannot be read: {error}"))
    return found


def _rolls(store: str) -> Sequence[str]:
    found = []
    for roll_id in rolling.ids(store):
        try:
            roll = rolling.read(store, roll_id)
            found.append(printable(f"{roll_id}  {roll.playbook}  {len(roll.hosts)} machines  {roll.words}"))
        except NoPlan as error:
            found.append(printable(f"{roll_id}  cannot be read: {error}"))
    return found


def _events(run_id: str, store: str) -> Sequence[str]:
    is_roll = rolling.is_one(store, run_id)
    events = gate_runs.events(rolling.path_of(store, run_id)) if is_roll else journals.read(run_id, store)
    rows = []
    for event in events[-MOST_EVENTS:]:
        told = {name: value for name, value in event.items() if name not in ("event", "at", "step", "plan", "before")}
        step = f"step {event['step']} " if "step" in event else ""
        words = " ".join(f"{name}={value}" for name, value in told.items())
        rows.append(printable(f"{event.get('at')}  {step}{event['event']}  {words}".rstrip()))
    return rows
