"""Few failures, many models: exact bounds of a rate, and which rates are higher than the rest by more than chance.

Pure Python: the numbers are counts of failed disks, some tens at most.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

YEAR_DAYS = 365.0
# halvings until no digit of a float is left
STEPS = 64
MOST_FAILURES = 1 << 16


class Exposure(NamedTuple):
    """Disks of one kind under watch. failures: disks that failed. drive_days: days of all of them together."""

    failures: int
    drive_days: float


class Compared(NamedTuple):
    """One kind against all others, rates in failed disks of a hundred in a year (percent).

    p: the chance of so many failures among it if it failed like the others; None where there is nothing to compare.
    is_higher: p is below the share of the error rate that one of so many comparisons may have (Bonferroni), so that at
    most `alpha` of all nights raise anything where nothing is wrong. detectable: the rate that would be noticed four
    nights in five; None where no rate would.
    """

    rate: float
    low: float
    high: float
    others_rate: float | None
    p: float | None
    is_higher: bool
    detectable: float | None


def poisson_at_least(count: int, mean: float) -> float:
    """The chance of `count` events or more where `mean` are expected."""
    return 1.0 - _poisson_at_most(count - 1, mean)


def poisson_interval(count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact bounds of the mean behind a count (Garwood 1936: both tails at most half of what is left)."""
    tail = (1.0 - confidence) / 2
    low = 0.0 if count == 0 else _solve(lambda mean: poisson_at_least(count, mean) - tail, 0.0, float(count))
    high = _solve(lambda mean: tail - _poisson_at_most(count, mean), float(count), 2.0 * count + 20.0)
    return low, high


def binomial_at_least(count: int, tries: int, share: float) -> float:
    """The chance that `count` or more of `tries` fall into a part that has `share` of the whole."""
    if count <= 0:
        return 1.0
    if count > tries or not 0 < share < 1:
        return float(share >= 1 and tries >= count)
    first = math.exp(
        math.lgamma(tries + 1) - math.lgamma(count + 1) - math.lgamma(tries - count + 1)
        + count * math.log(share) + (tries - count) * math.log1p(-share)
    )  # fmt: skip
    odds = share / (1 - share)
    return min(1.0, _sum(first, lambda k: (tries - k) / (k + 1) * odds, count))


def yearly_percent(failures: float, drive_days: float) -> float:
    """Backblaze's annualised failure rate."""
    return 100.0 * YEAR_DAYS * failures / drive_days if drive_days else 0.0


def compare(kinds: Sequence[Exposure], alpha: float = 0.05, published: Sequence[float | None] = ()) -> list[Compared]:
    """Each kind against all others together; against its `published` rate (percent) where there is one.

    Given all failures, those of one kind are binomial with its share of the drive days, if nothing is wrong with it
    (Przyborowski and Wilenski 1940). A published rate is taken as known: the count is then Poisson.
    """
    whole = Exposure(sum(kind.failures for kind in kinds), sum(kind.drive_days for kind in kinds))
    rates = list(published) or [None] * len(kinds)
    chances = [_chance(whole, kind, rate) for kind, rate in zip(kinds, rates, strict=True)]
    share = alpha / max(sum(1 for chance in chances if chance), 1)
    return [_compared(whole, kind, chance, share) for kind, chance in zip(kinds, chances, strict=True)]


Chance = Callable[[int], float]


def _chance(whole: Exposure, kind: Exposure, published: float | None) -> Chance | None:
    """The chance of so many failures or more among it; None where there is nothing to compare with."""
    if not kind.drive_days:
        return None
    if published is not None:
        expected = published / 100 / YEAR_DAYS * kind.drive_days
        return lambda failures: poisson_at_least(failures, expected)
    share, elsewhere = kind.drive_days / whole.drive_days, whole.failures - kind.failures
    return (lambda failures: binomial_at_least(failures, failures + elsewhere, share)) if share < 1 else None


def _compared(whole: Exposure, kind: Exposure, chance: Chance | None, alpha: float) -> Compared:
    low, high = (yearly_percent(bound, kind.drive_days) for bound in poisson_interval(kind.failures))
    rate = yearly_percent(kind.failures, kind.drive_days)
    days = whole.drive_days - kind.drive_days
    others_rate = yearly_percent(whole.failures - kind.failures, days) if days else None
    if not chance:
        return Compared(rate, low, high, others_rate, None, False, None)
    p = chance(kind.failures)
    return Compared(rate, low, high, others_rate, p, p <= alpha, _detectable(chance, kind.drive_days, alpha))


def _detectable(chance: Chance, drive_days: float, alpha: float, power: float = 0.8) -> float | None:
    """The least rate at which so many failures are to be expected that they are noticed with this power."""
    most = 1
    while chance(most) > alpha:
        most *= 2
        if most > MOST_FAILURES:
            return None
    needed = bisect.bisect_left(range(most), True, lo=most // 2, key=lambda count: chance(count) <= alpha)
    mean = _solve(lambda mean: poisson_at_least(needed, mean) - power, 0.0, 4.0 * needed + 20.0)
    return yearly_percent(mean, drive_days)


def _poisson_at_most(count: int, mean: float) -> float:
    if count < 0:
        return 0.0
    if mean <= 0:
        return 1.0
    last = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    return min(1.0, _sum(last, lambda done: max(count - (done - count), 0) / mean, count))


def _sum(term: float, ratio: Callable[[int], float], begin: int) -> float:
    """term, then each next one by its ratio to the last, until they no longer count."""
    total, place = term, begin
    while term > total * 1e-17:
        term *= ratio(place)
        total += term
        place += 1
    return total


def _solve(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises from below zero crosses it, by halving."""
    while rising(high) < 0:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
