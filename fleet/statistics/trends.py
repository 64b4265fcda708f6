"""The pace of a counter: the month's by a robust slope, the last three days' beside it, and bounds of both. Pure.

A point is a day and a value, oldest first, one point a day at most.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

Points = Sequence[tuple[int, float]]
# What the last days count for, the newest first.
RECENT_WEIGHTS = (3, 2, 1)
# Of a normal distribution: 95 % lie within so many standard deviations.
DEVIATIONS = 1.96


class Slope(NamedTuple):
    """A pace a day, with its bounds (95 %)."""

    per_day: float
    low: float
    high: float


class Recent(NamedTuple):
    """The last three days. rise: of all three together; least, most: of the slowest and of the fastest of them."""

    per_day: float
    rise: float
    least: float
    most: float


def theil_sen(points: Points) -> Slope:
    """The median of the slopes between all pairs of points, with Sen's bounds (Sen 1968, by Kendall's tau).

    Up to 29 % of the points may be arbitrarily wrong. Two points at least; with few of them the bounds are the
    slowest and the fastest slope.
    """
    slopes = sorted(
        (later[1] - one[1]) / (later[0] - one[0]) for place, one in enumerate(points) for later in points[place + 1 :]
    )
    count = len(points)
    spread = DEVIATIONS * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, math.floor((len(slopes) - spread) / 2))
    return Slope(statistics.median(slopes), slopes[low], slopes[len(slopes) - 1 - low])


def spread(points: Points, days: float) -> float:
    """How far the mean pace of so many days to come may lie from the true one (95 %): by the daily steps so far."""
    steps = [(later[1] - one[1]) / (later[0] - one[0]) for one, later in zip(points, points[1:], strict=False)]
    return DEVIATIONS * statistics.pstdev(steps) / math.sqrt(max(days, 1.0))


def recent(points: Points) -> Recent:
    """Of the days that were not reported: what the counter rose until the next report, in equal parts."""
    night = points[-1][0]
    paces = [
        (night - day, (later[1] - one[1]) / (later[0] - one[0]))
        for one, later in zip(points, points[1:], strict=False)
        for day in range(max(one[0] + 1, night - len(RECENT_WEIGHTS) + 1), later[0] + 1)
    ]
    if not paces:
        return Recent(0.0, 0.0, 0.0, 0.0)
    weights = sum(RECENT_WEIGHTS[back] for back, _pace in paces)
    each = [pace for _back, pace in paces]
    mean = sum(RECENT_WEIGHTS[back] * pace for back, pace in paces) / weights
    return Recent(mean, sum(each), min(each), max(each))
