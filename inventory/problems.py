"""A mistake in an inventory, its place, and the probable intention."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from inventory.errors import SmokeError

# Longer words are cut before they are compared or shown: a file may hold anything.
LONGEST_WORD = 80
MOST_SHOWN = 50


class Place(NamedTuple):
    """Where in which file; line and column count from 1, 0 where there is none."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])


class Problem(NamedTuple):
    place: Place
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


class InventoryError(SmokeError, ValueError):
    """An inventory that cannot be used. `problems` holds everything that was found, in the order of the files."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(dict.fromkeys(sorted(problems)))
        shown = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        left = len(self.problems) - len(shown)
        super().__init__("\n".join(shown + ([f"… and {left} more"] if left else [])))


def shown(word: object) -> str:
    """A word of a file, fit to be printed: quoted, on one line, and cut.

    >>> shown("a\\nb")
    "'a\\\\nb'"
    """
    text = str(word)
    return ascii(text if len(text) <= LONGEST_WORD else text[:LONGEST_WORD] + "…")


def plainly(word: str) -> str:
    """The same without quotes."""
    return shown(word)[1:-1]


def did_you_mean(word: object, known: Iterable[str], otherwise: str = "") -> str:
    """What to add to "… is unknown": `; did you mean 'layout'?`, or the few that there are.

    >>> did_you_mean("layuot", ["layout", "roles"])
    "; did you mean 'layout'?"
    >>> did_you_mean("x", ["jbod", "raid10"])
    '; known: jbod, raid10'
    """
    names: Sequence[str] = sorted(set(known))
    near = difflib.get_close_matches(str(word)[:LONGEST_WORD], names, 1, 0.55)
    if near:
        return f"; did you mean {shown(near[0])}?"
    if otherwise:
        return f"; {otherwise}"
    return f"; known: {', '.join(names[:20])}" if names else ""
