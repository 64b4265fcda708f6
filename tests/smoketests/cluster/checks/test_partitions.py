"""The cluster check `partitions`: what Kafka says of its partitions, who leads them, and of the log dirs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smoketests.cluster import leader_balance
from smoketests.cluster.checks import partitions
from smoketests.readers.kafka.cluster import KafkaFacts, LogDir, Partition
from smoketests.readers.zookeeper.ensemble import Registered
from tests.smoketests.cluster.views import judged, problems, said, view

THREE: dict[int, Any] = {1: [], 2: [], 3: []}
GIB = 1 << 30


def log_dir(broker: int, path: str = "/kafka/d1", error: str = "") -> LogDir:
    return LogDir(broker, path, error, 100 * GIB, 50 * GIB, 40 * GIB, 20)


def kafka(*rows: Partition, brokers: tuple[int, ...] = (1, 2, 3), **fields: Any) -> KafkaFacts:
    given = {"log_dirs": tuple(map(log_dir, brokers)), "throttled": (), **fields}
    alive = tuple(Registered(number, f"kafka-a{number:02d}", 9092) for number in brokers)
    return KafkaFacts("id", 1, alive, rows, None, **given)


def part(
    topic: str, number: int, leads: int, *replicas: int, isr: tuple[int, ...] | None = None, **fields: Any
) -> Partition:
    return Partition(
        topic, number, leads, replicas, replicas if isr is None else isr, fields.pop("min_isr", 1), **fields
    )


def rows_of(*rows: Partition, **fields: Any) -> dict[str, dict[str, Any]]:
    return judged(view(THREE, kafka=kafka(*rows, **fields)), "partitions")


HEALTHY = [part("orders", number, number % 3 + 1, number % 3 + 1, (number + 1) % 3 + 1) for number in range(6)]


def test_healthy_partitions_are_ok_in_every_row() -> None:
    rows = rows_of(*HEALTHY)

    assert set(rows) == {
        "offline", "min_isr", "under_replicated", "spare_replicas", "reassignments", "leaders", "topic_leaders",
        "leader_load", "preferred_leaders", "log_dirs", "asked",
    }  # fmt: skip
    assert {row["status"] for row in rows.values()} == {"ok"}


@pytest.mark.parametrize("lost", [part("pay", 0, -1, 2), part("pay", 0, -1, 2, isr=()), part("pay", 0, 1, 2, isr=())])
def test_a_partition_without_a_leader_is_critical(lost: Partition) -> None:
    row = rows_of(*HEALTHY, lost)["offline"]

    assert row["status"] == "critical" and row["playbook"] == "broker-down"
    assert "1 partition of 1 topic without a leader: pay-0; replicas only on broker 2 (kafka-a02)" in row["reason"]


# kafka-utils' test_min_isr: in step 1 of 2 and 2 of 2; at 1 both are well, at 3 both are listed
@pytest.mark.parametrize(("minimum", "listed"), [(1, 0), (2, 1), (3, 2)])
def test_the_edges_of_min_insync_replicas(minimum: int, listed: int) -> None:
    both = [part("t", 0, 1, 1, 2, isr=(1,), min_isr=minimum), part("t", 1, 1, 1, 2, min_isr=minimum)]
    row = rows_of(*both)["min_isr"]

    assert row["facts"]["partitions"] == listed
    assert row["status"] == ("critical" if listed else "ok")
    assert ("fewer replicas than that even when all brokers are healthy" in row["reason"]) is (minimum == 3)


def test_an_unknown_minimum_is_unknown() -> None:
    assert rows_of(part("t", 0, 1, 1, 2, min_isr=None))["min_isr"]["status"] == "unknown"


def test_under_replicated_partitions_name_the_broker_that_is_missing() -> None:
    row = rows_of(*HEALTHY, part("t", 0, 1, 1, 3, isr=(1,)), part("t", 1, 2, 2, 3, isr=(2,)))["under_replicated"]

    assert row["status"] == "warning"
    assert row["reason"].endswith("missing are broker 3 (kafka-a03) 2 times")


def test_a_reassignment_that_still_fills_its_new_replica_is_not_under_replicated() -> None:
    filling = part("t", 0, 1, 1, 2, 3, isr=(1, 2), adding=(3,))
    broken = part("t", 1, 1, 1, 2, 3, isr=(1,), adding=(3,))

    assert rows_of(*HEALTHY, filling)["under_replicated"]["status"] == "ok"
    assert rows_of(*HEALTHY, broken)["under_replicated"]["facts"]["missing"] == {2: 1}


def led(*counts: int) -> list[Partition]:
    """So many partitions led by each broker, each a topic of its own."""
    return [part(f"t{b}-{n}", 0, b, b) for b, count in enumerate(counts, 1) for n in range(count)]


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ((20, 20, 20), "ok"),
        ((29, 15, 16), "ok"),
        ((30, 15, 15), "warning"),
        ((30, 30, 0), "warning"),
        ((6, 0, 0), "ok"),
    ],
)
def test_the_edges_of_leader_skew(counts: tuple[int, ...], status: str) -> None:
    assert rows_of(*led(*counts))["leaders"]["status"] == status


def test_a_broker_of_id_0_is_a_broker_and_leads() -> None:
    rows = rows_of(*[part("t", number, number % 2, number % 2, 1 - number % 2) for number in range(40)], brokers=(0, 1))

    assert {row["status"] for row in rows.values()} == {"ok"}
    assert (
        rows["leaders"]["facts"]["leaders"] == {0: 20, 1: 20} and rows["preferred_leaders"]["facts"]["partitions"] == 0
    )


def test_two_brokers_can_be_skewed_and_ten_partitions_each_are_enough() -> None:
    assert rows_of(*led(15, 5), brokers=(1, 2))["leaders"]["status"] == "warning"
    assert rows_of(*led(14, 5), brokers=(1, 2))["leaders"]["status"] == "ok", "too few to tell"


@pytest.mark.parametrize(("first", "status"), [(4, "ok"), (5, "warning")])
def test_the_edges_of_a_topics_skew(first: int, status: str) -> None:
    rows = [part("t", n, 1 if n < first else 2 if n < 7 else 3, 1, 2, 3) for n in range(9)]

    assert rows_of(*rows)["topic_leaders"]["status"] == status


def test_the_leaders_of_a_topic_on_fewer_brokers_than_could_lead_it() -> None:
    spread = [part("t", n, 1 if n < 7 else 2, 1, 2, 3) for n in range(9)]
    row = rows_of(*spread)["topic_leaders"]

    assert row["status"] == "warning" and "t (broker 1 (kafka-a01) leads 7 of 9)" in row["reason"]


def test_four_partitions_on_three_brokers_cannot_be_even_and_this_is_told_not_alarmed() -> None:
    row = rows_of(*[part("b", number, number % 3 + 1, 1, 2, 3) for number in range(4)])["topic_leaders"]

    assert row["status"] == "ok" and row["facts"]["uneven_by_count"] == 1


def test_a_part_that_kafka_did_not_tell_is_unknown() -> None:
    rows = rows_of(*HEALTHY, untold=("topic secret cannot be read (error 29)",))

    assert rows["asked"]["status"] == "unknown" and rows["offline"]["status"] == "ok"


def test_a_kafka_that_cannot_be_read_is_unknown_with_the_reason() -> None:
    (row,) = problems(view(THREE, problems={"kafka": "kafka-a01:9092: the port requires TLS"}), "partitions")

    assert row["status"] == "unknown" and "TLS" in row["reason"]


# --- kafka-utils' tests of kafka_check


@pytest.mark.parametrize(("minimum", "listed"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_topic_with_no_spare_replica_is_listed(minimum: int, listed: bool) -> None:
    """kafka-utils' test_replication_factor: replicas < min.insync.replicas + 1; here 2 replicas."""
    row = rows_of(*HEALTHY, part("pay", 0, 1, 1, 2, min_isr=minimum))["spare_replicas"]

    assert row["status"] == ("warning" if listed else "ok") and row["facts"]["topics"] == int(listed)
    assert ("pay" in row["reason"]) is listed


