"""`{disk.serial}` in a playbook's words: found when it is read, filled in with the facts of one machine.

A value goes into one argument and never through a shell. `{{` and `}}` stand for the braces themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from inventory.errors import SmokeError

PARTS = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
NAME = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")


class Placeholder(NamedTuple):
    """need: the name that the playbook gave it under `needs`. field: of its kind."""

    need: str
    field: str

    def __str__(self) -> str:
        return f"{{{self.need}.{self.field}}}" if self.field else f"{{{self.need}}}"


# stands for one of a step's `each`
EACH = Placeholder("each", "")


class BadPlaceholder(SmokeError, ValueError):
    """A brace that is none of ours; the message says how to write it."""


def parts(text: str) -> Iterator[str | Placeholder]:
    """The text and the placeholders in it, in order. BadPlaceholder.

    >>> list(parts("UUID={disk.uuid} {{}}"))
    ['UUID=', Placeholder(need='disk', field='uuid'), ' ', '{', '}']
    """
    for found in PARTS.finditer(text):
        word = found[0]
        if word in ("{{", "}}"):
            yield word[0]
        elif word in ("{", "}"):
            raise BadPlaceholder(f"unmatched {word}; write {word * 2} for a literal brace")
        elif word == "{each}":
            yield EACH
        elif word.startswith("{"):
            name = NAME.fullmatch(found[1])
            if not name:
                raise BadPlaceholder(
                    f"invalid placeholder {word[:60]!a}; expected the form {{disk.serial}}; "
                    "write {{ for a literal brace"
                )
            yield Placeholder(name[1], name[2])
        else:
            yield word


def names(text: str) -> list[Placeholder]:
    """The placeholders of a text."""
    return [part for part in parts(text) if isinstance(part, Placeholder)]


def fill(text: str, value: Callable[[Placeholder], str]) -> str:
    """The text with each placeholder's value."""
    return "".join(part if isinstance(part, str) else value(part) for part in parts(text))
