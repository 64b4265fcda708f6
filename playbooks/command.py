"""smoke playbook: list and show what to do about findings, plan it for one machine, and carry it out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from playbooks import show
from playbooks.loader import VARIABLE, NoSuchPlaybook, PlaybookError, files, folders, load, named

Result = TypeVar("Result")
UNUSABLE = 3

with_own = click.option(
    "--playbooks", "own", multiple=True, metavar="DIR", type=click.Path(),
    help=f"Also playbooks of this folder, before ours (or ${VARIABLE}). Can be given again.",
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def playbook() -> None:
    """What to do about a finding: as a plan for one machine, and carried out with you.

    Exit codes: 0 done, 1 stopped by you, 2 a step failed or the gate says NO-GO, 3 unknown or wrong usage.
    """


@playbook.command("list")
@with_own
def list_playbooks(own: Sequence[str]) -> None:
    """Name every playbook."""
    known = _usable(lambda: files(folders(own)))
    click.echo(show.table([_usable(load, path) for _name, path in sorted(known.items())]))


@playbook.command("show")
@click.argument("name")
@with_own
def show_playbook(name: str, own: Sequence[str]) -> None:
    """Tell what a playbook is for, what is at risk, and its steps."""
    click.echo(show.playbook(_usable(named, name, folders(own))))


def _usable(ask: Callable[..., Result], *arguments: Any) -> Result:
    """What it gives, or its words and exit code 3."""
    try:
        return ask(*arguments)
    except (PlaybookError, NoSuchPlaybook) as error:
        click.echo(str(error), err=True)
        sys.exit(UNUSABLE)
