"""Bringing every broker into its band with as few bytes as can be. Pure; the same board gives the same moves.

1. Largest need first: a broker outside its band gives or takes the largest replica that is not wasted on either side.
2. Where no single replica fits, two replicas change places and their difference counts.
3. Moves that turned out larger than needed are taken back, or done with a smaller replica.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from placement.board import Board, Move
from placement.targets import Band, least_bytes

# of a broker's target: what is less than this is not worth a further small replica
CRUMB = 0.0001
# receivers that are looked at for one replica before the largest found is taken
NEAREST = 24
SHAVES = 6
# pairs of brokers between which a swap is looked for, for each broker of the cluster; replicas tried of each of the two
SWAPS = 12
PAIRS = 48
# replicas of one broker that are tried for one receiver, largest first
TRIED = 64
# how often brokers that found no partner are tried again
ROUNDS = 6
# times the least bytes: a plan as good as this is not tried again in another way
GOOD = 1.02


def level(
    board: Callable[[], Board], wanted: Sequence[float], allowed: Sequence[Band], most_bytes: int | None = None
) -> Board:
    """The board with every broker in its band, as far as the rules allow.

    Tried with the topics kept as even as they are; where that leaves brokers outside their band, or costs much more
    than the least possible, also with one replica more of a topic on a broker. The better of the two counts.
    """
    tried = []
    for spare in (False, True):
        made = board()
        made.set_quota(wanted, spare)
        least = least_bytes(made.held, allowed)
        leveller = Leveller(made, allowed, most_bytes)
        leveller.run()
        outside, size = leveller.cost()
        tried.append((outside, size, spare, made))
        if not outside and size <= GOOD * least:
            break
    return min(tried, key=lambda one: one[:3])[3]


class Leveller:
    """moves: what was done so far. most_excess: how many replicas may be above their topic's quota in the end."""

    def __init__(self, board: Board, bands: Sequence[Band], most_bytes: int | None = None) -> None:
        self.board = board
        self.bands = bands
        self.strict = True
        self.most_excess = board.excess
        self.left_bytes = math.inf if most_bytes is None else most_bytes
        self.moves: list[Move] = []
        self.stuck: set[int] = set()
        self.swaps = SWAPS * len(bands)
        self.rounds = ROUNDS
        self.tried_at = 0

    def above(self, broker: int) -> float:
        return self.board.held[broker] - self.bands[broker].high

    def below(self, broker: int) -> float:
        return self.bands[broker].low - self.board.held[broker]

    def run(self) -> list[Move]:
        everyone = range(len(self.bands))
        while True:
            giving = [one for one in everyone if self.above(one) > 0 and one not in self.stuck]
            taking = [
                one for one in everyone if self.below(one) > 0 and self.board.receives[one] and one not in self.stuck
            ]
            if not giving and not taking:
                if not self._again(len(self.moves)):
                    break
                continue
            out, into = sum(map(self.above, giving)), sum(map(self.below, taking))
            if giving and (out >= into or not taking):
                self._relieve(max(giving, key=lambda one: (self.above(one), -one)))
            else:
                self._fill(max(taking, key=lambda one: (self.below(one), -one)))
        for _ in range(SHAVES):
            if not self._shave():
                break
        return self.moves

    def cost(self) -> tuple[int, int]:
        """(brokers outside their band, bytes moved)."""
        outside = sum(self.above(one) > 0 or self.below(one) > 0 for one in range(len(self.bands)))
        return outside, sum(self.board.sizes[move.partition] for move in self.moves)

    def _take_back(self, move: Move) -> None:
        self.board.undo(move)
        self.left_bytes += self.board.sizes[move.partition]

    def _again(self, moves: int) -> bool:
        """Whether those that found no partner should be tried once more: others have moved, or the rules are laxer."""
        if not self.stuck or (moves == self.tried_at and not self.strict) or self.rounds <= 0:
            return False
        if moves == self.tried_at:
            self.strict = False
        self.tried_at = moves
        self.rounds -= 1
        self.stuck.clear()
        return True

    def _relieve(self, source: int) -> None:
        """One replica away from a broker that holds too much."""
        receivers = sorted(
            (one for one in range(len(self.bands)) if self.board.receives[one] and one != source),
            key=lambda one: (self.board.held[one] - self.bands[one].low) / (self.bands[one].target or 1),
        )
        needy = [one for one in receivers if self.below(one) > 0]
        most = self.board.held[source] - self.bands[source].low
        if not (
            self._largest(source, needy, lambda one: min(self.above(source), self.below(one)), 0.3)
            or self._largest(source, receivers, lambda one: min(self.above(source), self._space(one)), 0.0)
            or self._smallest(source, receivers, self.above(source), lambda one: min(most, self._space(one)))
            or self._swap(source, receivers)
        ):
            self.stuck.add(source)

    def _fill(self, receiver: int) -> None:
        """One replica to a broker that holds too little."""
        sources = sorted(
            (one for one in range(len(self.bands)) if one != receiver),
            key=lambda one: (self.bands[one].high - self.board.held[one]) / (self.bands[one].target or 1),
        )
        rich = [one for one in sources if self.above(one) > 0]
        need = self.below(receiver)
        for limit, found in (
            (lambda one: min(need, self.above(one)), rich),
            (lambda one: min(need, self._spare(one)), sources),
        ):
            if self._largest_from(receiver, found, limit):
                return
        for source in sources[:NEAREST]:
            if self._smallest(source, [receiver], need, lambda _: min(self._spare(source), self._space(receiver))):  # noqa: B023
                return
        if not any(self._swap(source, [receiver]) for source in sources[:NEAREST]):
            self.stuck.add(receiver)

    def _space(self, broker: int) -> float:
        return self.bands[broker].high - self.board.held[broker]

    def _spare(self, broker: int) -> float:
        return self.board.held[broker] - self.bands[broker].low

    def _fits(self, partition: int, source: int, receiver: int) -> bool:
        return self._legal(partition, source, receiver) and self._within_quota(partition, source, receiver)

    def _legal(self, partition: int, source: int, receiver: int) -> bool:
        board = self.board
        size = board.sizes[partition]
        return size <= min(board.largest_room(receiver), self.left_bytes) and board.is_legal(
            partition, source, receiver
        )

    def _within_quota(self, partition: int, source: int, receiver: int) -> bool:
        """First no broker may exceed its part of a topic; where that leaves no move, the sum may not grow."""
        if self.strict:
            return self.board.has_quota(partition, receiver)
        added = self.board.added_excess(partition, source, receiver)
        return added <= 0 or self.board.excess + added <= self.most_excess

    def _descending(self, source: int, most: float) -> Iterator[int]:
        rows = self.board.sorted_on[source]
        last = bisect_right(rows, (most, len(self.board.sizes))) - 1
        for at in range(last, max(last - TRIED, -1), -1):
            if rows[at][0] <= 0:
                return
            yield rows[at][1]

    def _do(self, partition: int, source: int, receiver: int) -> bool:
        self.moves.append(self.board.move(partition, source, receiver))
        self.left_bytes -= self.board.sizes[partition]
        return True

    def _largest(self, source: int, receivers: Sequence[int], most: Callable[[int], float], part: float) -> bool:
        """The largest replica that fits the nearest receivers; only if it is at least this part of what it might be."""
        pairs = [(most(receiver), source, receiver) for receiver in receivers[:NEAREST]]
        wanted = max((limit for limit, _source, _receiver in pairs), default=0.0)
        return self._move_largest(pairs, max(part * wanted, CRUMB * self.bands[source].target))

    def _largest_from(self, receiver: int, sources: Sequence[int], most: Callable[[int], float]) -> bool:
        """The largest replica of the nearest sources that fits one receiver."""
        pairs = [(most(source), source, receiver) for source in sources[:NEAREST]]
        return self._move_largest(pairs, CRUMB * self.bands[receiver].target)

    def _move_largest(self, pairs: Iterable[tuple[float, int, int]], above: float) -> bool:
        """Does the largest legal move of more than so many bytes. pairs: (most bytes, source, receiver)."""
        best = None
        for limit, source, receiver in pairs:
            for partition in self._descending(source, limit) if limit > above else ():
                if self.board.sizes[partition] <= above:
                    break
                if self._fits(partition, source, receiver):
                    best, above = (partition, source, receiver), self.board.sizes[partition]
                    break
        return best is not None and self._do(*best)

    def _smallest(self, source: int, receivers: Sequence[int], least: float, most: Callable[[int], float]) -> bool:
        """The smallest replica that ends the need at once."""
        rows = self.board.sorted_on[source]
        start = bisect_left(rows, (least, -1))
        best, best_size = (-1, -1), float("inf")
        for receiver in receivers[:NEAREST]:
            limit = most(receiver)
            for size, partition in rows[start : start + TRIED]:
                if size > limit or size >= best_size:
                    break
                if self._fits(partition, source, receiver):
                    best, best_size = (partition, receiver), size
                    break
        return best[0] >= 0 and self._do(best[0], source, best[1])

    def _swap(self, source: int, receivers: Sequence[int]) -> bool:
        """A larger replica goes, a smaller one comes back: where the single ones are too large for the band."""
        for receiver in receivers[:NEAREST]:
            most = min(self._spare(source), self._space(receiver))
            need = max(self.above(source), self.below(receiver))
            pair = self._pair(source, receiver, need, most)
            if pair:
                going, coming = pair
                self._do(going, source, receiver)
                self._do(coming, receiver, source)
                return True
        return False

    def _pair(self, source: int, receiver: int, least: float, most: float) -> tuple[int, int] | None:
        """Two replicas whose difference is between least and most bytes, the smaller ones first."""
        if most < least or not self.board.receives[source] or self.swaps <= 0:
            return None
        ours, theirs = self.board.sorted_on[source], self.board.sorted_on[receiver]
        start = bisect_left(ours, (least, -1))
        self.swaps -= 1
        for size, going in ours[start : start + PAIRS]:
            if not self._legal(going, source, receiver):
                continue
            first = bisect_left(theirs, (max(size - most, 1), -1))
            for other, coming in theirs[first : first + PAIRS]:
                if other > size - least:
                    break
                if self._legal(coming, receiver, source) and self._may_swap(going, coming, source, receiver):
                    return going, coming
        return None

    def _may_swap(self, going: int, coming: int, source: int, receiver: int) -> bool:
        board = self.board
        if board.topic[going] == board.topic[coming]:
            return True
        added = board.added_excess(going, source, receiver) + board.added_excess(coming, receiver, source)
        return added <= 0 or (not self.strict and board.excess + added <= self.most_excess)

    def _shave(self) -> bool:
        """Takes back, or makes smaller, moves that the bands do not need. True if something was."""
        changed = False
        for at in sorted(range(len(self.moves)), key=lambda one: -self.board.sizes[self.moves[one].partition]):
            move = self.moves[at]
            size = self.board.sizes[move.partition]
            give, keep = self._space(move.source), self._spare(move.receiver)
            slack = min(give, keep)
            if slack <= 0 or not self._may_return(move):
                continue
            if size <= slack:
                self._take_back(move)
                self.moves[at] = move._replace(log_dir=-1)
                changed = True
            else:
                changed |= self._smaller(at, move, size - slack)
        self.moves = [move for move in self.moves if move.log_dir >= 0]
        return changed

    def _may_return(self, move: Move) -> bool:
        """A partition of which several replicas moved may not go back on its own, if that costs a rack or a place."""
        found = self.board.replicas[move.partition]
        added = self.board.added_excess(move.partition, move.receiver, move.source)
        return added + self.board.excess <= self.most_excess and (
            move.receiver in found
            and move.source not in found
            and self.board.keeps_racks(move.partition, move.receiver, move.source)
        )

    def _smaller(self, at: int, move: Move, least: float) -> bool:
        board, size = self.board, self.board.sizes[move.partition]
        rows = board.sorted_on[move.source]
        for index in range(bisect_left(rows, (least, -1)), len(rows)):
            other, partition = rows[index]
            if other >= size * 0.999:
                return False
            if self._fits(partition, move.source, move.receiver):
                board.undo(move)
                if self._fits(partition, move.source, move.receiver):
                    self.moves[at] = board.move(partition, move.source, move.receiver)
                    return True
                self.moves[at] = board.move(move.partition, move.source, move.receiver)
                return False
        return False
