"""What a plan changes, before and after: bytes, utilisation, replicas, leaders, degree, racks, hours. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from placement import network
from placement.plan import Plan
from placement.snapshot import Partition, Snapshot

# of a replica's throttle where nothing else is said: 50 MB/s
RATE = 50_000_000


class BrokerLoad(NamedTuple):
    """degree: with how many other brokers it shares a partition, its sources when it must be refilled."""

    id: int
    host: str
    used_percent: float
    replicas: int
    leaders: int
    leader_bytes: int
    degree: int


class Side(NamedTuple):
    """The cluster before or after. free_spread_percent: (most free - least free) / least free."""

    brokers: tuple[BrokerLoad, ...]
    used_percent_min: float
    used_percent_max: float
    used_percent_stddev: float
    free_spread_percent: float | None
    leaders_min: int
    leaders_max: int
    degree_mean: float
    fewest_racks: int


class Summary(NamedTuple):
    """hours: at the throttle `rate_bytes_per_s`, None where the throttle is below what producers write."""

    partitions: int
    replicas: int
    moved_bytes: int
    least_bytes: int
    leaders_changed: int
    rate_bytes_per_s: int
    hours: float | None
    before: Side
    after: Side
    notes: tuple[str, ...]


def summarise(snapshot: Snapshot, plan: Plan, rate_bytes_per_s: int = RATE) -> Summary:
    changed = {(one.topic, one.number): one.after for one in plan.changes}
    before = {(row.topic, row.number): row.replicas for row in snapshot.partitions}
    after = {**before, **changed}
    arriving: Counter[int] = Counter()
    leaving: Counter[int] = Counter()
    in_rates: Counter[int] = Counter()
    rows = {(row.topic, row.number): row for row in snapshot.partitions}
    live = {row.id for row in snapshot.brokers if row.live}
    rates = {(row.topic, row.number): row.in_bytes_per_s or 0 for row in snapshot.partitions}
    for one in plan.changes:
        for broker in one.adding:
            arriving[broker] += one.size_bytes
            in_rates[broker] += rates.get((one.topic, one.number), 0)
        leaving[_sender(rows[one.topic, one.number], live)] += one.size_bytes * len(one.adding)
    leaders_changed = sum(one.before[0] != one.after[0] for one in plan.changes)
    return Summary(
        len(plan.changes), sum(len(one.adding) for one in plan.changes),
        plan.moved_bytes, plan.least_bytes, leaders_changed, rate_bytes_per_s,
        network.hours(arriving, leaving, rate_bytes_per_s, in_rates), _side(snapshot, before), _side(snapshot, after),
        _notes(snapshot, plan),
    )  # fmt: skip


def _sender(row: Partition, live: Collection[int]) -> int:
    """Who sends what is copied: the leader, or who will lead instead."""
    ready = [one for one in (row.leader, *row.replicas) if one in live and one in row.in_sync]
    return ready[0] if ready else row.replicas[0]


def _notes(snapshot: Snapshot, plan: Plan) -> tuple[str, ...]:
    uneven = [row.name for row in snapshot.partitions if _differs(row)]
    told = list(plan.notes)
    if uneven:
        names = ", ".join(uneven[:5])
        told.append(
            f"replicas of {len(uneven)} partitions differ in size by more than 20 % ({names}); the largest counts"
        )
    if all(row.in_bytes_per_s is None for row in snapshot.partitions):
        told.append("produce rates are unknown, so the hours do not include what is written meanwhile")
    if any(one.moved_bytes > one.size_bytes * len(one.adding) for one in plan.changes):
        told.append("the hours do not include copies between log dirs of one broker")
    return tuple(told)


def _differs(row: Partition) -> bool:
    known = [size for size in row.sizes_bytes if size]
    return len(known) > 1 and max(known) > 1.2 * min(known)


def _side(snapshot: Snapshot, lie: Mapping[tuple[str, int], Sequence[int]]) -> Side:
    size = {(row.topic, row.number): row.size_bytes or 0 for row in snapshot.partitions}
    old = {(row.topic, row.number): row.replicas for row in snapshot.partitions}
    used = {row.id: row.used_bytes for row in snapshot.brokers}
    replicas: Counter[int] = Counter()
    leaders: Counter[int] = Counter()
    leader_bytes: Counter[int] = Counter()
    others: dict[int, set[int]] = {row.id: set() for row in snapshot.brokers}
    for key, found in lie.items():
        for one in found:
            replicas[one] += 1
            others[one].update(found)
            used[one] += size[key] * (one not in old[key])
        for one in set(old[key]) - set(found):
            used[one] -= size[key]
        leaders[found[0]] += 1
        leader_bytes[found[0]] += size[key]
    loads = tuple(
        BrokerLoad(
            row.id, row.host, 100 * used[row.id] / row.capacity_bytes if row.capacity_bytes else 0.0, replicas[row.id],
            leaders[row.id], leader_bytes[row.id], len(others[row.id] - {row.id}),
        )
        for row in sorted(snapshot.brokers)
    )  # fmt: skip
    return _totals(snapshot, loads, used, lie)


def _totals(
    snapshot: Snapshot,
    loads: tuple[BrokerLoad, ...],
    used: Mapping[int, int],
    lie: Mapping[tuple[str, int], Sequence[int]],
) -> Side:
    counted = [row for row in snapshot.brokers if row.live and row.capacity_bytes]
    shares = [100 * used[row.id] / row.capacity_bytes for row in counted] or [0.0]
    free = [row.capacity_bytes - used[row.id] for row in counted] or [0]
    live = {row.id for row in counted}
    leads = [row.leaders for row in loads if row.id in live] or [0]
    rack = {row.id: row.rack or f"broker {row.id}" for row in snapshot.brokers}
    return Side(
        loads, min(shares), max(shares), statistics.pstdev(shares),
        100 * (max(free) - min(free)) / min(free) if min(free) > 0 else None, min(leads), max(leads),
        statistics.fmean(row.degree for row in loads if row.id in live) if live else 0.0,
        min((len({rack[one] for one in found}) for found in lie.values()), default=0),
    )  # fmt: skip
