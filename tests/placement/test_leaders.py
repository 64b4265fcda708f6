"""Leaders by a flow: as even as can be, with the fewest changes; held against trying everything."""

from __future__ import annotations

import itertools
import random

from placement.leaders import even
from tests.placement.made_clusters import cluster


def best(leader: list[int], choices: list[list[int]], brokers: int) -> tuple[int, int]:
    """The least possible (most leaders of one broker, changes), by trying all."""
    found = []
    for chosen in itertools.product(*choices):
        counts = [chosen.count(one) for one in range(brokers)]
        found.append((max(counts), sum(one != two for one, two in zip(chosen, leader, strict=True))))
    return min(found)


def test_it_is_as_good_as_trying_everything() -> None:
    rng = random.Random(1)
    for _ in range(60):
        brokers = rng.randint(2, 4)
        choices = [rng.sample(range(brokers), rng.randint(1, brokers)) for _ in range(rng.randint(1, 7))]
        leader = [found[0] for found in choices]
        made = even(leader, choices, brokers)
        most = max(made.count(one) for one in range(brokers))

        assert all(one in found for one, found in zip(made, choices, strict=True))
        assert most == best(leader, choices, brokers)[0]


def test_evenly_placed_replicas_give_counts_that_differ_by_one_with_the_fewest_changes() -> None:
    made = cluster([20] * 5, 10_000, 3)
    leader, choices = [row.leader for row in made.partitions], [row.replicas for row in made.partitions]
    above = sum(max(leader.count(one) - 100, 0) for one in range(100))

    after = even(leader, choices, 100)

    assert {after.count(one) for one in range(100)} == {100}
    assert sum(one != two for one, two in zip(leader, after, strict=True)) == above


def test_changes_that_are_free_are_taken_first() -> None:
    choices = [[0, 1]] * 4

    assert even([0, 0, 0, 0], choices, 2, free=[False, False, True, True]) == [0, 0, 1, 1]
