"""The working copy of a cluster while a plan is made: who holds what, which moves are legal, what each would cost.

Brokers and partitions are numbered from 0 in the order of their ids and names, so that every choice between equals is
the same on any machine.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from placement.errors import PlacementError
from placement.snapshot import Broker, Partition, Snapshot
from placement.targets import targets

MOST_USED_PERCENT = 85
# of a replica: what rounding may add to a share that divides evenly
EVEN = 1e-9
# of all partitions: so many sizes may be guessed
MOST_GUESSED = 0.01


class Move(NamedTuple):
    """One replica of a partition from a broker to another (numbers of the board). log_dir: the receiver's volume."""

    partition: int
    source: int
    receiver: int
    log_dir: int


class Board:
    """sizes: bytes of one replica of each partition. held: bytes of each broker once everything has moved.

    sorted_on: of each broker its (bytes, partition), ascending. racks_needed: how many racks each partition must keep.
    """

    def __init__(self, snapshot: Snapshot, receives: Iterable[int], guess: bool = False) -> None:
        self.brokers = sorted(snapshot.brokers)
        self.number = {broker.id: at for at, broker in enumerate(self.brokers)}
        may_receive = set(receives)
        self.receives = [broker.id in may_receive for broker in self.brokers]
        # who has a share of the whole: all who may receive, unless a question says otherwise
        self.shares = list(self.receives)
        self.capacity = [broker.capacity_bytes for broker in self.brokers]
        self.rack = racks(self.brokers)
        self.partitions = sorted(snapshot.partitions, key=lambda row: (row.topic, row.number))
        self.sizes = sizes_of(self.partitions, guess)
        self.same_rack = False
        self.keeps_elsewhere = False
        self.replicas = [[self.number[one] for one in row.replicas] for row in self.partitions]
        self.fixed = [bool(row.adding) for row in self.partitions]
        possible = len({rack for rack, broker in zip(self.rack, self.brokers, strict=True) if broker.live})
        self.racks_needed = [min(len({self.rack[one] for one in found}), possible) for found in self.replicas]
        self.topic = self._topics()
        self.on_topic: list[dict[int, int]] = [{} for _ in self.brokers]
        self.quota: list[list[int]] = []
        self.excess = 0
        self.held = [0] * len(self.brokers)
        self.sorted_on: list[list[tuple[int, int]]] = [[] for _ in self.brokers]
        self.volumes = [broker.volumes for broker in self.brokers]
        self.room = [
            [int(one.usable_bytes - one.capacity_bytes * (100 - MOST_USED_PERCENT) / 100) for one in found]
            for found in self.volumes
        ]
        self.arrived: dict[tuple[int, int], int] = {}
        for partition, found in enumerate(self.replicas):
            for broker in found:
                self._enter(partition, broker)

    def _topics(self) -> list[int]:
        numbers = {name: at for at, name in enumerate(sorted({row.topic for row in self.partitions}))}
        return [numbers[row.topic] for row in self.partitions]

    def _count(self, partition: int, broker: int, by: int) -> None:
        self.held[broker] += by * self.sizes[partition]
        topic = self.topic[partition]
        before = self.on_topic[broker].get(topic, 0)
        self.on_topic[broker][topic] = before + by
        if self.quota:
            most = self.quota[broker][topic]
            self.excess += max(before + by - most, 0) - max(before - most, 0)

    def set_quota(self, targets: Sequence[float], spare: bool = False) -> None:
        """How many replicas of a topic each broker may hold: its part of the topic, by what it should hold in all.

        The part is rounded up; with `spare` one that needs no rounding may be exceeded by one replica.
        """
        total = sum(targets) or 1.0
        replicas = [0] * (max(self.topic, default=-1) + 1)
        for partition, found in enumerate(self.replicas):
            replicas[self.topic[partition]] += len(found)
        self.quota = [
            [
                math.floor(many * one / total + EVEN) + 1 if spare else math.ceil(many * one / total - EVEN)
                for many in replicas
            ]
            for one in targets
        ]
        self.excess = sum(
            max(many - self.quota[broker][topic], 0)
            for broker, found in enumerate(self.on_topic) for topic, many in found.items()
        )  # fmt: skip

    def has_quota(self, partition: int, receiver: int) -> bool:
        topic = self.topic[partition]
        return self.on_topic[receiver].get(topic, 0) < self.quota[receiver][topic]

    def added_excess(self, partition: int, source: int, receiver: int) -> int:
        """By how much a move changes the number of replicas that are above their topic's quota."""
        topic = self.topic[partition]
        comes = self.on_topic[receiver].get(topic, 0) >= self.quota[receiver][topic]
        goes = self.on_topic[source].get(topic, 0) > self.quota[source][topic]
        return comes - goes

    def keeps_racks(self, partition: int, source: int, receiver: int) -> bool:
        """source: -1 where nobody gives."""
        rack = self.rack
        if source >= 0 and (self.same_rack or rack[source] == rack[receiver]):
            return rack[source] == rack[receiver]
        left = {rack[one] for one in self.replicas[partition] if one != source}
        left.add(rack[receiver])
        return len(left) >= min(self.racks_needed[partition], len(self.replicas[partition]))

    def is_legal(self, partition: int, source: int, receiver: int) -> bool:
        """Without a look at room: not twice on a broker, racks kept, not a partition that is moving already."""
        return (
            self.receives[receiver]
            and not self.fixed[partition]
            and receiver not in self.replicas[partition]
            and self.keeps_racks(partition, source, receiver)
        )

    def largest_room(self, broker: int) -> int:
        return max(self.room[broker], default=-1)

    def move(self, partition: int, source: int, receiver: int) -> Move:
        """Does it. Its slot in the order of replicas is the source's; the roomiest volume takes it."""
        log_dir = self.take(partition, receiver)
        self._transfer(partition, source, receiver)
        return Move(partition, source, receiver, log_dir)

    def take(self, partition: int, broker: int) -> int:
        """The broker's roomiest volume, where the replica comes to lie: a new one, or one of another of its volumes."""
        rooms = self.room[broker]
        log_dir = max(range(len(rooms)), key=lambda at: (rooms[at], -at))
        rooms[log_dir] -= self.sizes[partition]
        self.arrived[partition, broker] = log_dir
        return log_dir

    def add(self, partition: int, broker: int) -> None:
        """One replica more, at the end of the order."""
        self.take(partition, broker)
        self.replicas[partition].append(broker)
        self._enter(partition, broker)

    def remove(self, partition: int, broker: int) -> None:
        self.replicas[partition].remove(broker)
        self._leave(partition, broker)

    def lead(self, partition: int, broker: int) -> None:
        """Puts it first in the order of replicas; the others keep theirs."""
        found = self.replicas[partition]
        if found[0] != broker:
            found.remove(broker)
            found.insert(0, broker)

    def original(self, partition: int) -> list[int]:
        return [self.number[one] for one in self.partitions[partition].replicas]

    def targets(self) -> list[float]:
        """Bytes that each broker should hold, of all that is held now and is to be held."""
        copies = [
            (size, len(found), min(racks, len(found)))
            for size, found, racks in zip(self.sizes, self.replicas, self.racks_needed, strict=True)
        ]
        elsewhere = sum(size for size, shares in zip(self.held, self.shares, strict=True) if not shares)
        return targets(self.capacity, self.rack, self.shares, copies, elsewhere if self.keeps_elsewhere else 0)

    def undo(self, move: Move) -> None:
        partition, source, receiver, log_dir = move
        self.room[receiver][log_dir] += self.sizes[partition]
        del self.arrived[partition, receiver]
        self._transfer(partition, receiver, source)

    def _transfer(self, partition: int, source: int, receiver: int) -> None:
        found = self.replicas[partition]
        found[found.index(source)] = receiver
        self._leave(partition, source)
        self._enter(partition, receiver)

    def _enter(self, partition: int, broker: int) -> None:
        insort(self.sorted_on[broker], (self.sizes[partition], partition))
        self._count(partition, broker, 1)

    def _leave(self, partition: int, broker: int) -> None:
        rows = self.sorted_on[broker]
        del rows[bisect_left(rows, (self.sizes[partition], partition))]
        self._count(partition, broker, -1)


