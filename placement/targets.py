"""How much each broker should hold, and the least bytes that any plan must move. Pure.

A rack may hold only so many copies of a partition, so racks of unequal size cannot be level with each other: the
racks' shares come first, by capacity and capped, and inside a rack brokers share by capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Band(NamedTuple):
    """What a broker may hold, in bytes, beside its target: low <= held <= high."""

    low: float
    target: float
    high: float


def water_fill(total: float, weights: Mapping[str, float], caps: Mapping[str, float]) -> dict[str, float]:
    """Shares of `total` in proportion to the weights, none above its cap; what a cap cuts off goes to the others."""
    shares = dict.fromkeys(weights, 0.0)
    left, open_ones = total, sorted(weights)
    while open_ones and left > 0:
        weight = sum(weights[one] for one in open_ones)
        if weight <= 0:
            break
        full = [one for one in open_ones if left * weights[one] / weight >= caps[one]]
        if not full:
            for one in open_ones:
                shares[one] = left * weights[one] / weight
            return shares
        for one in full:
            shares[one] = caps[one]
            left -= caps[one]
        open_ones = [one for one in open_ones if one not in full]
    return shares


def rack_cap(copies: Iterable[tuple[int, int, int]]) -> float:
    """The most bytes that one rack may hold. copies: of each partition bytes, replicas, and racks that it must keep."""
    return float(sum(size * (replicas - max(racks, 1) + 1) for size, replicas, racks in copies))


def targets(
    capacity: Sequence[int],
    rack: Sequence[str],
    shares_in: Sequence[bool],
    copies: Sequence[tuple[int, int, int]],
    elsewhere: int = 0,
) -> list[float]:
    """Bytes of each broker, in the order of `capacity`; 0 where there is no share. elsewhere: bytes that stay there."""
    usable: dict[str, float] = {}
    for at, name in enumerate(rack):
        if shares_in[at]:
            usable[name] = usable.get(name, 0.0) + capacity[at]
    total = float(sum(size * replicas for size, replicas, _racks in copies) - elsewhere)
    shares = water_fill(total, usable, dict.fromkeys(usable, rack_cap(copies)))
    return [
        shares[name] * capacity[at] / usable[name] if shares_in[at] and usable[name] else 0.0
        for at, name in enumerate(rack)
    ]


def bands(wanted: Sequence[float], percent: float) -> list[Band]:
    part = percent / 100
    return [Band(one * (1 - part), one, one * (1 + part)) for one in wanted]


def least_bytes(held: Sequence[float], allowed: Sequence[Band]) -> int:
    """No plan that ends within the bands moves less: what is above them must leave, what is missing must come."""
    above = sum(max(one - band.high, 0) for one, band in zip(held, allowed, strict=True))
    below = sum(max(band.low - one, 0) for one, band in zip(held, allowed, strict=True))
    return round(max(above, below))