def test_a_single_replica_is_never_spare_and_one_that_is_only_being_added_neither() -> None:
    alone, filling = part("alone", 0, 1, 1, min_isr=1), part("filling", 0, 1, 1, 2, isr=(1,), min_isr=1, adding=(2,))

    assert partitions.spare_replicas(alone) == 0 == partitions.spare_replicas(filling)
    assert rows_of(*HEALTHY, alone, filling)["spare_replicas"]["reason"].endswith("alone, filling")
    assert rows_of(part("t", 0, 1, 1, min_isr=None))["spare_replicas"]["status"] == "ok", "min_isr says unknown"


def test_an_offline_replica_is_missing_also_where_a_reassignment_brings_it() -> None:
    """kafka-utils' test_replica_unavailability; Kafka leaves the last replica of all in the ISR when it is offline."""
    gone = part("t", 0, -1, 1, 2, isr=(2,), offline=(1, 2))
    stuck = part("t", 1, 1, 1, 3, isr=(1,), adding=(3,), offline=(3,))
    row = rows_of(*HEALTHY, gone, stuck)["under_replicated"]

    assert row["status"] == "warning" and row["facts"]["missing"] == {1: 1, 2: 1, 3: 1}
    assert row["facts"]["offline_replicas"] == 3


# --- log dirs


