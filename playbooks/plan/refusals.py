"""Reasons to refuse a playbook on a machine, one sentence each, before anything is changed there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.model import Host
from playbooks.fact_schema import Fact
from playbooks.model import Playbook
from smoketests.remote.agent_output import INSTALLED

# what a need must have, and what to say where it is empty
EMPTY = {"log_dirs": "no known broker of this machine has a log dir on it, so there is nothing to restore"}


def rights(playbook: Playbook, host: Host) -> str:
    """Which step needs a right that our user has not there; empty if none does."""
    if host.sudo != INSTALLED:
        return ""
    steps = [
        (number, step) for number, step in enumerate(playbook.steps, 1) if step.kind == "run" and step.on == "host"
    ]
    if not steps:
        return ""
    programs = list(dict.fromkeys(step.run[0] for _number, step in steps))
    number, first = steps[0]
    return (
        f"refused: on {host.name} sudo permits only the agent (`sudo: agent` in the "
        f"inventory), but {playbook.name} runs {', '.join(programs)} as root from step {number} ({first.name}): use "
        f"an inventory with `sudo: yes` and a user with sudo rights for these commands"
    )


def empty(playbook: Playbook, facts: Mapping[str, Fact]) -> Iterator[str]:
    """What a need is to have, and has not."""
    for name, need in playbook.needs.items():
        if need.holds and name in facts and not facts[name].values.get(need.holds):
            where = " ".join(filter(None, (facts[name].words(one) for one in ("mount", "device"))))
            yield f"refused: {name}: {where or need.kind}: {EMPTY[need.holds]}"
