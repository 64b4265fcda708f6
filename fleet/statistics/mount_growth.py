"""The pace at which a mount fills, from its daily steps, and the bounds of it. Pure.

Old data are deleted at once, and data that move come at once: neither is a pace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fleet.statistics.trends import Points

# A step of so many days ago counts half.
HALF_LIFE_DAYS = 3
# Before its own steps say how much they differ, a mount's are taken to differ by half of their mean: as if two days
# had said so.
PRIOR_DAYS, PRIOR_SHARE = 2, 0.5
# Of a normal distribution: 95 % lie within so many standard deviations.
Z = 1.96


class Step(NamedTuple):
    """What a mount grew in a day. age: days ago."""

    age: int
    grown: float

    @property
    def weight(self) -> float:
        return float(2 ** (-self.age / HALF_LIFE_DAYS))


class Pace(NamedTuple):
    """deviation: of one day's step. weighed: how many steps of equal weight the steps are worth. since: the last day of
    the points that it was made of, and full: how full the mount was there."""

    per_day: float
    deviation: float
    weighed: float
    steps: int
    since: int
    full: float

    def beside(self, days: float) -> float:
        """95 % of the means of so many days to come lie no farther from the pace."""
        return (
            student(self.weighed - 1 + PRIOR_DAYS) * self.deviation * math.sqrt(1 / self.weighed + 1 / max(days, 1.0))
        )


def pace(points: Points, least: float) -> Pace | None:
    """Of a mount's days, oldest first. least: what a fall must have to be a deletion. None where it does not fill."""
    night, value = points[-1]
    falls = [place for place in range(1, len(points)) if points[place][1] - points[place - 1][1] < -least]
    if len(falls) >= 2:
        tops = [points[place - 1] for place in falls]
        if value <= max(full for _day, full in tops) + least:
            return _of(_steps(tops, night), tops[-1])
        points = points[falls[-1] :]
        falls = []
    kept = [step for place, step in _daily(points, night) if place not in falls]
    return _of(kept, points[-1])


def fastest(points: Points, days: int) -> float:
    """What it grew on the fastest of the last days."""
    night = points[-1][0]
    return max((step.grown for _place, step in _daily(points, night) if step.age < days), default=0.0)


def _daily(points: Points, night: int) -> list[tuple[int, Step]]:
    """By the place of the later of two points; days between them share what it grew."""
    return [
        (
            place,
            Step(night - day, (points[place][1] - points[place - 1][1]) / (points[place][0] - points[place - 1][0])),
        )
        for place in range(1, len(points))
        for day in range(points[place - 1][0] + 1, points[place][0] + 1)
    ]


def _steps(tops: Points, night: int) -> list[Step]:
    return [
        Step(night - later[0], (later[1] - one[1]) / (later[0] - one[0]))
        for one, later in zip(tops, tops[1:], strict=False)
    ]


def _of(steps: Sequence[Step], last: tuple[int, float]) -> Pace | None:
    """The median of the steps, each by its weight; of two, the smaller."""
    if not steps:
        return None
    whole = sum(step.weight for step in steps)
    per_day = min(step.grown for step in steps) if len(steps) <= 2 else _median(steps, whole / 2)
    if per_day <= 0:
        return None
    count = whole**2 / sum(step.weight**2 for step in steps)
    variance = sum(step.weight * (step.grown - per_day) ** 2 for step in steps) / whole
    prior = PRIOR_DAYS * (PRIOR_SHARE * per_day) ** 2
    deviation = math.sqrt((count * variance + prior) / (count - 1 + PRIOR_DAYS))
    return Pace(per_day, deviation, count, len(steps), *last)


def _median(steps: Sequence[Step], half: float) -> float:
    reached = 0.0
    for step in sorted(steps, key=lambda step: step.grown):
        reached += step.weight
        if reached >= half * (1 - 1e-12):
            return step.grown
    raise AssertionError("the weights add up to more than their half")


def student(degrees: float) -> float:
    """97.5 % of Student's t lie below; by the expansion of Cornish and Fisher, within 4 % for 2 degrees or more."""
    terms = (
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
    )
    return Z + sum(term / degrees**power for power, term in enumerate(terms, 1))