def test_a_log_dir_with_an_error_is_critical_with_its_broker_host_and_path() -> None:
    dirs = (log_dir(1), log_dir(2), log_dir(2, "/kafka/d2", "KAFKA_STORAGE_ERROR"), log_dir(3))
    rows = rows_of(*HEALTHY, log_dirs=dirs)
    row = rows["broker 2 /kafka/d2"]

    assert (row["status"], row["host"], row["playbook"]) == ("critical", "kafka-a02", "replace-jbod-disk")
    assert "broker 2 (kafka-a02) took its log dir offline: /kafka/d2 (KAFKA_STORAGE_ERROR)" in row["reason"]
    assert rows["log_dirs"]["status"] == "ok" and rows["log_dirs"]["facts"]["failed"] == 1


def test_a_log_dir_its_mount_and_its_kernel_lines_are_told_as_one_cause() -> None:
    hosts: dict[int, Any] = {
        1: [said("mounts", "/kafka/d2", "critical")],
        2: [said("mounts", "/kafka/d", "critical"), said("mounts", "/kafka/d2", "critical", playbook="x"),
            said("disk_errors", "sdc", "ok"), said("kafka_log", "log dirs", "critical", reason="/kafka/d2 failed")],
    }  # fmt: skip
    hosts[2][1]["playbook"] = "hidden-readonly"
    hosts[2][3]["reason"] = "KafkaStorageException: /kafka/d2/logs"
    dirs = (log_dir(1), log_dir(2, "/kafka/d2/logs", "KAFKA_STORAGE_ERROR"))
    seen = view(hosts, kafka=kafka(*HEALTHY, brokers=(1, 2), log_dirs=dirs))
    row = judged(seen, "partitions")["broker 2 /kafka/d2/logs"]

    assert row["reason"].endswith("same cause as the host's own findings: kafka_log log dirs, mounts /kafka/d2")
    assert row["playbook"] == "hidden-readonly", "the host knows more than Kafka"


@pytest.mark.parametrize("dirs", [None, (), (log_dir(1), log_dir(3))])
def test_a_broker_that_did_not_tell_its_log_dirs_is_unknown(dirs: Any) -> None:
    row = rows_of(*HEALTHY, log_dirs=dirs)["log_dirs"]

    assert row["status"] == "unknown" and row["facts"]["brokers_untold"] == (1 if dirs else 3)


# --- moves and throttles


def test_a_reassignment_is_told_and_its_throttle_is_no_leftover() -> None:
    moving = part("t", 0, 1, 1, 2, 3, isr=(1, 2), adding=(3,), removing=(2,))
    row = rows_of(*HEALTHY, moving, throttled=("broker 1", "topic t"))["reassignments"]

    assert (row["status"], row["facts"]["partitions"]) == ("ok", 1)
    assert row["reason"] == "1 partition of 1 topic being reassigned to broker 3 (kafka-a03)"


