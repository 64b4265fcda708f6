"""Made-up clusters, for tests and bench/placement.py: heavy-tailed topics, keyed skew, Kafka's rack-aware placement."""

from __future__ import annotations

import random
from collections.abc import Sequence

from placement.snapshot import Broker, LogDir, Partition, Snapshot

TB = 10**12


def cluster(
    racks: Sequence[int], partitions: int, seed: int = 1, replicas: int = 3, used: float = 0.6, new: int = 0,
    capacities: Sequence[int] = (12 * TB,), skewed: bool = False,
) -> Snapshot:  # fmt: skip
    """racks: brokers of each. capacities: taken in turn. new: empty brokers beside, one rack after the other.

    skewed: as of a cluster that has been grown and whose topics were made at different times: brokers differ widely.
    """
    rng = random.Random(seed)
    names = [f"r{rack}" for rack, many in enumerate(racks) for _ in range(many)]
    order = _interleaved(racks)
    old = len(names)
    names += [f"r{one % len(racks)}" for one in range(new)]
    capacity = [capacities[at % len(capacities)] for at in range(len(names))]
    rows: list[tuple[str, int, list[int], float]] = []
    topic = 0
    while len(rows) < partitions:
        many = min(rng.choice((6, 12, 24, 48, 96)), partitions - len(rows))
        volume = rng.paretovariate(1.1) * many
        among = order if not skewed else [one for one in order if one < max(replicas, rng.randint(old // 2, old))]
        start, shift = rng.randrange(len(among)), rng.randrange(len(among))
        for number in range(many):
            share = rng.lognormvariate(0, 0.5) * volume / many
            rows.append((f"topic{topic:04}", number, _kafka(number, start, shift, among, names, replicas), share))
        topic += 1
    scale = used * sum(capacity[:old]) / (replicas * sum(row[3] for row in rows))
    found, held = [], [0] * len(names)
    for name, number, on, share in rows:
        size = int(share * scale)
        for broker in on:
            held[broker] += size
        found.append(Partition(name, number, tuple(on), tuple(on), on[0], (size,) * len(on), ("/d",) * len(on)))
    brokers = tuple(
        Broker(at, f"kafka-{at:04}", rack, (LogDir("/d", capacity[at], max(capacity[at] - held[at], 0)),))
        for at, rack in enumerate(names)
    )
    return Snapshot("made", "made", "2026-01-01T00:00:00Z", brokers, tuple(found))


def _interleaved(racks: Sequence[int]) -> list[int]:
    """Brokers so that each next one is of another rack, as Kafka takes them."""
    starts = [sum(racks[:at]) for at in range(len(racks))]
    return [starts[rack] + at for at in range(max(racks)) for rack in range(len(racks)) if at < racks[rack]]


def _kafka(number: int, start: int, shift: int, order: Sequence[int], names: Sequence[str], replicas: int) -> list[int]:
    """Kafka's rule: the first replica round robin, the others behind it, no rack twice while there is another."""
    count = len(order)
    first = (number + start) % count
    found, at = [order[first]], first
    step = 1 + (shift + number // count) % max(count - 1, 1)
    offset = 0
    while len(found) < replicas:
        at = (first + step + offset) % count
        offset += 1
        one = order[at]
        if one in found:
            continue
        taken = {names[other] for other in found}
        if names[one] in taken and len(taken) < len({names[other] for other in order}):
            continue
        found.append(one)
    return found
