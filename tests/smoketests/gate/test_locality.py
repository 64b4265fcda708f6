"""Trouble is weighed by what its machine shares with the hosts that leave (F3, F4, F6)."""

from __future__ import annotations

from typing import Any

import pytest

from inventory.model import Host
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, NO_GO, PASSED, WARNED
from smoketests.readers.zookeeper.ensemble import Member, Registered
from tests.smoketests.cluster.views import said
from tests.smoketests.gate.situations import (
    ORDERS,
    broker,
    card,
    decided,
    ensemble,
    kafka,
    log_dir,
    partition,
    rule,
    runs,
    server,
    situation,
    trouble,
)

A01, A02, A03 = "kafka-a01", "kafka-a02", "kafka-a03"
HUNDRED = range(1, 101)


def fleet(*more: Any, **given: Any) -> Any:
    """100 brokers; each partition lies on three neighbours, so that 1 and 99 share none."""
    rows = [partition("t", n, (n, n + 1, n + 2)) for n in range(1, 99)]
    hosts = [Host(f"kafka-a{n:02}", roles=("broker",), layout="jbod", broker_id=n, cluster="prod-a") for n in HUNDRED]
    at = tuple(Registered(n, f"kafka-a{n:02}", 9092, "", (f"kafka-a{n:02}:9092",)) for n in HUNDRED)
    says = kafka(*rows, *more, log_dirs=tuple(log_dir(n) for n in HUNDRED))._replace(brokers=at)
    found = {f"kafka-a{n:02}": [runs("broker", ids=(n,))] for n in HUNDRED}
    for name, changed in given.pop("found", {}).items():
        found[name] = [*found[name], *changed]
    return situation(A01, hosts=hosts, kraft=True, kafka_says=given.pop("kafka_says", says), found=found, **given)


def without_quorum(seen: Any) -> dict[str, str]:
    """Rules that hold it up; the fleet of this test tells of no quorum."""
    bad = decided(seen).with_status(FAILED, CANNOT_TELL)
    return {one.name: one.reason for one in bad if one.name != "kraft_quorum"}


def test_a_dying_disk_on_a_broker_that_shares_nothing_is_warned_of_with_the_reason_and_holds_nobody_up() -> None:
    seen = fleet(found={"kafka-a99": [trouble("smart")]})
    result = rule(seen, "disks")

    assert without_quorum(seen) == {}
    assert result.status == WARNED
    assert result.reason.startswith("kafka-a99: smart: ")
    assert f"does not count: it shares no partition and no quorum with {A01}" in result.reason


@pytest.mark.parametrize(
    "check", ["mounts", "power", "memory_errors", "nic_link", "services", "clock", "out_of_memory"]
)
def test_no_fault_of_a_machine_far_away_needs_to_be_accepted(check: str) -> None:
    assert without_quorum(fleet(found={"kafka-a99": [trouble(check)]})) == {}


def test_a_bmc_that_is_unknown_far_away_is_not_cannot_tell() -> None:
    seen = fleet(found={"kafka-a99": [trouble("power", "unknown")]})

    assert without_quorum(seen) == {} and rule(seen, "power").status == PASSED
    assert "unknown, and does not count, on kafka-a99" in rule(seen, "power").reason


def test_a_machine_far_away_that_does_not_answer_is_not_cannot_tell() -> None:
    seen = fleet(silent=["kafka-a99"])

    assert without_quorum(seen) == {} and rule(seen, "answers").status == PASSED


def test_a_card_far_away_that_tells_no_load_is_not_cannot_tell() -> None:
    seen = fleet(found={"kafka-a99": [card(rx_bytes_per_s=None, tx_bytes_per_s=None)]})

    assert without_quorum(seen) == {}


@pytest.mark.parametrize("status", ["critical", "unknown"])
def test_the_same_faults_on_a_broker_that_shares_a_partition_hold_it_up(status: str) -> None:
    seen = fleet(found={"kafka-a02": [trouble("smart", status)]})

    assert rule(seen, "disks").status == (FAILED if status == "critical" else CANNOT_TELL)


def test_partitions_far_away_that_are_under_replicated_or_offline_or_moving_hold_nobody_up() -> None:
    away = (
        partition("x", 0, (97, 98, 99), isr=(97, 98)), partition("x", 1, (97, 98), leader=-1, isr=(), min_isr=1),
        partition("x", 2, (97, 98, 99), adding=(99,)),
    )  # fmt: skip
    seen = fleet(*away)

    assert without_quorum(seen) == {}
    for name in ("under_replicated", "offline", "reassignments"):
        assert rule(seen, name).status == WARNED and "does not count" in rule(seen, name).reason, name


