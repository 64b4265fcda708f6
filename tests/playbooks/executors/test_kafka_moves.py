"""Replicas and leaders to move: nothing is lost, no rack is given up, and what cannot be is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.executors import kafka_actions, kafka_moves, kafka_throttle
from playbooks.executors.kafka_moves import CannotMove
from smoketests.readers.kafka.model import KafkaFacts, Partition
from smoketests.readers.zookeeper.ensemble import Registered


def broker(number: int, rack: str = "", fenced: bool = False) -> Registered:
    return Registered(number, f"kafka-{number}", 9092, rack, (), fenced)


def one(*replicas: int, leader: int | None = None, isr: tuple[int, ...] | None = None, number: int = 0) -> Partition:
    return Partition("orders", number, replicas[0] if leader is None else leader, replicas, isr or replicas)


def test_leaders_go_away_by_putting_the_broker_last() -> None:
    led, followed, preferred = one(1, 2, 3), one(2, 1, 3, number=1), one(1, 2, 3, leader=2, number=2)

    moves = kafka_moves.last_place([led, followed, preferred], 1)

    assert moves == {led: (2, 3, 1), preferred: (2, 3, 1)}


def test_whoever_is_not_in_sync_comes_behind_and_a_last_replica_stays() -> None:
    behind, alone = one(1, 2, 3, isr=(1, 3)), one(1, 2, isr=(1,), number=1)

    assert kafka_moves.last_place([behind, alone], 1) == {behind: (3, 2, 1)}
    assert kafka_moves.stuck([behind, alone], 1) == ["orders-1"]


def test_leaders_go_home_only_to_replicas_in_sync() -> None:
    away, home, behind = one(1, 2, leader=2), one(1, 2, number=1), one(1, 2, leader=2, isr=(2,), number=2)
    other = one(3, 2, leader=2, number=3)

    assert kafka_moves.home([away, home, behind, other], 1) == [away]
    assert kafka_moves.home([away, home, behind, other], None) == [away, other]


def test_an_order_is_put_back_unless_somebody_else_moved_the_replicas() -> None:
    ours, theirs, same = one(2, 3, 1), one(2, 4, 1, number=1), one(1, 2, 3, number=2)
    before = {partition.name: [1, 2, 3] for partition in (ours, theirs, same)}

    assert kafka_moves.back([ours, theirs, same], before) == {ours: (1, 2, 3)}


def test_a_drained_replica_goes_into_its_own_rack_if_the_others_have_none_left() -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "a"), broker(4, "b")]

    assert kafka_moves.drain([one(1, 2)], brokers, 1)[one(1, 2)] == (3, 2)


def test_the_broker_with_the_fewest_replicas_takes_it() -> None:
    brokers = [broker(number) for number in (1, 2, 3, 4)]
    partitions = [one(1, 2), one(3, 2, number=1), one(3, 2, number=2)]

    assert kafka_moves.drain(partitions, brokers, 1)[one(1, 2)] == (4, 2)


@pytest.mark.parametrize(
    ("brokers", "words"),
    [
        ([broker(1), broker(2), broker(3)], "orders-0 has 3 replicas and only 2 other brokers are live"),
        ([broker(1), broker(2), broker(3), broker(4, fenced=True)], "only 2 other brokers are live"),
        ([broker(1, "a"), broker(2, "b"), broker(3, "c"), broker(4, "b")], "would lie in fewer racks"),
    ],
)
def test_what_has_no_place_is_said(brokers: list[Registered], words: str) -> None:
    with pytest.raises(CannotMove, match=words):
        kafka_moves.drain([one(1, 2, 3)], brokers, 1)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Registered], list[Partition]]:
    racks = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=7))
    brokers = [broker(number, rack) for number, rack in enumerate(racks)]
    ids = st.permutations(range(len(racks)))
    rows = draw(st.lists(st.tuples(ids, st.integers(1, len(racks))), max_size=12))
    return brokers, [one(*order[:size], number=number) for number, (order, size) in enumerate(rows)]


@given(clusters())
def test_a_drain_keeps_the_number_of_replicas_and_of_racks(
    cluster: tuple[list[Registered], list[Partition]],
) -> None:
    brokers, partitions = cluster
    racks = {one.id: one.rack for one in brokers}
    try:
        moves = kafka_moves.drain(partitions, brokers, 0)
    except CannotMove:
        return

    assert set(moves) == {partition for partition in partitions if 0 in partition.replicas}
    for partition, new in moves.items():
        assert 0 not in new and len(set(new)) == len(partition.replicas)
        assert len({racks[replica] for replica in new}) >= len({racks[replica] for replica in partition.replicas})
        assert sum(old != now for old, now in zip(partition.replicas, new)) == 1, "nothing else moves"


def test_a_drain_holds_back_only_its_own_replicas_and_leaves_throttles_of_others() -> None:
    moves = {one(1, 2): (3, 2), one(1, 3, number=1): (2, 3)}

    found = kafka_throttle.wanted(moves, (1, 2, 3), ("broker 2",), 50)

    rate = {kafka_throttle.LEADER_RATE: "50000000", kafka_throttle.FOLLOWER_RATE: "50000000"}
    replicas = {kafka_throttle.LEADERS: "0:1,0:2,1:1,1:3", kafka_throttle.FOLLOWERS: "0:3,1:2"}
    assert found == {"broker 1": rate, "broker 3": rate, "topic orders": replicas}
    assert [change["item"] for change in kafka_throttle.changes(found)][:2] == [
        f"broker 1 {kafka_throttle.LEADER_RATE}", f"broker 1 {kafka_throttle.FOLLOWER_RATE}"]  # fmt: skip


def test_a_drain_that_was_interrupted_waits_for_what_is_copied_already_and_plans_the_rest() -> None:
    begun = one(1, 3, 2)._replace(adding=(3,), removing=(1,))
    rest = one(1, 2, number=1)
    facts = KafkaFacts(*([None] * len(KafkaFacts._fields)))  # type: ignore[arg-type]
    facts = facts._replace(partitions=(begun, rest), brokers=(broker(1), broker(2), broker(3)))

    wanted = kafka_actions.plan(kafka_actions.DRAIN, facts, 1, {})

    assert wanted.under_way == (begun,) and list(wanted.moves) == [rest] and not wanted.empty
    assert "1 more are already being copied" in wanted.words
