"""The answers of Strimzi's and Yelp's gates and a blog's sums, by which ours can be held; numbers as in their tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from smoketests.gate.decision import FAILED, PASSED
from smoketests.gate.rules.hosts.nic_room import per_broker
from smoketests.gate.rules.kafka.availability import blocks
from smoketests.gate.rules.kafka.kraft_quorum import enough_left
from smoketests.readers.kafka.cluster import NEVER, Partition, Quorum, Voter
from tests.smoketests.gate.situations import decided, kafka, partition, quorum, rule, situation

AT_MINIMUM = partition("a", 0, (0, 3, 4), min_isr=2, isr=(0, 3))


def row(min_isr: int, replicas: Sequence[int], isr: Sequence[int]) -> Partition:
    return partition("t", 0, tuple(replicas), isr=tuple(isr), min_isr=min_isr)


# Strimzi's KafkaAvailabilityTest: (partitions, broker, may it roll)
ROLLS = [
    ("below the minimum, a replica of A in sync", [row(2, (0, 1, 3), (0, 1)), row(2, (0, 1, 3), (1,))], 0, False),
    ("below the minimum, in both in sync", [row(2, (0, 1, 3), (0, 1)), row(2, (0, 1, 3), (1,))], 1, False),
    ("below the minimum, not in sync itself", [row(2, (0, 1, 3), (0, 1)), row(2, (0, 1, 3), (1,))], 3, False),
    ("below the minimum, no replica here", [row(2, (0, 1, 3), (0, 1)), row(2, (0, 1, 3), (1,))], 4, True),
    ("as many replicas as needed: 2 of 2", [row(2, (0, 1), (0, 1))], 0, True),
    ("as many replicas as needed: 3 of 3", [row(3, (0, 1, 2), (0, 1, 2))], 0, True),
    ("one replica, two needed", [row(2, (0,), (0,))], 0, True),
    ("one needed, the last in sync here", [row(1, (0, 1, 2), (1, 2)), row(1, (0, 1, 2), (0,))], 0, False),
    ("one needed, one of two in sync here", [row(1, (0, 1, 2), (1, 2)), row(1, (0, 1, 2), (0,))], 1, True),
    ("one needed, in sync elsewhere", [row(1, (0, 1, 2), (1, 2)), row(1, (0, 1, 2), (0,))], 2, True),
]


@pytest.mark.parametrize(("_words", "rows", "broker", "may"), ROLLS, ids=[case[0] for case in ROLLS])
def test_strimzis_availability(_words: str, rows: Sequence[Partition], broker: int, may: bool) -> None:
    assert any(blocks(row, {broker}) for row in rows) is not may


@pytest.mark.parametrize(("replicas", "decides"), [((1, 2), "min_isr"), ((1,), "unreplicated")])
def test_what_strimzi_silently_allows_is_no_go_here(replicas: tuple[int, ...], decides: str) -> None:
    seen = situation(kafka_says=kafka(partition(replicas=replicas, min_isr=2)))

    assert rule(seen, "availability").status == PASSED
    assert rule(seen, decides).status == FAILED
    assert decided(seen).answer == "NO-GO"


def voters(caught_up_at: Mapping[int, int], leader: int) -> Quorum:
    newest = caught_up_at.get(leader, NEVER)
    return Quorum(
        leader,
        tuple(Voter(number, newest - at if at > 0 else NEVER) for number, at in caught_up_at.items()),
    )


# Strimzi's KafkaQuorumCheckTest: last caught up at, leader, who rolls, controller.quorum.fetch.timeout.ms, may it roll
CHECKS = [
    ({1: 10000, 2: 9500, 3: 9700}, 1, 1, 2000, True),
    ({1: 10000, 2: 9500, 3: 9700}, 1, 2, 2000, True),
    ({1: 10000, 2: 7000, 3: 8200}, 1, 1, 2000, False),
    ({1: 10000, 2: 7000, 3: 8200, 4: 9000}, 1, 1, 2000, False),
    ({1: 10000, 2: 7000, 3: 10000}, 1, 2, 2000, True),
    ({1: 10000, 2: 7000, 3: 10000}, 1, 3, 2000, False),
    ({1: 10000, 2: -1, 3: -1}, 1, 1, 2000, False),
    ({1: 10000, 2: 0, 3: 0}, 1, 1, 2000, False),
    ({1: 10000, 2: 9500, 3: 9700}, -1, 1, 2000, False),
    ({1: 10000}, 1, 1, 2000, True),
    ({1: 10000, 2: 9500}, 1, 1, 2000, True),
    ({1: 10000, 2: 7000}, 1, 1, 2000, False),
    ({1: 10000, 2: 9950, 3: 9950}, 1, 1, 100, True),
]


@pytest.mark.parametrize(("at", "leader", "rolls", "timeout_ms", "may"), CHECKS)
def test_strimzis_quorum(at: Mapping[int, int], leader: int, rolls: int, timeout_ms: int, may: bool) -> None:
    assert enough_left(voters(at, leader), [rolls], timeout_ms) is may


@pytest.mark.parametrize("of", [{"v1": 0}, {"v1": 0, "v2": 500}])
def test_quorums_that_strimzi_rolls_though_they_stop_are_no_go_here(of: Mapping[str, int]) -> None:
    seen = situation(kraft=True, kafka_says=kafka(quorum=quorum(1, **of)))

    assert enough_left(quorum(1, **of), [1], 2000)
    assert rule(seen, "kraft_quorum").status == FAILED


@pytest.mark.parametrize(
    ("isr", "min_isr", "blocked"), [((1,), 1, True), ((1, 2), 1, False), ((1, 2), 3, False), ((2,), 1, False)]
)
def test_yelps_minimum_in_sync(isr: tuple[int, ...], min_isr: int, blocked: bool) -> None:
    """In sync 1 of 2 and 2 of 2 with a minimum of 1; with one of 3, which two replicas never reach, it is our
    min_isr that forbids it."""
    assert blocks(row(min_isr, (1, 2), isr), {1}) is blocked


def test_yelps_replication_factor_below_the_minimum_and_one() -> None:
    seen = situation(kafka_says=kafka(partition("a", min_isr=3), partition("b", min_isr=2)))

    result = rule(seen, "min_isr")
    assert result.status == FAILED
    assert "a (3 of 3)" in result.reason and "b (" not in result.reason


def test_yelps_leaderless_and_unavailable_replicas() -> None:
    seen = situation(kafka_says=kafka(partition("a", leader=-1, isr=()), partition("b", isr=(1, 2))))

    assert "a-0" in rule(seen, "offline").reason and "b-0" not in rule(seen, "offline").reason
    assert "b-0" in rule(seen, "under_replicated").reason


@pytest.mark.parametrize(
    ("brokers", "copies", "total", "taken_in", "given_out"),
    [(3, 2, 300, 200, 100), (300, 2, 3000, 20, 10), (300, 6, 3000, 60, 50), (2, 3, 300, 300, 150)],
)
def test_what_a_broker_takes_in_and_gives_out(
    brokers: int, copies: int, total: float, taken_in: float, given_out: float
) -> None:
    assert per_broker(total, copies, brokers) == (taken_in, given_out)


def test_the_leaders_land_where_kafka_would_elect_them() -> None:
    seen = situation(
        kafka_says=kafka(
            partition("a", 0, (1, 2, 3)), partition("a", 1, (1, 2, 3), isr=(1, 3)), partition("a", 2, (2, 1, 3)),
            partition("a", 3, (1,)),
        )
    )  # fmt: skip

    landed = rule(seen, "leaders").evidence
    assert landed["leaders"] == {"2": {"now": 1, "then": 2}, "3": {"now": 0, "then": 1}}
    assert (landed["moved"], landed["homeless"]) == (3, 1)
