"""Robust statistics: the usual value among peers, and the distance from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from statistics import median
from typing import TypeVar

# makes the median absolute deviation of a normal distribution its standard deviation
MAD_TO_SIGMA = 1.4826

Value = TypeVar("Value", bound=Hashable)


def deviation(values: Sequence[float]) -> float:
    """The median absolute deviation, scaled like a standard deviation."""
    middle = median(values)
    return MAD_TO_SIGMA * median(abs(value - middle) for value in values)


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
    ways = _log_ways(everywhere, here)
    most = min(here, affected)
    fewest = max(affected_here, here - (everywhere - affected))
    return min(1.0, sum(
        math.exp(_log_ways(affected, count) + _log_ways(everywhere - affected, here - count) - ways)
        for count in range(fewest, most + 1)
    ))  # fmt: skip


def _log_ways(of: int, chosen: int) -> float:
    """The logarithm of how many ways there are to choose; the number itself can have thousands of digits."""
    return math.lgamma(of + 1) - math.lgamma(chosen + 1) - math.lgamma(of - chosen + 1)
