"""A playbook as it was written: what it is for, what it needs, and its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from playbooks import placeholders
from playbooks.fact_schema import LATE
from playbooks.placeholders import Placeholder

STEP_KINDS = ("wait", "gate", "run", "kafka", "check", "confirm")
COMMAND_S = 60
KAFKA_S = 600
EVERY_S = 15
WAIT_S = 3600
# one GO alone may be luck
STEADY = 3
# a drain leaves the rest of a 1 GbE card, and most of a 10 GbE one, to clients
MB_PER_SECOND = 50
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
CONDITION = re.compile(r"(.*?)(?<!\s)\s+(==|!=|not in|in)\s+(.*)", re.DOTALL)


class Finding(NamedTuple):
    """A finding that leads to a playbook. item: a pattern of shell's kind. layout: empty for both."""

    check: str
    item: str = ""
    layout: str = ""


class Need(NamedTuple):
    """Something on the machine. of: the other need that it belongs to. late: found when it is first used.

    optional: a machine without it is none the worse; its fields are empty then. holds: a field that must not be empty.
    """

    kind: str
    of: str = ""
    late: bool = False
    optional: bool = False
    holds: str = ""


class Condition(NamedTuple):
    """`left == right`, `!=`, `in` or `not in` a list with commas; both sides may hold placeholders."""

    left: str
    sign: str
    right: str

    def holds(self, left: str, right: str) -> bool:
        """Whether it is so for these values."""
        if self.sign in ("in", "not in"):
            return (left in (word.strip() for word in right.split(","))) == (self.sign == "in")
        return (left == right) == (self.sign == "==")

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right or repr('')}"


@dataclass(frozen=True)
class Step:
    """One step; which fields count depends on `kind`. Times in seconds.

    on: `host` or `controller`. done: exits 0 if nothing is left to do. destroys: the need whose disk is overwritten.
    words: what a person confirms, or what is waited for. every, deadline: of a wait. minutes: of the gate's lock.
    readings: how many times in a row the gate must say GO to a wait. each: `need.field` of a list; the step is done
    once for each, as {each}. may_fail: goes on when it fails. exits: the exit codes that are good. takes_away: it takes
    something of the cluster away, so GO must be fresh. unattended: --yes confirms it. was_done: like `done`, asked only
    of a step of which nobody wrote down how it ended. mb_per_second: of a drain, for each broker.
    """

    kind: str
    name: str
    run: tuple[str, ...] = ()
    on: str = "host"
    changes: bool = True
    input: str = ""
    done: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    destroys: str = ""
    seconds: int = COMMAND_S
    purpose: str = ""
    after: bool = False
    minutes: int = 60
    act: str = ""
    check: str = ""
    item: str = ""
    status: str = "ok"
    words: str = ""
    every: int = EVERY_S
    deadline: int = WAIT_S
    when: Condition | None = None
    note: str = ""
    each: str = ""
    may_fail: bool = False
    exits: tuple[int, ...] = (0,)
    no_undo: str = ""
    takes_away: bool = False
    readings: int = STEADY
    unattended: bool = False
    was_done: tuple[str, ...] = ()
    mb_per_second: int = MB_PER_SECOND

    def texts(self) -> Iterator[str]:
        """Everything in it that may hold placeholders."""
        yield from (
            *self.run,
            *self.done,
            *self.was_done,
            *self.undo,
            self.input,
            self.item,
            self.words,
            self.name,
            self.note,
        )
        if self.when:
            yield from (self.when.left, self.when.right)

    def uses(self) -> list[Placeholder]:
        """The placeholders in it, but for {each}."""
        found = [name for text in self.texts() for name in placeholders.names(text)]
        found += [Placeholder(*self.each.split("."))] if self.each else []
        return [name for name in dict.fromkeys(found) if name != placeholders.EACH]


@dataclass(frozen=True)
class Playbook:
    """name: of its file. safe: nothing in it can lose data or take the broker down. sha256: of the file.

    rolling: it can be carried out unattended, and on several machines, one after the other.
    """

    name: str
    title: str
    means: str
    risk: str
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()
    needs: Mapping[str, Need] = ()  # type: ignore[assignment]  # always given by the loader
    safe: bool = False
    rolling: bool = False
    sha256: str = ""
    path: str = ""

    @property
    def changes(self) -> bool:
        """Whether a run changes anything."""
        return any(step.kind in ("run", "kafka") and step.changes for step in self.steps)


def is_late(kind: str) -> bool:
    return kind in LATE


def condition(text: str) -> Condition | None:
    """The condition that a text spells, or None.

    >>> condition("{disk.fstype} == xfs")
    Condition(left='{disk.fstype}', sign='==', right='xfs')
    """
    found = CONDITION.fullmatch(text.strip())
    return Condition(_unquoted(found[1]), found[2], _unquoted(found[3])) if found else None


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word


def duration_s(text: str | int) -> int:
    """12h, 90s, 5m, 2d or a number of seconds; the schema has seen to it that it is one.

    >>> duration_s("12h")
    43200
    """
    word = str(text)
    return int(word[:-1]) * UNITS[word[-1]] if word[-1] in UNITS else int(word)
