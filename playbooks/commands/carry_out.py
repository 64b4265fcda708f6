"""Carry out, or take back, the run of one journal: its exit code and why it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from playbooks.commands.playbook import UNUSABLE, named_needs, say
from playbooks.run.journal import Journal
from playbooks.run.prompt import Interrupts, Person, Stopped
from playbooks.run.session import Failed, NotKnown, Session
from playbooks.target import Target

STOPPED, FAILED = 1, 2


def carried_out(
    work: Callable[[Session], None], journal: Journal, target: Target, yes: bool, options: Mapping[str, Any]
) -> tuple[int, str, Session]:
    """Do it. Its exit code, why it ended (empty if it is done), and the session, whose journal is still open."""
    accept = dict.fromkeys(options["accept"], options["because"])
    with Interrupts(say) as interrupts:
        session = Session(
            journal.plan, journal, target, Person(say), say, click.echo, interrupts, yes, accept,
            named_needs(options["choose"]), options["max_go_age_s"],
        )  # fmt: skip
        return (*_ended(work, session), session)


def elsewhere(store: str) -> str:
    """What to add to a command that is named, for another store than the usual one."""
    return "" if store == "results" else f" --store {store}"


def _ended(work: Callable[[Session], None], session: Session) -> tuple[int, str]:
    try:
        work(session)
    except Stopped as error:
        return STOPPED, str(error)
    except Failed as error:
        return FAILED, str(error)
    except NotKnown as error:
        return UNUSABLE, str(error)
    except OSError as error:
        return UNUSABLE, f"cannot write the journal, stopped: {error}"
    return 0, ""
