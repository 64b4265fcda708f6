"""smoke playbook: list, show, plan and run the remedies for findings."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from agent.formats.text import printable
from playbooks import show
from playbooks.loader import VARIABLE, NoSuchPlaybook, PlaybookError, files, folders, load, named
from smoketests.commands.cli_options import SSH

if TYPE_CHECKING:
    from playbooks.facts import Choice
    from playbooks.target import Target

Result = TypeVar("Result")
UNUSABLE = 3
# in playbooks/commands/run.py
ELSEWHERE = ("run", "resume", "undo", "log")

with_own = click.option(
    "--playbooks", "own", multiple=True, metavar="DIR", type=click.Path(),
    help=f"Also use the playbooks in this folder; they override built-in ones (or set ${VARIABLE}). Repeatable.",
)  # fmt: skip
with_store = click.option(
    "--store",
    default="results",
    show_default=True,
    metavar="DIR",
    envvar="SMOKE_STORE",
    help="Folder for plans, runs and locks; shared by all operators.",
)
ACCESS = (
    click.option("--inventory", "-i", "inventories", multiple=True, metavar="FILE",
                 help="The inventory that contains the host; default: this machine. Repeatable."),
    *SSH,
    click.option("--deadline", type=click.FloatRange(1, 3600), default=60, show_default=True, metavar="SECONDS",
                 help="Time limit of each run of the agent."),
)  # fmt: skip
CHOOSING = (
    click.option("--host", default="", metavar="HOST", help="The host, as named in the inventory."),
    click.option("--disk", default="", metavar="SERIAL", help="The disk, by serial number."),
    click.option("--item", default="", metavar="ITEM", help="The item of the finding: a mount, an interface, …"),
    click.option("--choose", multiple=True, metavar="NEED=NAME", help="The candidate for one of the needs."),
)  # fmt: skip
CHOOSING_LATER = CHOOSING[-1:]


def with_options(*groups: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """All of these options, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


class Commands(click.Group):
    """The commands of this file, and those that carry out, loaded when they are wanted."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*super().list_commands(context), *ELSEWHERE]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in ELSEWHERE:
            return super().get_command(context, name)
        command: click.Command = getattr(importlib.import_module("playbooks.commands.run"), name)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def playbook() -> None:
    """Remedies for findings: planned for one machine, and run step by step with you.

    Exit codes: 0 done, 1 stopped by you, 2 a step failed or the gate's answer is NO-GO, 3 unknown or wrong usage.
    """


@playbook.command("list")
@with_own
def list_playbooks(own: Sequence[str]) -> None:
    """List all playbooks."""
    known = usable(lambda: files(folders(own)))
    click.echo(show.table([usable(load, path) for _name, path in sorted(known.items())]))


@playbook.command("show")
@click.argument("name")
@with_own
def show_playbook(name: str, own: Sequence[str]) -> None:
    """Show what a playbook is for, its risks and its steps."""
    click.echo(show.playbook(usable(named, name, folders(own))))


@playbook.command("plan")
@click.argument("name")
@with_options(CHOOSING, ACCESS, (with_own, with_store))
@click.option("--format", "-f", "format_name", type=click.Choice(["text", "json"]), default="text")
def plan_playbook(name: str, format_name: str, own: Sequence[str], store: str, **options: Any) -> None:
    """Print the exact commands for one host, filled with its facts. Changes nothing."""
    from playbooks.plan import plan, plan_text

    book = usable(named, name, folders(own))
    target = target_of(store, **options)
    try:
        made = plan.make(book, target, choice_of(**options), say)
    except plan.CannotPlan as error:
        fail(str(error))
    finally:
        target.close()
    problems = plan_text.problems(made)
    if format_name == "json":
        click.echo(json.dumps({**plan.to_json(made), "problems": problems}, indent=1))
    else:
        click.echo(plan_text.render(made))
    try:
        plan.save(made, store)
    except OSError as error:
        say(f"cannot save the plan in {store}, so a run cannot be compared with it: {error.strerror or error}")
    else:
        say(f"saved as {made.id}; a run with the same options is refused if the facts have changed by then")
    sys.exit(UNUSABLE if problems else 0)


def choice_of(**options: Any) -> Choice:
    """What the person named. click.UsageError."""
    from playbooks.facts import Choice

    return Choice(options["disk"], options["item"], named_needs(options["choose"]))


def named_needs(words: Sequence[str]) -> dict[str, str]:
    """Need -> the name of what is meant. click.UsageError."""
    found = {}
    for word in words:
        need, sign, value = word.partition("=")
        if not sign or not value:
            raise click.UsageError(f"--choose: expected NEED=NAME (for example new=SERIAL), got {word!r}")
        found[need] = value
    return found


def target_of(store: str, **options: Any) -> Target:
    """The machine that is meant; exit code 3 if there is none."""
    from playbooks import target

    password = options.get("sudo_password", "") or sudo_password(options["ask_sudo"])
    if not options["inventories"]:
        found = target.here(store, password)
        if options["host"] not in ("", found.name):
            raise click.UsageError(f"without an inventory (-i) a playbook applies to this machine, {found.name}")
        return found
    if not options["host"]:
        raise click.UsageError("--host is required with an inventory")
    from smoketests.results.run import RunOptions

    wanted = RunOptions(
        options["inventories"], options["host"], deadline_s=options["deadline"], known_hosts=options["known_hosts"],
        keys=options["identity"], ssh_config=options["ssh_config"], sudo_password=password,
    )  # fmt: skip
    try:
        return target.of_inventory(wanted, store)
    except target.NoTarget as error:
        fail(str(error))


def sudo_password(wanted: bool) -> str:
    """What the person types; empty if none is wanted."""
    return str(click.prompt("sudo password on the host", hide_input=True, err=True)) if wanted else ""


def usable(ask: Callable[..., Result], *arguments: Any) -> Result:
    """What it gives, or its words and exit code 3."""
    try:
        return ask(*arguments)
    except (PlaybookError, NoSuchPlaybook) as error:
        fail(str(error))


def say(words: str) -> None:
    """Beside what is printed."""
    lines = [printable(line) for line in words.splitlines()]
    click.echo("smoke: " + "\n".join(lines), err=True)


def fail(words: str) -> NoReturn:
    """End, with nothing done."""
    say(words)
    sys.exit(UNUSABLE)
