"""Ways to a wrong GO that an attack on the rules found; each was GO before, unless its name says otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.checks.disks import raid
from inventory.model import Host
from smoketests.cluster.checks.broker_ids import Names
from smoketests.gate.acceptance import Acceptance
from smoketests.gate.decision import GO, NO_GO, UNTOLD
from smoketests.readers.kafka import topics as kafka_topics
from smoketests.readers.kafka.client import TopicSaid
from smoketests.readers.kafka.cluster import Quorum, Voter
from smoketests.readers.zookeeper.ensemble import Member, Registered
from tests.smoketests.cluster.views import said
from tests.smoketests.gate.situations import (
    FOUR,
    NOW,
    ORDERS,
    TB,
    array,
    broker,
    decided,
    ensemble,
    kafka,
    log_dir,
    mount,
    partition,
    rule,
    runs,
    server,
    situation,
    trouble,
)

NAMELESS = [broker(n, roles=(), broker_id=None, layout="") for n in (1, 2, 3)]


def zk(number: int, mode: str = "follower", sync: int | None = None, size: int = 5) -> Member:
    return Member(f"zk-a0{number}:2181", "answered", "", mode, 0x100000004, sync, size)


def test_a_mirror_on_a_part_of_a_data_disk_does_not_stand_for_its_data() -> None:
    mirror = array(level="raid1", mirrors=[["sda1 (serial AAA1)", "sdb1 (serial BBB2)"]])
    disks = [mirror, *FOUR, mount("/kafka/d1", "AAA1", device="sda3"), mount("/kafka/d2", "CCC3", device="sdc1")]
    single = kafka(*ORDERS, partition("tmp", 0, (1,), min_isr=1))

    seen = situation(purpose="replace-disk", disk="AAA1", kafka_says=single, found={"kafka-a01": disks})

    assert decided(seen).answer == NO_GO


@pytest.mark.parametrize("purpose", ["decommission", "reboot"])
def test_a_broker_that_no_host_tells_of_may_be_the_one_that_is_gone(purpose: str) -> None:
    left = (partition(isr=(2, 3), leader=2), partition("tmp", 0, (1,), leader=-1, isr=(), min_isr=1))

    seen = situation(
        purpose=purpose, after=True, hosts=NAMELESS, silent=["kafka-a01"],
        kafka_says=kafka(*left, brokers=(2, 3)), zookeeper_says=ensemble(brokers=(2, 3)),
    )  # fmt: skip

    assert decided(seen).answer in (NO_GO, UNTOLD)


def test_an_inventory_of_names_alone_is_go_where_all_is_well() -> None:
    assert decided(situation(hosts=NAMELESS)).answer == GO
    assert decided(situation(hosts=NAMELESS, after=True)).answer == GO


def test_a_broker_of_another_cluster_on_the_host_is_not_judged_and_that_is_said() -> None:
    seen = situation(found={"kafka-a01": [runs("broker", ids=(1,)), runs("broker", ids=(7,), cluster="c2")]})

    assert decided(seen).answer == UNTOLD
    assert "of cluster c2, which is not judged here" in rule(seen, "identities").reason


FIVE = [zk(1), zk(2, "leader", 3), zk(3), zk(4), Member("zk-a05:2181", "refused", "nothing listens")]
OBSERVED = [zk(1, size=3), zk(2, "leader", 2, 3), zk(3, size=3), zk(4, "observer", size=3), zk(5, "observer", size=3)]


@pytest.mark.parametrize("members", [FIVE, OBSERVED], ids=["one is dead", "two observe"])
def test_a_sick_server_counts_where_the_quorum_has_none_to_spare(members: list[Member]) -> None:
    hosts, says = [server(4), server(5)], ensemble(*members)

    sick = situation("zk-a01", hosts=hosts, zookeeper_says=says, found={"zk-a03": [trouble("memory_errors")]})
    well = situation("zk-a01", hosts=hosts, zookeeper_says=says)

    assert (decided(sick).answer, decided(well).answer) == (NO_GO, GO)


def test_a_controller_that_lags_is_none_to_spare() -> None:
    voters = [Host(f"ctl-{n}", roles=("controller",), cluster="prod-a") for n in range(1, 6)]
    found: dict[str, list[dict[str, Any]]] = {f"ctl-{n}": [runs("controller", ids=(100 + n,))] for n in range(1, 6)}
    found["ctl-3"].append(trouble("memory_errors"))
    late = Quorum(102, (Voter(101, 0), Voter(102, 0), Voter(103, 0), Voter(104, 0), Voter(105, 90_000)))

    seen = situation("ctl-1", hosts=voters, kraft=True, kafka_says=kafka(quorum=late, controller=102), found=found)

    assert decided(seen).answer == NO_GO


def test_two_last_copies_that_are_sick_in_different_ways_are_two_sick_copies() -> None:
    says = kafka(partition("t", 0, (1, 2, 3), min_isr=1))
    both = {"kafka-a02": [trouble("smart")], "kafka-a03": [trouble("memory_errors")]}

    assert decided(situation(kafka_says=says, found=both)).answer == NO_GO
    assert decided(situation(kafka_says=says, found={"kafka-a02": [trouble("smart")]})).answer == GO


@pytest.mark.parametrize(
    ("one", "two"), [("252:3", "252:4"), ("nvme0n1p1", "nvme1n1p1"), ("sdc1 (serial ZA1BC2)", "sdc1 (serial ZA7BC9)")]
)
def test_another_disk_of_an_accepted_array_is_not_accepted_with_it(one: str, two: str) -> None:
    first, second = (situation(found={"kafka-a02": [degraded(disk)]}) for disk in (one, two))
    (finding,) = rule(first, "disks").findings
    known = Acceptance("disks", finding.id("disks"), finding.said, "it comes on Monday", "ann", NOW - 10, NOW + 86400)

    assert decided(replace(first, accepted=[known])).answer == GO
    assert decided(replace(second, accepted=[known])).answer == NO_GO


def degraded(gone: str) -> dict[str, Any]:
    facts = raid.Facts("array", "raid10", "degraded", "Dgrd", 3, gone=(gone,))
    verdict = raid.judge(facts, raid.LIMITS)
    return {**said("raid", "c0 v1", verdict.status), "reason": verdict.reason, "facts": {"gone": [gone]}}


def test_two_log_dirs_of_one_file_system_have_its_room_once() -> None:
    folders = [
        log_dir(n, path, used=4 * TB, replicas_bytes=2 * TB)
        for n in (2, 3)
        for path in ("/var/lib/kafka/a", "/var/lib/kafka/b")
    ]
    big = [partition("big", n, (1,), min_isr=1, size_bytes=TB // 2) for n in range(12)]
    says = kafka(*big, log_dirs=(log_dir(1, used=3 * TB), *folders))

    assert decided(situation(purpose="decommission", kafka_says=says)).answer == NO_GO


def test_a_silent_host_may_run_the_controller_that_no_host_is_known_to_run() -> None:
    three = Quorum(101, (Voter(100, 0), Voter(101, 0), Voter(102, 9000)))
    found = {f"kafka-a0{n}": [runs("broker", ids=(n,)), runs("controller", ids=(99 + n,))] for n in (2, 3)}

    seen = situation(silent=["kafka-a01"], kraft=True, kafka_says=kafka(quorum=three, controller=101), found=found)

    assert decided(seen).answer in (NO_GO, UNTOLD)


def test_a_rack_whose_power_is_in_doubt_counts_for_the_quorum_too() -> None:
    hosts = [server(1, rack="r1"), server(2, rack="r1"), server(3, rack="r2")]

    seen = situation("zk-a01", hosts=hosts, found={"zk-a02": [trouble("power", "warning")]})

    assert decided(seen).answer == NO_GO


def test_hosts_that_share_their_first_name_in_several_sites_are_told_apart() -> None:
    """NO-GO before, on a healthy cluster."""
    names = [f"kafka-1.dc{n}.example.com" for n in (1, 2, 3)]
    hosts = Names([Host(name, roles=("broker",), cluster="prod-a") for name in names])
    rows = [Registered(n, name, 9092, "", (f"{name}:9092",)) for n, name in enumerate(names, 1)]

    assert [list(hosts.holders(row)) for row in rows] == [[name] for name in names]


@pytest.mark.parametrize(("offline", "answer"), [((), GO), ((3,), NO_GO)])
def test_a_replica_that_has_just_lost_its_log_dir_is_no_copy_to_rely_on(offline: tuple[int, ...], answer: str) -> None:
    """Its ISR still lists all three; the broker told its log dirs a moment before."""
    told = {"orders": TopicSaid(0, ((0, 1, (1, 2, 3), (1, 2, 3), offline),))}
    strict = {"orders": kafka_topics.Settings(2, False, False)}
    (row,) = kafka_topics.partitions(told, strict, {}, {}, pytest.fail)

    assert decided(situation(kafka_says=kafka(row._replace(size_bytes=10**9)))).answer == answer


def test_a_zookeeper_that_is_closed_to_us_keeps_no_healthy_cluster_from_go() -> None:
    closed = ensemble()._replace(brokers=None, controller=None, untold="its ACL wants a login", closed=True)

    assert decided(situation(zookeeper_says=closed)).answer == GO
    assert decided(situation(zookeeper_says=closed, kafka_says=kafka(brokers=(1, 2)))).answer != GO
