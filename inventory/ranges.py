"""Names in short: kafka-a[01-14,17] stands for fifteen hosts, written as ClusterShell does."""

from __future__ import annotations

import itertools
import re

from inventory.errors import SmokeError

# kafka-[01-14]   r[1-2]n[1-3]   kafka-[1-5,7]   kafka-[0-10/2]
BRACKET = re.compile(r"\[([0-9]+(?:-[0-9]+(?:/[0-9]+)?)?(?:,[0-9]+(?:-[0-9]+(?:/[0-9]+)?)?)*)\]")
MOST_NAMES = 10_000
LONGEST_NUMBER = 12
LONGEST_TEXT = 1000


class BadRange(SmokeError, ValueError):
    """A range that cannot be; the message says why."""


def is_range(text: str) -> bool:
    return BRACKET.search(text) is not None


def expand(text: str) -> list[str]:
    """All the names that a text stands for, in its order; BadRange with the reason.

    >>> expand("kafka-a[08-10,12]")
    ['kafka-a08', 'kafka-a09', 'kafka-a10', 'kafka-a12']
    >>> expand("zk1")
    ['zk1']
    """
    if len(text) > LONGEST_TEXT:
        raise BadRange(f"{_plainly(text)}…: longer than {LONGEST_TEXT} characters")
    # what re.split gives: text, inside of a bracket, text, inside of a bracket, text
    parts = BRACKET.split(text)
    choices = [_numbers(part, text) if index % 2 else [part] for index, part in enumerate(parts)]
    count = 1
    for choice in choices:
        count *= len(choice)
        _limit(count, text)
    return ["".join(words) for words in itertools.product(*choices)]


def split(text: str) -> list[str]:
    """Comma separated names; the commas inside of brackets are a range's own.

    >>> split("kafka-[1,3],zk*")
    ['kafka-[1,3]', 'zk*']
    """
    cuts, bracket = [len(text)], ""
    for at in range(len(text) - 1, -1, -1):  # from behind, so that the bracket that follows a comma is known
        if text[at] in "[]":
            bracket = text[at]
        elif text[at] == "," and bracket != "]":
            cuts.append(at)
    parts = [text[start + 1 : end] for start, end in zip([*cuts[1:], -1], cuts)][::-1]
    return [part.strip() for part in parts if part.strip()]


def _numbers(inside: str, text: str) -> list[str]:
    found: list[str] = []
    for part in inside.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        found += _span(first, last or first, int(step[:LONGEST_NUMBER] or 1), text)
        _limit(len(found), text)
    if len(set(found)) < len(found):
        raise BadRange(f"{_plainly(text)}: a number is listed twice")
    return found


def _span(first: str, last: str, step: int, text: str) -> list[str]:
    if max(len(first), len(last)) > LONGEST_NUMBER:
        raise BadRange(f"{_plainly(text)}: number of more than {LONGEST_NUMBER} digits")
    if int(first) > int(last):
        raise BadRange(f"{_plainly(text)}: {first} is more than {last}; did you mean [{last}-{first}]?")
    if step < 1:
        raise BadRange(f"{_plainly(text)}: a step of 0")
    width = len(first) if first.startswith("0") else 0
    if (width and len(last) < width) or (last.startswith("0") and len(last) != len(first)):
        raise BadRange(f"{_plainly(text)}: {first} and {last} are padded differently")
    numbers = range(int(first), int(last) + 1, step)
    _limit(len(numbers), text)
    return [str(number).zfill(width) for number in numbers]


def _plainly(text: str) -> str:
    return ascii(text[:80])[1:-1]


def _limit(count: int, text: str) -> None:
    if count > MOST_NAMES:
        raise BadRange(f"{_plainly(text)}: more than {MOST_NAMES} names")
