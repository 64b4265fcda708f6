"""The cluster check `topology`: groups of topics, where they overlap, and who bears more than its share.

Numbered fixtures are those of section 6 of our notes on Kafka's tools: examples of a thesis on partition topologies.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.cluster.checks import topology
from smoketests.readers.kafka.model import Partition
from tests.smoketests.cluster.checks.test_partitions import THREE, kafka
from tests.smoketests.cluster.views import judged, problems, view

Leaders = Mapping[str, tuple[int, ...]]


def led(leaders: Leaders, **fields: Any) -> list[Partition]:
    """Topics whose partitions these brokers lead, one each."""
    return [Partition(topic, number, broker, (broker,), (broker,), **fields) for topic, brokers in leaders.items()
            for number, broker in enumerate(brokers)]  # fmt: skip


def rows_of(rows: list[Partition], **limits: Any) -> dict[str, dict[str, Any]]:
    return judged(view(THREE, kafka=kafka(*rows), limits={"topology": limits}), "topology")


def sets(*brokers: int) -> frozenset[int]:
    return frozenset(brokers)


FIXTURE_26 = {"A": (1, 2, 3), "B": (2, 3), "C": (2, 3), "D": (1,)}


def test_fixture_26_topics_on_the_same_brokers_are_a_group_and_overlaps_are_told_by_pair_and_by_broker() -> None:
    found = topology.groups(topology.placement(led(FIXTURE_26)))
    assert found == {sets(2, 3): ["B", "C"], sets(1): ["D"], sets(1, 2, 3): ["A"]}

    pairs = {frozenset({pair.one, pair.other}): pair.shared for pair in topology.overlaps(found)}
    assert pairs == {
        frozenset({sets(1, 2, 3), sets(2, 3)}): sets(2, 3),
        frozenset({sets(1, 2, 3), sets(1)}): sets(1),
    }
    by_broker = {
        broker: {"".join(found[group]) for group in held} for broker, held in topology.on_broker(found).items()
    }
    assert by_broker == {1: {"A", "D"}, 2: {"A", "BC"}, 3: {"A", "BC"}}


def test_fixture_26_is_told_in_the_facts_and_alarms_nobody() -> None:
    rows = rows_of(led(FIXTURE_26))

    assert {row["status"] for row in rows.values()} == {"ok"} and set(rows) == {"groups", "overlaps", "uneven"}
    assert rows["overlaps"]["facts"]["pairs"] == 2
    assert rows["overlaps"]["facts"]["groups_of_broker"] == {1: 2, 2: 2, 3: 2}
    assert rows["groups"]["facts"]["largest"][0] == {
        "brokers": [2, 3], "topics": 2, "such_as": ["B", "C"], "partitions": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("leaders", "shared"),
    [
        ({"A": (1, 2), "B": (1, 2), "C": (2, 1)}, []),
        ({"A": (1, 2), "B": (3, 4)}, []),
        ({"A": (1, 2), "C": (1, 2), "B": (2,)}, [sets(2)]),
    ],
    ids=["X", "Y", "Z"],
)
def test_fixture_27_one_group_or_disjoint_groups_do_not_overlap(leaders: Leaders, shared: list[frozenset[int]]) -> None:
    found = topology.groups(topology.placement(led(leaders)))

    assert [pair.shared for pair in topology.overlaps(found)] == shared


def test_fixture_27_three_brokers_can_have_seven_groups() -> None:
    subsets = [brokers for size in (1, 2, 3) for brokers in itertools.combinations((1, 2, 3), size)]
    found = topology.groups(topology.placement(led({f"t{number}": brokers for number, brokers in enumerate(subsets)})))

    assert len(found) == 7 and all(len(held) == 4 for held in topology.on_broker(found).values())


def test_fixture_28_overlapping_groups_load_one_broker_less_than_the_others() -> None:
    placed = topology.placement(led({"A": (1, 2), "B": (2, 3), "C": (1, 3)}))

    assert topology.shares(placed, {"A": 1, "B": 1, "C": 2}) == {1: 1.5, 2: 1.0, 3: 1.5}


A, B = 6.0, 4.0


def test_fixture_29_producers_that_choose_a_broker_spread_otherwise_than_those_that_choose_a_partition() -> None:
    placed = topology.placement(led({"A": (1, 2, 2), "B": (2, 3)}))
    weight = {"A": A, "B": B}

    assert topology.shares(placed, weight) == pytest.approx({1: A / 3, 2: 2 * A / 3 + B / 2, 3: B / 2})
    assert topology.shares(placed, weight, by_broker=True) == pytest.approx({1: A / 2, 2: (A + B) / 2, 3: B / 2})


def test_fixture_30_one_group_that_does_not_divide_is_told_though_nothing_overlaps() -> None:
    rows = rows_of(led({"A": (1, 2, 3), "B": (1, 2, 3, 1)}))
    assert rows["overlaps"]["facts"]["pairs"] == 0
    assert rows["uneven"]["reason"] == "1 of 1 groups do not divide evenly by their brokers"
    assert rows["uneven"]["facts"]["uneven_groups"] == 1

    strict = rows_of(led({"B": (1, 2, 3, 1)}), uneven_percent_warning=1, uneven_min_excess=0)["uneven"]
    assert strict["status"] == "warning"
    assert strict["reason"] == "1 groups are uneven: broker 1 has 2 partitions of B, the mean of its 3 brokers is 1.3"


def leaning(extra: int, topics: int = 20) -> list[Partition]:
    """Topics of 3 partitions on 3 brokers; `extra` of them have one more on broker 1."""
    return led({f"t{number:03d}": (1, 2, 3, *([1] if number < extra else [])) for number in range(topics)})


@pytest.mark.parametrize(
    ("topics", "extra", "status"), [(20, 20, "warning"), (20, 19, "ok"), (12, 12, "ok"), (15, 15, "warning")]
)
def test_small_excesses_of_many_topics_add_up_in_their_group(topics: int, extra: int, status: str) -> None:
    """20 topics of 4 partitions: 40 on broker 1, the mean is 26.7, its share 27."""
    row = rows_of(leaning(extra, topics))["uneven"]

    assert row["status"] == status
    assert ("t000 and" in row["reason"]) == (status == "warning")


def test_replica_mode_groups_topics_by_the_brokers_that_hold_them() -> None:
    rows = [
        Partition("a", 0, 1, (1, 2), (1, 2)),
        Partition("b", 0, 2, (2, 1), (2, 1)),
        Partition("c", 0, 3, (3,), (3,)),
    ]

    assert rows_of(rows)["groups"]["facts"]["groups"] == 3
    assert rows_of(rows, by_replicas=1)["groups"]["facts"]["groups"] == 2


def test_the_load_of_each_broker_is_reckoned_by_bytes_where_all_are_told() -> None:
    rows = [*led({"big": (1, 2)}, size_bytes=30 << 20), *led({"small": (2, 3)}, size_bytes=10 << 20)]
    assert rows_of(rows)["overlaps"]["facts"]["load_percent"] == {1: 37.5, 2: 50.0, 3: 12.5}

    assert rows_of([*rows, *led({"new": (3,)})])["overlaps"]["facts"]["load_percent"] == {1: 20.0, 2: 40.0, 3: 40.0}
    assert rows_of(led({"a": (1, 1, 1, 2)}), spread_by_broker=1)["overlaps"]["facts"]["load_percent"] == {1: 50, 2: 50}


def test_who_wants_no_overlaps_can_have_them_as_a_warning() -> None:
    row = rows_of(led(FIXTURE_26), overlaps_warning=2)["overlaps"]

    assert row["status"] == "warning"
    assert row["reason"] == "2 pairs of groups overlap, 2 groups on broker 1: such as B and A on broker 2, 3"
    assert rows_of(led(FIXTURE_26), overlaps_warning=3)["overlaps"]["status"] == "ok"


def test_pairs_are_compared_among_the_largest_groups_only_so_that_many_topics_cost_no_more_than_their_number() -> None:
    brokers = range(1, 15)
    many = {f"t{number}": subset for number, subset in enumerate(itertools.combinations(brokers, 4))}
    row = rows_of(led(many))["overlaps"]

    assert len(many) == 1001 and row["facts"]["pairs"] <= 50 * 49 // 2
    assert "among the 50 largest of 1001 groups" in row["reason"]
    assert set(row["facts"]["groups_of_broker"].values()) == {286}, "of all groups"
    assert len(row["facts"]["largest"]) == 20


def test_a_partition_without_a_leader_belongs_to_nobody() -> None:
    assert topology.placement([Partition("a", 0, -1, (1,), ())]) == {}
    assert {row["status"] for row in rows_of([]).values()} == {"ok"}


def test_a_kafka_that_was_not_or_could_not_be_asked() -> None:
    (row,) = judged(view(THREE), "topology").values()
    assert row["status"] == "skipped"
    (row,) = problems(view(THREE, problems={"kafka": "kafka-a01:9092: the port requires TLS"}), "topology")
    assert row["status"] == "unknown" and "TLS" in row["reason"]


PLACES = st.dictionaries(st.text(max_size=3), st.lists(st.integers(-1, 5), max_size=5).map(tuple), max_size=8)


@given(PLACES)
def test_every_topic_is_in_one_group_and_no_load_is_lost(leaders: Leaders) -> None:
    placed = topology.placement(led(leaders))
    found = topology.groups(placed)

    assert sorted(topic for topics in found.values() for topic in topics) == sorted(placed)
    for by_broker in (False, True):
        shares = topology.shares(placed, dict.fromkeys(placed, 1.0), by_broker)
        assert sum(shares.values()) == pytest.approx(len(placed))
    assert all(pair.shared and pair.one != pair.other for pair in topology.overlaps(found))
