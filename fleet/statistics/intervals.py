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
    nights in five; None where no rate would. published_p, is_above_published: the same against the published rate.
    """

    rate: float
    low: float
    high: float
    others_rate: float | None
    p: float | None
    is_higher: bool
    detectable: float | None
    published_p: float | None = None
    is_above_published: bool = False


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


def binomial_interval(count: int, tries: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact bounds of a share (Clopper and Pearson 1934)."""
    tail = (1.0 - confidence) / 2
    low = 0.0 if not count else _solve(lambda share: binomial_at_least(count, tries, share) - tail, 0.0, 1.0)
    high = (
        1.0
        if count == tries
        else _solve(lambda share: binomial_at_least(count + 1, tries, share) - (1 - tail), 0.0, 1.0)
    )
    return low, high


def yearly_percent(failures: float, drive_days: float) -> float:
    """Backblaze's annualised failure rate."""
    return 100.0 * YEAR_DAYS * failures / drive_days if drive_days else 0.0


def compare(kinds: Sequence[Exposure], alpha: float = 0.05, published: Sequence[float | None] = ()) -> list[Compared]:
    """Each kind against all others together, and against its `published` rate (percent) where there is one.

    Given all failures, those of one kind are binomial with its share of the drive days, if nothing is wrong with it
    (Przyborowski and Wilenski 1940). A published rate is taken as known: the count is then Poisson.
    """
    whole = Exposure(sum(kind.failures for kind in kinds), sum(kind.drive_days for kind in kinds))
    rates = list(published) or [None] * len(kinds)
    chances = [(_among_others(whole, kind), _as_published(kind, rate)) for kind, rate in zip(kinds, rates, strict=True)]
    share = alpha / max(sum(1 for pair in chances for chance in pair if chance), 1)
    return [_compared(whole, kind, *pair, share) for kind, pair in zip(kinds, chances, strict=True)]


# The chance of so many failures or more.
Chance = Callable[[int], float]


def _among_others(whole: Exposure, kind: Exposure) -> Chance | None:
    """None where there are no others, or no days of it."""
    share = kind.drive_days / whole.drive_days if whole.drive_days else 0.0
    elsewhere = whole.failures - kind.failures
    return (lambda failures: binomial_at_least(failures, failures + elsewhere, share)) if 0 < share < 1 else None


def _as_published(kind: Exposure, rate: float | None) -> Chance | None:
    if rate is None or not kind.drive_days:
        return None
    expected = rate / 100 / YEAR_DAYS * kind.drive_days
    return lambda failures: poisson_at_least(failures, expected)


def _compared(
    whole: Exposure, kind: Exposure, among: Chance | None, as_published: Chance | None, alpha: float
) -> Compared:
    low, high = (yearly_percent(bound, kind.drive_days) for bound in poisson_interval(kind.failures))
    days = whole.drive_days - kind.drive_days
    others_rate = yearly_percent(whole.failures - kind.failures, days) if days else None
    p, published_p = (chance(kind.failures) if chance else None for chance in (among, as_published))
    best = among or as_published
    return Compared(
        yearly_percent(kind.failures, kind.drive_days),
        low,
        high,
        others_rate,
        p,
        p is not None and p <= alpha,
        _detectable(best, kind.drive_days, alpha) if best else None,
        published_p,
        published_p is not None and published_p <= alpha,
    )


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
