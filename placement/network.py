"""Bytes per second that each broker receives and sends for clients and replication. Pure.

In: the rate of every replica held. Out: of every partition led, the rate times its other replicas and its readers. With
T bytes/s in total, n brokers, r replicas and g groups that read all, an even cluster has in = T r / n and
out = T (r - 1 + g) / n for each broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Traffic(NamedTuple):
    in_bytes_per_s: float
    out_bytes_per_s: float


def traffic(led: Iterable[tuple[Sequence[int], float]], readers: float = 1.0) -> Mapping[int, Traffic]:
    """led: of each partition its replicas, the leader first, and what producers write to it in bytes/s."""
    into: dict[int, float] = {}
    out: dict[int, float] = {}
    for replicas, rate in led:
        for one in replicas:
            into[one] = into.get(one, 0.0) + rate
            out.setdefault(one, 0.0)
        out[replicas[0]] += rate * (len(replicas) - 1 + readers)
    return {one: Traffic(into[one], out[one]) for one in sorted(into)}


def hours(
    arriving: Mapping[int, int], leaving: Mapping[int, int], rate_bytes_per_s: float, in_rates: Mapping[int, float]
) -> float | None:
    """Until the busiest broker is done, each direction at the throttle; None where a throttle is below what is written.

    arriving, leaving: bytes by broker. in_rates: what producers write meanwhile to what moves to a broker.
    """
    found = [size / rate_bytes_per_s for size in leaving.values()]
    for one, size in arriving.items():
        left = rate_bytes_per_s - in_rates.get(one, 0.0)
        if left <= 0:
            return None
        found.append(size / left)
    return max(found, default=0.0) / 3600
