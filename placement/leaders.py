"""Leaders: even counts with the fewest leaders that change, by a minimum-cost flow. No data moves. Pure.

A leader that goes from broker A to B needs a partition that A leads and B holds in sync. Each such step is an edge of
cost 1, one back to the original leader of cost -1; the cheapest chain from a broker that leads too many to one that
leads too few is taken until all are even (successive shortest paths, so the sum is the least possible).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def even(
    leader: Sequence[int], choices: Sequence[Sequence[int]], brokers: int, free: Sequence[bool] | None = None,
    most: Sequence[int] | None = None,
) -> list[int]:  # fmt: skip
    """The leader of each partition, so that brokers lead as evenly as the replicas allow.

    leader, choices: of each partition its leader and all who may lead it (numbers of brokers). free: partitions whose
    change costs nothing. most: of each broker; by default the mean, rounded up.
    """
    flow = Flow(leader, choices, brokers, free or [False] * len(leader))
    able = {one for found in choices for one in found}
    if not able:
        return list(leader)
    mean, rest = divmod(len(leader), len(able))
    high = list(most) if most else [mean + (rest > 0)] * brokers
    low = [0 if most else mean * (one in able) for one in range(brokers)]
    while over := [one for one in range(brokers) if flow.leads[one] > high[one]]:
        flow.settle(over, high, low, relieve=True)
        high = [one + 1 for one in high]
    if not most:
        flow.settle([one for one in range(brokers) if flow.leads[one] < low[one]], high, low, relieve=False)
    return flow.leader


class Flow:
    def __init__(
        self, leader: Sequence[int], choices: Sequence[Sequence[int]], brokers: int, free: Sequence[bool]
    ) -> None:
        self.original, self.leader = list(leader), list(leader)
        self.choices, self.free = choices, free
        self.leads = [0] * brokers
        # of each broker, by whom else may lead: partitions, by what the change costs
        self.edges: list[dict[int, dict[int, set[int]]]] = [{} for _ in range(brokers)]
        for partition, one in enumerate(leader):
            self.leads[one] += 1
            self._offer(partition)

    def _cost(self, partition: int, new: int) -> int:
        if self.free[partition]:
            return 0
        return (new != self.original[partition]) - (self.leader[partition] != self.original[partition])

    def _offer(self, partition: int, away: bool = False) -> None:
        now = self.leader[partition]
        for other in self.choices[partition]:
            if other != now:
                found = self.edges[now].setdefault(other, {}).setdefault(self._cost(partition, other), set())
                (found.discard if away else found.add)(partition)

    def settle(self, starts: Sequence[int], high: Sequence[int], low: Sequence[int], relieve: bool) -> None:
        """One chain after another until nobody of `starts` is outside, or no chain is left."""
        open_ones = set(starts)
        if relieve:
            for one in sorted(open_ones):
                self._direct(one, high)
            open_ones = {one for one in open_ones if self.leads[one] > high[one]}
        while open_ones:
            chain = self._chain(open_ones, high, low, relieve)
            if chain is None:
                return
            for source, receiver, partition in chain:
                self._hand(partition, source, receiver)
            open_ones = {
                one for one in open_ones if (self.leads[one] > high[one] if relieve else self.leads[one] < low[one])
            }

    def _direct(self, source: int, high: Sequence[int]) -> None:
        """Chains of one step: none is cheaper, so they come before any search."""
        while self.leads[source] > high[source]:
            found = [
                (self.leads[other], other)
                for other, by_cost in self.edges[source].items()
                if self.leads[other] < high[other] and (by_cost.get(0) or by_cost.get(1))
            ]
            if not found:
                return
            by_cost = self.edges[source][min(found)[1]]
            self._hand(min(by_cost.get(0) or by_cost[1]), source, min(found)[1])

    def _hand(self, partition: int, source: int, receiver: int) -> None:
        self._offer(partition, away=True)
        self.leader[partition] = receiver
        self.leads[source] -= 1
        self.leads[receiver] += 1
        self._offer(partition)

    def _chain(
        self, starts: set[int], high: Sequence[int], low: Sequence[int], relieve: bool
    ) -> list[tuple[int, int, int]] | None:
        """The cheapest chain (Bellman-Ford: costs may be negative); of equal ones towards who is farthest off."""
        cost, via = self._distances(starts, relieve)
        ends = [
            one for one in sorted(cost)
            if one not in starts and (self.leads[one] < high[one] if relieve else self.leads[one] > low[one])
        ]  # fmt: skip
        if not ends:
            return None
        end = min(ends, key=lambda one: (cost[one], self.leads[one] if relieve else -self.leads[one], one))
        chain = []
        while end not in starts or end in via:
            before, partition = via[end]
            chain.append((before, end, partition) if relieve else (end, before, partition))
            end = before
            if len(chain) > len(self.leads):
                return None
        return chain

    def _distances(self, starts: set[int], relieve: bool) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
        cost = dict.fromkeys(sorted(starts), 0)
        via: dict[int, tuple[int, int]] = {}
        into = self.edges if relieve else self._reversed()
        changed = sorted(starts)
        for _ in range(len(self.leads) + 1):
            following = set()
            for one in changed:
                for other, by_cost in into[one].items():
                    step = next((price for price in (-1, 0, 1) if by_cost.get(price)), None)
                    if step is None or (other in cost and cost[one] + step >= cost[other]) or other in starts:
                        continue
                    cost[other] = cost[one] + step
                    via[other] = (one, min(by_cost[step]))
                    following.add(other)
            if not following:
                break
            changed = sorted(following)
        return cost, via

    def _reversed(self) -> list[Mapping[int, Mapping[int, set[int]]]]:
        found: list[dict[int, dict[int, set[int]]]] = [{} for _ in self.leads]
        for source, edges in enumerate(self.edges):
            for receiver, by_cost in edges.items():
                found[receiver][source] = by_cost
        return list(found)
