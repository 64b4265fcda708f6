"""What is usual among peers, and how far one is from it, in ways that a few odd ones cannot bend."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median
from typing import TypeVar

# makes the median absolute deviation of a normal distribution its standard deviation
MAD_TO_SIGMA = 1.4826

Value = TypeVar("Value", bound=Hashable)


def deviation(values: Sequence[float]) -> float:
    """The median absolute deviation, scaled like a standard deviation."""
    middle = median(values)
    return MAD_TO_SIGMA * median(abs(value - middle) for value in values)


def score(value: float, peers: Sequence[float], least_deviation: float) -> float:
    """How many robust deviations a value lies above its peers' median; the deviation is taken as `least_…` at least.

    Half of the peers may be equal, so that their deviation is nothing: then the smallest difference would be endless.
    """
    return (value - median(peers)) / max(deviation(peers), least_deviation)


def majority(values: Iterable[Value]) -> Value | None:
    """What more than half have; None if nothing is."""
    counted = Counter(values)
    if not counted:
        return None
    value, count = counted.most_common(1)[0]
    return value if count * 2 > sum(counted.values()) else None


def by_chance(affected_here: int, here: int, affected: int, everywhere: int) -> float:
    """How likely at least `affected_here` of `here` fall together, if `affected` of `everywhere` are so at random.

    The upper tail of the hypergeometric distribution.
    """
    ways = math.comb(everywhere, here)
    most = min(here, affected)
    hits = sum(
        math.comb(affected, count) * math.comb(everywhere - affected, here - count)
        for count in range(affected_here, most + 1)
        if here - count <= everywhere - affected
    )
    return hits / ways


def groups(members: Mapping[Value, str]) -> dict[str, list[Value]]:
    """Members by what they have in common; what is not said (empty) makes no group."""
    found: dict[str, list[Value]] = {}
    for member, common in members.items():
        if common:
            found.setdefault(common, []).append(member)
    return found
