"""Which steps take a server, the machine, a disk, a link or a power supply away from the cluster. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from playbooks.model import Playbook, Step

MACHINE = ("reboot", "poweroff", "halt", "telinit", "init", "kexec")
# verbs of systemctl that take the machine away, and those that take a unit away
OF_MACHINE = ("reboot", "poweroff", "halt", "kexec", "soft-reboot", "isolate", "rescue", "emergency", "suspend",
              "hibernate")  # fmt: skip
OF_UNIT = ("stop", "restart", "try-restart", "reload-or-restart", "try-reload-or-restart", "condrestart", "kill",
           "freeze")  # fmt: skip
KILLERS = ("kill", "pkill", "killall")
POWER = ("off", "cycle", "reset", "soft", "diag")


def takes_away(step: Step, argv: Sequence[str], servers: Sequence[str]) -> bool:
    """Whether the step says so, or its command stops one of these servers or the machine.

    servers: units and process ids of the machine's broker and ZooKeeper server.
    """
    return step.takes_away or (step.on == "host" and bool(argv) and command_takes_away(argv, servers))


def command_takes_away(argv: Sequence[str], servers: Sequence[str]) -> bool:
    """Whether this command does.

    >>> command_takes_away(["systemctl", "restart", "kafka"], ["kafka.service", "4711"])
    True
    """
    program, words = os.path.basename(argv[0]), [word for word in argv[1:] if not word.startswith("-")]
    if program == "shutdown":
        return "-c" not in argv
    if program == "systemctl":
        return _of_systemctl(words, "--now" in argv, servers)
    if program == "ipmitool":
        return "power" in words and words[-1] in POWER
    return program in MACHINE or (program in KILLERS and bool(set(words) & set(servers)))


def _of_systemctl(words: Sequence[str], now: bool, servers: Sequence[str]) -> bool:
    verb, units = (words or [""])[0], {word.removesuffix(".service") for word in words[1:]}
    stops = verb in OF_UNIT or (verb in ("disable", "mask") and now)
    return verb in OF_MACHINE or (stops and bool(units & {name.removesuffix(".service") for name in servers}))


def gate_of(playbook: Playbook, number: int) -> Step | None:
    """The question to the gate that a step stands behind: the last in front of it, else the first there is."""
    asked = [(at, step) for at, step in enumerate(playbook.steps, 1) if step.purpose]
    before = [step for at, step in asked if at < number and not step.after]
    return before[-1] if before else next((step for _at, step in asked), None)
