"""Which replicas and leaders to move where: pure, from a cluster's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inventory.errors import SmokeError
from smoketests.gate.receivers import MOST_PERCENT, NoPlace, disks_of, place
from smoketests.readers.kafka.model import LogDir, Partition
from smoketests.readers.zookeeper.ensemble import Registered

Moves = dict[Partition, tuple[int, ...]]


class CannotMove(SmokeError):
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


def drain(
    partitions: Sequence[Partition], brokers: Sequence[Registered], broker: int, log_dirs: Sequence[LogDir] = (),
    most_percent: float = MOST_PERCENT,
) -> Moves:  # fmt: skip
    """Every replica of a broker to another one: of as many racks as before, to the disk that is the least full then.

    CannotMove where the other brokers are too few, or have no room.
    """
    try:
        disks = disks_of(row for row in log_dirs if row.broker != broker)
        return place(partitions, brokers, (broker,), disks, most_percent)
    except NoPlace as error:
        raise CannotMove(str(error)) from error


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
    return [*rows[:most], *([f"… {left} more partitions"] if left > 0 else [])]


def _list(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
