"""New places for replicas: of a broker that leaves, a disk that died, a replication factor that grows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from placement.board import Board
from placement.errors import Impossible
from placement.plan import gigabytes

NAMED = 5


def refill(board: Board, wanted: Sequence[float], holes: Iterable[tuple[int, int]]) -> None:
    """holes: (partition, the broker that loses its replica, or -1 where one is added).

    Largest first, each to the legal broker that is farthest below its target, and of those first to one that keeps the
    topic even. Impossible names the partitions for which no broker has the rack, the room or the right.
    """
    homeless = []
    for partition, source in sorted(holes, key=lambda one: (-board.sizes[one[0]], one[0])):
        receiver = choose(board, wanted, partition, source)
        if receiver is None:
            homeless.append((partition, source))
        elif source >= 0:
            board.move(partition, source, receiver)
        else:
            board.add(partition, receiver)
    if homeless:
        raise Impossible(_sentence(board, homeless))


def choose(board: Board, wanted: Sequence[float], partition: int, source: int) -> int | None:
    legal = [
        one for one in range(len(board.brokers))
        if board.is_legal(partition, source, one) and board.sizes[partition] <= board.largest_room(one)
    ]  # fmt: skip
    return min(
        legal, default=None, key=lambda one: (not board.has_quota(partition, one), _filled(board, wanted, one), one)
    )


def _filled(board: Board, wanted: Sequence[float], broker: int) -> float:
    return board.held[broker] / wanted[broker] if wanted[broker] > 0 else float("inf")


def _sentence(board: Board, homeless: Sequence[tuple[int, int]]) -> str:
    rows = [_why(board, partition, source) for partition, source in homeless[:NAMED]]
    more = f"; and {len(homeless) - NAMED} more" if len(homeless) > NAMED else ""
    return f"no place for {len(homeless)} replicas: {'; '.join(rows)}{more}"


def _why(board: Board, partition: int, source: int) -> str:
    name, size = board.partitions[partition].name, board.sizes[partition]
    legal = [one for one in range(len(board.brokers)) if board.is_legal(partition, source, one)]
    if not legal:
        free = [
            one for one in range(len(board.brokers)) if board.receives[one] and one not in board.replicas[partition]
        ]
        return f"{name}: " + (
            "every other broker would cost it a rack" if free else "no other broker may take a replica"
        )
    largest = max(board.largest_room(one) for one in legal)
    return f"{name} needs {gigabytes(size)}, the roomiest legal log dir takes {gigabytes(max(largest, 0))}"
