"""The maintenance lock in Kafka's log, record by record, and what is not ours in either place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.model import Cluster
from smoketests.gate import lock, lock_in_kafka, shared_lock
from smoketests.gate.lock import CannotLock, Lock
from smoketests.gate.lock_in_kafka import RELEASE, RENEW, TAKE, Said, holder

ANN = Lock("aaaaaaaa", "prod-a", ("kafka-a01",), "reboot", "ann@bastion (pid 7)", 0.0, 0.0)
BOB = Lock("bbbbbbbb", "prod-a", ("kafka-a02",), "upgrade", "bob@jump (pid 8)", 0.0, 0.0)
HOUR = 3600.0


@pytest.mark.parametrize(
    ("log", "has_it", "until"),
    [
        ([], "", 0),
        ([Said(0, TAKE, ANN, 60)], "aaaaaaaa", HOUR),
        ([Said(0, TAKE, ANN, 60), Said(1, TAKE, BOB, 60)], "aaaaaaaa", HOUR),
        ([Said(0, TAKE, ANN, 60), Said(HOUR, TAKE, BOB, 60)], "bbbbbbbb", 2 * HOUR),
        ([Said(0, TAKE, ANN, 60), Said(5, RELEASE, ANN, 0), Said(6, TAKE, BOB, 60)], "bbbbbbbb", HOUR + 6),
        ([Said(0, TAKE, ANN, 60), Said(5, RELEASE, BOB, 0)], "aaaaaaaa", HOUR),
        ([Said(0, TAKE, ANN, 60), Said(30, RENEW, ANN, 60), Said(HOUR, TAKE, BOB, 60)], "aaaaaaaa", HOUR + 30),
        ([Said(0, TAKE, ANN, 60), Said(HOUR, TAKE, BOB, 60), Said(HOUR + 1, RENEW, ANN, 60)], "bbbbbbbb", 2 * HOUR),
        ([Said(0, TAKE, ANN, 60), Said(1, TAKE, ANN, 60)], "aaaaaaaa", HOUR + 1),
    ],
    ids=["nobody", "one", "the second is too late", "an expired one is taken over", "released",
         "only one's own is released", "renewed", "too late to renew", "sent twice"],
)  # fmt: skip
def test_who_holds_the_lock_is_told_by_the_order_of_the_records(log: list[Said], has_it: str, until: float) -> None:
    found = holder(log)

    assert (found.id if found else "", found.until if found else 0) == (has_it, until)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.sampled_from([TAKE, RENEW, RELEASE]), st.sampled_from([ANN, BOB]),
                          st.floats(0, 1e4)), max_size=20))  # fmt: skip
def test_whoever_reads_less_of_the_log_never_sees_two_holders(rows: list[tuple[float, str, Lock, float]]) -> None:
    log = [Said(*row) for row in rows]
    for end in range(len(log)):
        before, after = holder(log[:end]), holder(log[: end + 1])
        if before and after and before.id != after.id:
            assert log[end].verb == TAKE and before.expired(log[end].at), "only an expired one is taken over"


@given(st.binary(max_size=80) | st.none())
def test_rubbish_in_the_topic_is_no_claim(value: bytes | None) -> None:
    assert lock_in_kafka.parse(0, value) is None


@given(st.recursive(st.none() | st.integers() | st.text(max_size=4) | st.floats(), lambda inner: st.dictionaries(
    st.sampled_from(["verb", "minutes", "lock", "id", "hosts", "since"]), inner, max_size=4)))  # fmt: skip
def test_json_of_somebody_else_is_no_claim(value: Any) -> None:
    assert lock_in_kafka.parse(0, json.dumps(value).encode()) is None


def test_a_record_is_read_back() -> None:
    row = {"verb": TAKE, "minutes": 60, "lock": json.loads(lock.to_json(ANN))}

    assert lock_in_kafka.parse(5000, json.dumps(row).encode()) == Said(5.0, TAKE, ANN, 60.0)


def test_without_a_word_in_the_inventory_the_store_alone_holds_the_lock() -> None:
    assert shared_lock.of(None) is None and shared_lock.of(Cluster("prod-a")) is None
    assert shared_lock.of(Cluster("prod-a", maintenance_lock="store")) is None


@pytest.mark.parametrize("where", ["zookeeper", "kafka"])
def test_a_lock_in_servers_that_nobody_named_cannot_be_taken(where: str, tmp_path: Any) -> None:
    cluster = Cluster("prod-a", maintenance_lock=where)

    with pytest.raises(CannotLock, match=f"the inventory names no {where} servers"):
        shared_lock.take(str(tmp_path), ["kafka-a01"], "prod-a", "ann", "reboot", 60, cluster)
    assert lock.held(str(tmp_path)) == [], "nor is it in the store then"


@pytest.mark.parametrize("where", ["zookeeper", "kafka"])
def test_a_lock_in_servers_that_do_not_answer_cannot_be_taken(where: str, tmp_path: Any) -> None:
    at = ("127.0.0.1:1",)
    cluster = Cluster("prod-a", zookeeper=at, kafka=at, maintenance_lock=where)

    with pytest.raises(CannotLock, match="the lock of prod-a in"):
        shared_lock.take(str(tmp_path), ["kafka-a01"], "prod-a", "ann", "reboot", 60, cluster)
    assert lock.held(str(tmp_path)) == []
