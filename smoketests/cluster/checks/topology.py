"""Which topics share brokers, and does each broker carry its share of them?

Topics that the same brokers lead are a group. Groups that overlap, on some brokers but not on all, load those brokers
with both; inside a group a broker may lead more partitions than the others. Kafka's own placement creates overlaps as
soon as topics have fewer partitions than there are brokers, so they are listed in the facts without a warning.

Warning: in one group a broker leads 50 % more partitions than the mean, and 10 more than its share; as many pairs of
groups overlap as the limit `overlaps_warning`, if it is not 0.

Unknown: no reply from Kafka.

Ok again: as soon as leaders or replicas are moved. With the limit `by_replicas: 1` a topic belongs to all brokers that
hold it, not only to those that lead it; with `spread_by_broker: 1` its load is estimated for producers that choose a
broker, not a partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from agent.status import combine, ok, warning
from inventory.names import some
from smoketests.cluster.view import ClusterFinding, ClusterView, partitions_of
from smoketests.readers.kafka.model import Partition

LIMITS = {
    "uneven_percent_warning": 50,
    "uneven_min_excess": 10,
    "overlaps_warning": 0,
    "by_replicas": 0,
    "spread_by_broker": 0,
    "pairs_among_groups": 50,
    "named": 3,
}
READS: Mapping[str, Any] = {}
TOLD_GROUPS = 20
MIB = 1 << 20

Brokers = frozenset[int]
# topic -> broker -> how many of its partitions it leads (or holds)
Placed = Mapping[str, Counter[int]]


class Overlap(NamedTuple):
    """Two groups and the brokers that both have."""

    one: Brokers
    other: Brokers
    shared: Brokers


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    partitions = partitions_of(view)
    placed = placement(partitions, bool(limits["by_replicas"]))
    found = groups(placed)
    return [
        _groups(found, placed),
        _overlaps(found, shares(placed, weights(partitions), bool(limits["spread_by_broker"])), limits),
        _uneven(found, placed, limits),
    ]


def placement(partitions: Iterable[Partition], by_replicas: bool = False) -> dict[str, Counter[int]]:
    """How many partitions of each topic each broker leads, or holds; a topic without any is left out."""
    found: dict[str, Counter[int]] = {}
    for row in partitions:
        brokers = row.replicas if by_replicas else (row.leader,) if row.leader >= 0 else ()
        if brokers:
            found.setdefault(row.topic, Counter()).update(brokers)
    return found


def groups(placed: Placed) -> dict[Brokers, list[str]]:
    """Topics by the very brokers that they are on, the largest group first; in time topics x brokers."""
    found: dict[Brokers, list[str]] = {}
    for topic in sorted(placed):
        found.setdefault(frozenset(placed[topic]), []).append(topic)
    return dict(sorted(found.items(), key=lambda group: (-len(group[1]), sorted(group[0]))))


def overlaps(found: Iterable[Brokers]) -> Iterator[Overlap]:
    """The pairs of groups that share brokers; their number grows with the square of the groups'."""
    for one, other in combinations(found, 2):
        if one & other:
            yield Overlap(one, other, one & other)


def on_broker(found: Iterable[Brokers]) -> dict[int, list[Brokers]]:
    """The groups that each broker has."""
    rows: dict[int, list[Brokers]] = {}
    for group in found:
        for broker in group:
            rows.setdefault(broker, []).append(group)
    return dict(sorted(rows.items()))


def weights(partitions: Iterable[Partition]) -> dict[str, float]:
    """What weighs how much: the MiB of each topic; where some sizes are not told, its partitions."""
    rows = list(partitions)
    told = all(row.size_bytes is not None for row in rows) and any(row.size_bytes for row in rows)
    found: dict[str, float] = {}
    for row in rows:
        found[row.topic] = found.get(row.topic, 0.0) + ((row.size_bytes or 0) / MIB if told else 1.0)
    return found


