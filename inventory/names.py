"""Many names in few words: kafka-a[01-03,10] as ClusterShell writes them, or the first few and how many more. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

DIGITS = re.compile(r"([0-9]+)")


def some(names: Sequence[str], most: int = 5) -> str:
    """Names for a sentence: a, b, c and 7 more."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def ranges(names: Iterable[str]) -> str:
    """Names in short, as ClusterShell writes them.

    >>> ranges(["kafka-a01", "kafka-a02", "kafka-a03", "kafka-a10", "zk1"])
    'kafka-a[01-03,10],zk1'
    """
    return ",".join(groups(names))


def groups(names: Iterable[str]) -> list[str]:
    """The parts of `ranges`, in natural order."""
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for name in sorted(set(names), key=natural):
        parts = DIGITS.split(name)
        shapes.setdefault(tuple(parts[::2]), []).append(parts)
    return [group for alike in shapes.values() for group in _folded(alike)]


def natural(name: str) -> list[tuple[int, int, str]]:
    """To sort by: kafka-2 comes before kafka-10."""
    return [(1, int(part), part) if part.isdecimal() else (0, 0, part) for part in DIGITS.split(name)]


def _folded(alike: Sequence[Sequence[str]]) -> list[str]:
    """Names of one shape, folded at the number that leaves the fewest groups."""
    numbers = range(1, len(alike[0]), 2)
    if len(alike) == 1 or not numbers:
        return ["".join(parts) for parts in alike]
    return min((_folded_at(place, alike) for place in reversed(numbers)), key=len)


def _folded_at(place: int, alike: Sequence[Sequence[str]]) -> list[str]:
    rest: dict[tuple[str, str], list[str]] = {}
    for parts in alike:
        rest.setdefault(("".join(parts[:place]), "".join(parts[place + 1 :])), []).append(parts[place])
    return [f"{before}{inside}{after}" for (before, after), numbers in rest.items() for inside in _brackets(numbers)]


def _brackets(numbers: Sequence[str]) -> Iterator[str]:
    """[01-03,10] of 01, 02, 03, 10; numbers that are padded differently get brackets of their own."""
    padded = {len(number) for number in numbers if number.startswith("0") and len(number) > 1}
    widths: dict[int, list[int]] = {}
    for number in numbers:
        widths.setdefault(len(number) if len(number) in padded else 0, []).append(int(number))
    for width, values in widths.items():
        spans = [
            f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
            for first, last in _spans(sorted(values))
        ]
        alone = len(values) == 1
        yield spans[0] if alone else f"[{','.join(spans)}]"


def _spans(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number > last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
