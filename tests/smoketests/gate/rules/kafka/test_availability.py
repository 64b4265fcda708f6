"""Availability: which partitions a maintenance would leave with too few replicas in sync, and what is said of each."""

from __future__ import annotations

from typing import Any

import pytest

from smoketests.gate.decision import CANNOT_TELL, FAILED, PASSED, SKIPPED, RuleResult
from smoketests.gate.maintenance import PURPOSES
from smoketests.gate.rules import load
from smoketests.gate.rules.kafka import availability
from tests.smoketests.gate.situations import BROKERS, ORDERS, kafka, partition, rule, situation

A01, A02, A03 = BROKERS


def judged(*partitions: Any, leaving: str = A01, **given: Any) -> RuleResult:
    return rule(situation(*leaving.split(), kafka_says=kafka(*partitions), **given), "availability")


@pytest.mark.parametrize(
    ("replicas", "in_sync", "min_isr", "leaving", "blocked"),
    [
        # three replicas, two needed
        ((1, 2, 3), (1, 2, 3), 2, {1}, False),
        (
            (1, 2, 3),
            (1, 2, 3),
            3,
            {1},
            False,
        ),  # it cannot lose any replica even when all brokers are healthy: another rule's
        ((1, 2, 3), (1, 2), 2, {1}, True),
        ((1, 2, 3), (1, 2), 2, {3}, False),  # the one that leaves is behind: nothing changes
        ((1, 2, 3), (2,), 2, {1}, True),  # below the minimum already, and the replica here is to catch up
        ((1, 2, 3), (2, 3), 2, {1}, False),
        ((1, 2, 3), (1, 2, 3), 2, {1, 2}, True),
        ((1, 2, 3), (1, 2, 3), 1, {1, 2}, False),
        ((1, 2, 3), (1, 2, 3), 1, {1, 2, 3}, True),
        # the last in sync leaves, whatever the minimum is
        ((1, 2, 3), (1,), 1, {1}, True),
        ((1, 2, 3), (1,), None, {1}, True),
        ((1, 2), (1,), 2, {1}, True),
        ((1, 2), (2,), 2, {1}, False),
        # nobody in sync is left here or anywhere: no broker may go
        ((1, 2, 3), (), 2, {1}, True),
        # the minimum is not known
        ((1, 2, 3), (1, 2, 3), None, {1}, False),
        # one copy is the business of another rule; so is a partition elsewhere
        ((1,), (1,), 1, {1}, False),
        ((2, 3), (2,), 2, {1}, False),
        ((2, 3), (), 1, {1}, False),
        # a replica in sync that the assignment does not name
        ((1, 2, 3, 4), (1, 2, 3), 3, {4}, False),
        ((1, 2, 3, 4), (1, 2, 3), 3, {1}, True),
    ],
)
def test_a_partition_forbids_that_a_broker_leaves(
    replicas: tuple[int, ...], in_sync: tuple[int, ...], min_isr: int | None, leaving: set[int], blocked: bool
) -> None:
    row = partition(replicas=replicas, isr=in_sync, min_isr=min_isr)

    assert availability.blocks(row, leaving) is blocked


def test_all_is_well_and_the_evidence_counts_the_partitions_that_are_here() -> None:
    elsewhere = partition("far", replicas=(2, 3))
    result = judged(*ORDERS, elsewhere)

    assert (result.status, result.findings) == (PASSED, ())
    assert result.evidence == {"partitions": 3, "blocked": [], "untold": []}
    assert "3 partitions" in result.reason and A01 in result.reason


def test_each_topic_that_would_be_too_small_is_a_finding_of_its_own_and_named_in_the_sentence() -> None:
    behind = [partition("pay", number, isr=(1, 2)) for number in (0, 1)]
    result = judged(*ORDERS, *behind, partition("log", isr=(1, 3)))

    assert result.status == FAILED
    assert [(one.host, one.item, one.status) for one in result.findings] == [
        (A01, "topic log", FAILED), (A01, "topic pay", FAILED)]  # fmt: skip
    assert "2 partitions" in result.findings[1].said
    assert all(name in result.reason for name in ("pay-0", "pay-1", "log-0", A01))
    assert [row["partition"] for row in result.evidence["blocked"]] == ["pay-0", "pay-1", "log-0"]
    assert result.evidence["partitions"] == 6