def shares(placed: Placed, weight: Mapping[str, float], by_broker: bool = False) -> dict[int, float]:
    """The load of each broker, if each topic's is spread evenly over its partitions, or over its brokers."""
    found: dict[int, float] = {}
    for topic, counted in placed.items():
        parts = len(counted) if by_broker else counted.total()
        for broker, count in counted.items():
            part = (1 if by_broker else count) / parts
            found[broker] = found.get(broker, 0.0) + weight.get(topic, 0.0) * part
    return dict(sorted(found.items()))


def _groups(found: Mapping[Brokers, Sequence[str]], placed: Placed) -> ClusterFinding:
    rows = [
        {
            "brokers": sorted(group),
            "topics": len(topics),
            "such_as": list(topics[:3]),
            "partitions": _total(topics, placed),
        }
        for group, topics in list(found.items())[:TOLD_GROUPS]
    ]
    said = f"{len(placed)} topics in {len(found)} groups, each on the same brokers"
    return ClusterFinding("groups", ok(said), {"topics": len(placed), "groups": len(found), "largest": rows})


def _total(topics: Iterable[str], placed: Placed) -> int:
    return sum(placed[topic].total() for topic in topics)


def _overlaps(
    found: Mapping[Brokers, Sequence[str]], load: Mapping[int, float], limits: Mapping[str, Any]
) -> ClusterFinding:
    """Pairs are counted among the largest groups only; how many groups each broker has is counted of all."""
    largest = list(found)[: int(limits["pairs_among_groups"])]
    pairs = list(overlaps(largest))
    among = f" among the {len(largest)} largest of {len(found)} groups" if len(largest) < len(found) else ""
    held = {broker: len(rows) for broker, rows in on_broker(found).items()}
    total = sum(load.values()) or 1.0
    facts = {
        "pairs": len(pairs),
        "groups_of_broker": held,
        "load_percent": {broker: round(100 * part / total, 1) for broker, part in load.items()},
        "largest": [[sorted(brokers) for brokers in pair] for pair in pairs[:TOLD_GROUPS]],
    }
    if not pairs:
        return ClusterFinding("overlaps", ok(f"no groups of topics overlap{among}"), facts)
    most = max(held, key=lambda broker: held[broker])
    said = (
        f"{len(pairs)} pairs of groups overlap{among}, {held[most]} groups on broker {most}: {_named(pairs[0], found)}"
    )
    loud = 0 < limits["overlaps_warning"] <= len(pairs)
    return ClusterFinding("overlaps", warning(said) if loud else ok(said), facts)


def _named(pair: Overlap, found: Mapping[Brokers, Sequence[str]]) -> str:
    one, other = (found[group][0][:80] for group in pair[:2])
    return f"such as {one} and {other} on broker {some([str(broker) for broker in sorted(pair.shared)])}"


def _uneven(found: Mapping[Brokers, Sequence[str]], placed: Placed, limits: Mapping[str, Any]) -> ClusterFinding:
    rows, odd = [], 0
    for group, topics in found.items():
        led: Counter[int] = Counter()
        for topic in topics:
            led.update(placed[topic])
        most, mean = max(led, key=lambda broker: (led[broker], -broker)), led.total() / len(group)
        percent, excess = 100 * (led[most] / mean - 1), led[most] - -(-led.total() // len(group))
        odd += len(set(led.values())) > 1
        if percent >= limits["uneven_percent_warning"] and excess >= limits["uneven_min_excess"]:
            said = (
                f"broker {most} has {led[most]} partitions of {_size(topics)}, the mean of its {len(group)} brokers is"
            )
            rows.append((excess, f"{said} {mean:.1f}"))
    rows.sort(reverse=True)
    told = [said for _excess, said in rows[:TOLD_GROUPS]]
    facts = {"groups": len(found), "uneven_groups": odd, "told": told}
    verdicts = [warning(f"{len(rows)} groups are uneven: {some(told, limits['named'])}")] if rows else []
    said = f"{odd} of {len(found)} groups do not divide evenly by their brokers"
    return ClusterFinding("uneven", combine(verdicts, said), facts)


def _size(topics: Sequence[str]) -> str:
    return topics[0][:80] if len(topics) == 1 else f"{topics[0][:80]} and {len(topics) - 1} topics like it"