def sizes_of(partitions: Sequence[Partition], guess: bool) -> list[int]:
    """Of one replica each. PlacementError where sizes are missing, unless they are few and may be guessed."""
    missing = [row.name for row in partitions if row.size_bytes is None]
    if missing and not (guess and len(missing) <= MOST_GUESSED * len(partitions)):
        few = "" if guess else f"; --guess takes the topic's median where at most {MOST_GUESSED:.0%} are missing"
        raise PlacementError(f"{len(missing)} partitions have no known size: {', '.join(missing[:5])}{few}")
    known: dict[str, list[int]] = {}
    for row in partitions:
        if row.size_bytes is not None:
            known.setdefault(row.topic, []).append(row.size_bytes)
    return [
        row.size_bytes if row.size_bytes is not None else round(statistics.median(known.get(row.topic, [0])))
        for row in partitions
    ]


def racks(brokers: Sequence[Broker]) -> list[str]:
    """One name a broker: a broker without a rack is a rack of its own where nobody has one, or where it is not live.

    PlacementError where some living brokers have a rack and others none: Kafka itself then refuses to place by racks.
    """
    live = [broker for broker in brokers if broker.live]
    without = [broker.id for broker in live if not broker.rack]
    if without and len(without) < len(live):
        names = ", ".join(map(str, without[:5]))
        raise PlacementError(f"brokers {names} have no rack and others have one: set broker.rack on all of them")
    return [broker.rack or f"broker {broker.id}" for broker in brokers]
