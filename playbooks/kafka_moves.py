"""Which replicas and leaders to move where: pure, from what a cluster says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from smoketests.readers.kafka_facts import Partition
from smoketests.readers.zookeeper import Registered

Moves = dict[Partition, tuple[int, ...]]


class CannotMove(Exception):
    """There is no place for a replica, or no other leader; the message says which and why."""


def last_place(partitions: Sequence[Partition], broker: int) -> Moves:
    """The partitions that a broker leads or would lead, with it at the end of their replicas: no data moves.

    Those of which it alone is in sync stay: nobody else could lead them.
    """
    moves: Moves = {}
    for one in partitions:
        others = [replica for replica in one.replicas if replica != broker]
        ready = [replica for replica in others if replica in one.isr]
        if ready and broker in one.replicas and broker in (one.leader, one.replicas[0]):
            behind = [replica for replica in others if replica not in one.isr]
            moves[one] = (*ready, *behind, broker)
    return moves


def stuck(partitions: Sequence[Partition], broker: int) -> list[str]:
    """Partitions that a broker leads and nobody else can."""
    return [one.name for one in partitions if one.leader == broker and not set(one.isr) - {broker}]


def drain(partitions: Sequence[Partition], brokers: Sequence[Registered], broker: int) -> Moves:
    """Every replica of a broker to another one: of as many racks as before, the one with the fewest replicas.

    CannotMove where the other brokers are too few.
    """
    racks = {one.id: one.rack for one in brokers}
    alive = [one.id for one in brokers if not one.fenced and one.id != broker]
    load = Counter(replica for one in partitions for replica in one.replicas)
    moves: Moves = {}
    for one in sorted(partitions):
        if broker in one.replicas:
            new = _replacement(one, broker, alive, racks, load)
            load[new] += 1
            moves[one] = tuple(new if replica == broker else replica for replica in one.replicas)
    return moves


def _replacement(
    one: Partition, broker: int, alive: Sequence[int], racks: Mapping[int, str], load: Mapping[int, int]
) -> int:
    others = [replica for replica in one.replicas if replica != broker]
    free = [candidate for candidate in alive if candidate not in others]
    if not free:
        raise CannotMove(f"{one.name} has {len(one.replicas)} replicas and only {len(alive)} other brokers live")
    kept = {racks.get(replica, "") for replica in others}
    before = {racks.get(replica, "") for replica in one.replicas}
    spread = [candidate for candidate in free if len(kept | {racks[candidate]}) >= len(before)]
    if not spread:
        raise CannotMove(f"{one.name} would lie in fewer racks: none of brokers {_list(free)} is in a rack of its own")
    return min(spread, key=lambda candidate: (load[candidate], candidate))


def home(partitions: Sequence[Partition], broker: int | None) -> list[Partition]:
    """Partitions that another one leads than the first of their replicas (of a broker, or any), which is in sync."""
    return [
        one for one in partitions
        if one.replicas and one.leader != one.replicas[0] in one.isr and broker in (None, one.replicas[0])
    ]  # fmt: skip


def back(partitions: Sequence[Partition], before: Mapping[str, Sequence[int]]) -> Moves:
    """Replicas in the order that they had; what was moved elsewhere meanwhile stays."""
    moves: Moves = {}
    for one in partitions:
        order = tuple(before.get(one.name, ()))
        if order and order != one.replicas and set(order) == set(one.replicas):
            moves[one] = order
    return moves


def words(moves: Moves, most: int = 10) -> list[str]:
    """A sentence for each, at most so many."""
    rows = [f"{one.name}: replicas {_list(one.replicas)} -> {_list(new)}" for one, new in sorted(moves.items())]
    left = len(rows) - most
    return [*rows[:most], *([f"… and {left} partitions more"] if left > 0 else [])]


def _list(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