def test_a_broker_far_away_that_is_down_is_warned_of() -> None:
    seen = fleet()
    gone = seen.view.kafka._replace(brokers=tuple(row for row in seen.view.kafka.brokers if row.id != 99))
    down = [said("server_ids", "-", "skipped"), trouble("services")]
    lost = fleet(kafka_says=gone._replace(log_dirs=tuple(log_dir(n) for n in HUNDRED if n != 99)),
                 found={"kafka-a99": down})  # fmt: skip

    assert without_quorum(lost) == {} or set(without_quorum(lost)) <= {"log_dirs"}, without_quorum(lost)
    assert rule(lost, "brokers").status == WARNED and rule(lost, "services").status == WARNED


def test_three_replicas_and_one_needed_may_lose_a_broker_while_another_is_down() -> None:
    rows = [row._replace(min_isr=1, isr=tuple(b for b in row.replicas if b != 3), leader=2) for row in ORDERS]
    seen = situation(kafka_says=kafka(*rows, brokers=(1, 2), controller=2), zookeeper_says=ensemble(brokers=(1, 2)),
                     found={A03: [said("server_ids", "-", "skipped"), trouble("services")]})  # fmt: skip
    decision = decided(seen)

    assert decision.answer == GO, decision.missing
    assert {"under_replicated", "brokers", "services"} <= {one.name for one in decision.with_status(WARNED)}
    assert "keeps enough replicas in sync" in rule(seen, "services").reason


def test_two_replicas_and_one_needed_may_not_lose_the_other_broker() -> None:
    rows = (partition("t", 0, (1, 3), isr=(1,), min_isr=1),)
    seen = situation(kafka_says=kafka(*rows, brokers=(1, 2)), zookeeper_says=ensemble(brokers=(1, 2)))

    assert decided(seen).answer == NO_GO


def test_a_decommission_moves_topics_without_a_spare_copy_first_and_is_no_no_go() -> None:
    rows = (partition("one", 0, (1,), min_isr=1), partition("tight", 0, (1, 2), min_isr=2))
    before, reboot = situation(purpose="decommission", kafka_says=kafka(*rows)), situation(kafka_says=kafka(*rows))

    assert decided(before).answer == GO, decided(before).missing
    for name in ("unreplicated", "min_isr"):
        assert rule(before, name).status == WARNED and "move them before it is stopped" in rule(before, name).reason
        assert rule(reboot, name).status == FAILED


def test_a_sick_disk_on_a_receiver_of_what_a_decommission_moves_counts() -> None:
    rows = (partition("t", 0, (1, 2), min_isr=1),)
    seen = situation(purpose="decommission", kafka_says=kafka(*rows), found={A03: [trouble("smart")]})
    reboot = situation(kafka_says=kafka(*rows), found={A03: [trouble("smart")]})

    assert rule(seen, "disks").status == FAILED
    assert rule(reboot, "disks").status == WARNED


def test_a_sick_machine_of_the_same_ensemble_counts_where_the_majority_would_go_with_it() -> None:
    three = situation("zk-a01", found={"zk-a03": [trouble("memory_errors")]})
    hosts = [server(4), server(5)]
    five = [Member(f"zk-a0{n}:2181", "answered", "", "leader" if n == 2 else "follower", 0x100000004,
                   4 if n == 2 else None, 5) for n in range(1, 6)]  # fmt: skip
    more = situation(
        "zk-a01", hosts=hosts, zookeeper_says=ensemble(*five), found={"zk-a03": [trouble("memory_errors")]}
    )
    other = situation(found={"zk-a03": [trouble("memory_errors")]})

    assert rule(three, "memory").status == FAILED
    assert rule(more, "memory").status == WARNED and rule(other, "memory").status == WARNED


def test_behind_the_maintenance_a_neighbour_counts_only_where_a_partition_depends_on_it() -> None:
    sick = {A02: [trouble("smart")]}

    assert rule(situation(after=True, found=sick), "disks").status == WARNED
    assert rule(situation(after=True, found={A01: [trouble("smart")]}), "disks").status == FAILED
    tight = kafka(*(row._replace(min_isr=1, replicas=row.replicas[:2], isr=row.replicas[:1]) for row in ORDERS))
    assert rule(situation(after=True, found={A01: [trouble("smart")]}, kafka_says=tight), "disks").status == FAILED


def test_where_kafka_does_not_tell_its_partitions_every_machine_counts() -> None:
    seen = situation(kafka_says=None, problems={"kafka": "no answer"}, found={A03: [trouble("smart")]})

    assert rule(seen, "disks").status == FAILED


def test_a_neighbour_in_the_rack_that_shares_no_partition_is_told_with_its_rack() -> None:
    hosts = [broker(1, rack="r1"), broker(2, rack="r2"), broker(3, rack="r1")]
    rows = (partition("t", 0, (1, 2), min_isr=1),)
    seen = situation(hosts=hosts, kafka_says=kafka(*rows), found={A03: [trouble("power")]})

    assert rule(seen, "power").status == WARNED
    assert rule(seen, "shared_parts").status == WARNED and "rack" in rule(seen, "shared_parts").reason