def test_a_partition_that_would_lose_its_last_replica_in_sync_is_told_from_one_that_would_be_too_small() -> None:
    last, small = partition("last", isr=(1,), min_isr=1), partition("small", isr=(1, 2))
    result = judged(last, small)

    (of_last, of_small) = result.findings
    assert (of_last.item, of_small.item) == ("topic last", "topic small")
    assert of_last.key != of_small.key
    assert result.reason.index("last-0") < result.reason.index("small-0"), "the worse comes first"
    assert [row["partition"] for row in result.evidence["blocked"]] == ["last-0", "small-0"]


def test_of_many_partitions_five_are_named_and_the_rest_counted() -> None:
    result = judged(*(partition("pay", number, isr=(1, 2)) for number in range(9)))

    assert [f"pay-{number}" in result.reason for number in range(9)] == [True] * 5 + [False] * 4
    assert "4 more" in result.reason and len(result.evidence["blocked"]) == 9


ONE_AT_A_TIME = "one broker at a time"


@pytest.mark.parametrize(
    ("leaving", "partitions", "said"),
    [
        (f"{A01} {A02}", ORDERS, True),
        (f"{A01} {A02}", (*ORDERS, partition("pay", isr=(1, 3))), False),  # a01 alone could not go either
        (A01, (*ORDERS, partition("pay", isr=(1, 3))), False),  # it is one broker
    ],
)
def test_brokers_that_may_go_one_at_a_time_are_told_so(leaving: str, partitions: Any, said: bool) -> None:
    result = judged(*partitions, leaving=leaving)

    assert result.status == FAILED
    assert (ONE_AT_A_TIME in result.reason) is said


def test_a_topic_whose_minimum_nobody_tells_leaves_the_question_open_and_is_named_once() -> None:
    unknown = [partition("pay", number, min_isr=None) for number in (0, 1)]
    result = judged(*ORDERS, *unknown, partition("log", min_isr=None))

    assert result.status == CANNOT_TELL
    assert [(one.item, one.status) for one in result.findings] == [
        ("topic log", CANNOT_TELL), ("topic pay", CANNOT_TELL)]  # fmt: skip
    assert result.evidence["untold"] == ["log", "pay"] and result.evidence["blocked"] == []
    assert "2 topics" in result.reason and "log, pay" in result.reason


def test_two_replicas_are_enough_for_the_minimum_to_matter() -> None:
    assert judged(*ORDERS, partition("pay", replicas=(1, 2), min_isr=None)).status == CANNOT_TELL


def test_of_many_topics_without_a_minimum_three_are_named_and_a_hundred_kept() -> None:
    result = judged(*(partition(f"t{number:03d}", min_isr=None) for number in range(120)))

    assert "t002" in result.reason and "t003" not in result.reason
    assert result.evidence["untold"] == [f"t{number:03d}" for number in range(100)]
    assert len(result.findings) == 120


@pytest.mark.parametrize(
    "row",
    [
        partition("lone", replicas=(1,), min_isr=None),  # one copy: no minimum would save it
        partition("last", isr=(1,), min_isr=None),  # fails already
    ],
)
def test_a_minimum_that_would_change_nothing_is_not_missed(row: Any) -> None:
    result = judged(*ORDERS, row)

    assert result.evidence["untold"] == []
    assert CANNOT_TELL not in {one.status for one in result.findings}


def test_what_fails_and_what_cannot_be_told_are_both_findings_and_the_failure_decides() -> None:
    result = judged(partition("pay", isr=(1, 2)), partition("log", min_isr=None))

    assert result.status == FAILED
    assert [(one.item, one.status) for one in result.findings] == [
        ("topic pay", FAILED), ("topic log", CANNOT_TELL)]  # fmt: skip


def test_the_same_partitions_in_another_number_are_the_same_finding() -> None:
    few = judged(partition("pay", 0, isr=(1, 2)))
    more = judged(*(partition("pay", number, isr=(1, 2)) for number in range(3)))

    assert few.findings[0].id("availability") == more.findings[0].id("availability")
    assert few.findings[0].said != more.findings[0].said


def test_hosts_without_a_broker_are_not_asked() -> None:
    assert rule(situation("zk-a01"), "availability").status == SKIPPED


def test_it_is_asked_before_every_kind_of_maintenance_and_may_be_accepted() -> None:
    found = load("availability")

    assert set(found.purposes) == set(PURPOSES)
    assert (found.when, found.checks, found.final) == (("before",), (), "")