def test_a_throttle_that_was_left_behind_is_a_warning() -> None:
    row = rows_of(*HEALTHY, throttled=("topic t", "broker 1"))["reassignments"]

    assert row["status"] == "warning" and "still throttled for topic t, broker 1" in row["reason"]


# --- who leads


def thesis(rate: int) -> list[Partition]:
    """Three topics of rates 1, 1 and 2 on three nodes: nodes 1 and 3 carry 1.5, node 2 carries 1."""
    where = {"a": ((1, 2), rate), "b": ((2, 3), rate), "c": ((1, 3), 2 * rate)}
    return [part(topic, number, node, node, size_bytes=size // 2)
            for topic, (nodes, size) in where.items() for number, node in enumerate(nodes)]  # fmt: skip


def test_topics_that_overlap_load_two_nodes_half_more_than_the_third() -> None:
    rows = rows_of(*thesis(40 * GIB))

    assert leader_balance.loads(thesis(2), (1, 2, 3)) == {1: 3, 2: 2, 3: 3}
    assert rows["leaders"]["facts"]["leaders"] == {1: 2, 2: 2, 3: 2}, "by count nothing is wrong"
    assert rows["leader_load"]["status"] == "warning"
    assert "leads 60.0 GiB, broker 2 (kafka-a02) 40.0 GiB: 50 % more" in rows["leader_load"]["reason"]


def test_little_data_equal_data_and_untold_sizes_alarm_nobody() -> None:
    even = [part("t", n, n % 3 + 1, n % 3 + 1, size_bytes=30 * GIB) for n in range(6)]
    almost = [part("t", n, n + 1, n + 1, size_bytes=size * GIB) for n, size in enumerate((149, 100, 100))]

    for rows in (thesis(4 * GIB), even, almost, HEALTHY):
        assert rows_of(*rows)["leader_load"]["status"] == "ok"


def test_a_broker_that_leads_no_data_at_all_is_told() -> None:
    rows = [part("t", n, n % 2 + 1, n % 2 + 1, 3, size_bytes=30 * GIB) for n in range(6)]

    assert "90.0 GiB, broker 3 (kafka-a03) 0 MiB: all of it" in rows_of(*rows)["leader_load"]["reason"]


def homes(away: int, of: int, **fields: Any) -> list[Partition]:
    """So many partitions whose preferred leader is broker 1; broker 2 leads the first of them."""
    return [part("t", n, 2 if n < away else 1, 1, 2, **(fields if n < away else {})) for n in range(of)]


@pytest.mark.parametrize(
    ("away", "of", "status"), [(10, 99, "warning"), (10, 100, "ok"), (9, 20, "ok"), (20, 20, "warning")]
)
def test_the_edges_of_preferred_leaders(away: int, of: int, status: str) -> None:
    row = rows_of(*homes(away, of))["preferred_leaders"]

    assert row["status"] == status and row["facts"]["partitions"] == away
    assert ("broker 1 (kafka-a01)" in row["reason"]) is (status == "warning")


@pytest.mark.parametrize("fields", [{"isr": (2,)}, {"adding": (3,)}])
def test_who_cannot_lead_now_is_no_preferred_leader_that_was_passed_over(fields: Any) -> None:
    row = rows_of(*homes(20, 20, **fields))["preferred_leaders"]

    assert row["status"] == "ok" and row["facts"] == {"partitions": 20, "could_go_home": 0}


ids = st.integers(-1, 4)
some_ids = st.lists(ids, max_size=4).map(tuple)
any_partition = st.builds(
    Partition, st.sampled_from("abc"), st.integers(0, 9), ids, some_ids, some_ids, st.none() | ids, some_ids, some_ids,
    some_ids, st.none() | st.booleans(), st.none() | st.integers(0, 1 << 50),
)  # fmt: skip


@given(st.lists(any_partition, max_size=12), some_ids)
def test_no_answer_of_kafka_breaks_the_judge(rows: list[Partition], brokers: tuple[int, ...]) -> None:
    found = judged(view(THREE, kafka=kafka(*rows, brokers=tuple({*brokers}))), "partitions")

    assert "asked" in found and found["offline"]["status"] in ("ok", "critical")
