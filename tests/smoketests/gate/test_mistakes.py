"""Mistakes that people make, in the inventory, in the question or at the machine: none of them may lead to GO."""

from __future__ import annotations

import json
import os
import pathlib
import time
from dataclasses import replace
from typing import Any

import pytest

from inventory.model import Cluster, Host, Inventory
from smoketests.gate import decision_store, evaluate, lock
from smoketests.gate.decision import CANNOT_TELL, FAILED, PASSED, SKIPPED, WARNED
from smoketests.readers.kafka.cluster import Quorum, Voter
from smoketests.readers.zookeeper.ensemble import Registered
from tests.smoketests.cluster.views import said
from tests.smoketests.gate import situations
from tests.smoketests.gate.situations import (
    MEMBERS,
    ORDERS,
    broker,
    decided,
    kafka,
    partition,
    rule,
    situation,
)

A01, A02, A03 = situations.BROKERS
SINGLE = kafka(*ORDERS, partition("tmp", 0, (1,), min_isr=1))


def test_an_id_that_is_another_brokers_is_not_judged_in_its_place() -> None:
    """The inventory has the ids of the first two the wrong way round, or gives the first one an id of nobody."""
    for wrong in ([broker(1, broker_id=2), broker(2, broker_id=1)], [broker(1, broker_id=7)]):
        result = rule(situation(hosts=wrong, kafka_says=SINGLE), "unreplicated")
        assert result.status == CANNOT_TELL and f"which broker runs on {A01}" in result.reason, result


def test_a_second_broker_on_the_machine_goes_with_it_though_the_inventory_knows_but_one() -> None:
    second = Registered(4, A01, 9094, "", (f"{A01}:9094",))
    says = kafka(*ORDERS, partition("tmp", 0, (4,), min_isr=1))
    seen = situation(kafka_says=says._replace(brokers=(*says.brokers, second)))

    assert seen.leaving_ids == {1, 4}
    assert rule(seen, "unreplicated").status == FAILED


def test_brokers_behind_one_address_are_told_by_their_ids_also_when_one_is_down() -> None:
    hosts = [broker(number, address="10.0.0.1") for number in (1, 2, 3)]
    rows = tuple(Registered(number, "10.0.0.1", 9090 + number, "", (f"10.0.0.1:{9090 + number}",)) for number in (2, 3))
    seen = situation(hosts=hosts, kraft=True, kafka_says=kafka(partition("tmp", 0, (1,)))._replace(brokers=rows))

    assert rule(seen, "unreplicated").status == FAILED


def test_the_kafka_of_another_cluster_is_not_believed() -> None:
    """Copied from prod-b: its brokers have the same ids, and all is well there."""
    ours = tuple(broker(number) for number in (1, 2, 3))
    theirs = tuple(replace(host, name=host.name.replace("a0", "b0"), cluster="prod-b") for host in ours)
    seen = situation().view
    foreign = replace(
        seen,
        cluster=replace(seen.cluster, hosts=ours, kafka=("bootstrap:9092",)),
        kafka=kafka()._replace(
            brokers=tuple(Registered(n, f"kafka-b0{n}.example.com", 9092, "", ()) for n in (1, 2, 3))
        ),
    )
    inventory = Inventory((foreign.cluster, Cluster("prod-b", theirs)))

    judged = evaluate.own_kafka(foreign, inventory)
    assert judged.kafka is None and "leads to kafka-b01, which is of prod-b" in judged.problems["kafka"]
    assert evaluate.own_kafka(seen, Inventory((seen.cluster, Cluster("prod-b", theirs)))) is seen
    assert evaluate.own_kafka(foreign, Inventory((foreign.cluster,))) is foreign  # names that nobody knows


def test_controllers_of_which_nobody_can_be_asked_are_no_go() -> None:
    host = Host("ctl-1", roles=("controller",), cluster="ctl")
    seen = situation("ctl-1", kraft=True, hosts=[host], kafka_says=None)
    alone = replace(seen.view, cluster=Cluster("ctl", (host, replace(host, name="ctl-2"))))

    assert rule(replace(seen, view=alone), "kraft_quorum").status == CANNOT_TELL


def test_a_host_without_a_role_may_have_the_server_that_nobody_has() -> None:
    cname = tuple(member._replace(server=f"quorum{number}:2181") for number, member in enumerate(MEMBERS, 1))
    nobodys = situations.ensemble(*cname)

    assert rule(situation(hosts=[broker(1, roles=())], zookeeper_says=nobodys), "zookeeper").status == CANNOT_TELL
    assert rule(situation(hosts=[broker(1, roles=())]), "zookeeper").status == PASSED
    assert rule(situation(zookeeper_says=nobodys), "zookeeper").status == PASSED


def test_a_controller_that_is_not_back_is_not_back_though_four_of_five_are() -> None:
    def after(late: int) -> str:
        voters = tuple(Voter(n, 9000 if n == late else 0, (f"kafka-a0{n}:9093",) if n < 4 else ()) for n in range(1, 6))
        return rule(
            situation(after=True, kraft=True, kafka_says=kafka(quorum=Quorum(2, voters))), "kraft_quorum"
        ).status

    assert (after(1), after(3), after(0)) == (FAILED, WARNED, PASSED)


def test_a_lock_of_somebody_with_our_process_number_is_not_ours() -> None:
    """Two containers with the host's name: both are root@bastion (pid 1)."""
    assert rule(situation(locks=[situations.lock(A02, owner=lock.owner())]), "other_maintenance").status == FAILED


def test_who_names_a_lock_that_is_gone_or_over_is_told() -> None:
    gone = rule(situation(lock="11111111"), "other_maintenance")
    over = rule(situation(lock="0badcafe", locks=[situations.lock(A01, minutes=-1)]), "other_maintenance")

    assert (gone.status, over.status) == (WARNED, WARNED)
    assert "is not held any more" in gone.reason and "has expired" in over.reason


def test_a_clock_that_is_ahead_does_not_take_over_a_lock(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    lock.take(str(tmp_path), [A01], "prod-a", "ann@bastion (pid 1)", "reboot", 60)
    ahead = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: ahead)

    with pytest.raises(lock.Held):
        lock.take(str(tmp_path), [A02], "prod-a", "bob@other (pid 2)", "reboot", 60)
    assert lock.clock(str(tmp_path)) < ahead - 3600
    assert lock.clock(str(tmp_path / "nowhere")) == ahead


def test_a_machine_whose_cards_the_inventory_skips_needs_no_room_on_them() -> None:
    skips = [broker(2, skip={"nic_link": "a VM"})]
    found = {A02: [said("nic_link", "-", "skipped")]}

    assert rule(situation(hosts=skips, found=found), "nic_room").status == PASSED
    assert rule(situation(found=found), "nic_room").status == CANNOT_TELL


def test_what_the_inventory_skips_everywhere_is_not_passed() -> None:
    skip = {"power": "no BMC", "cooling": "no BMC", "chassis": "no BMC"}
    hosts = [broker(number, skip=skip) for number in (1, 2, 3)]
    result = rule(situation(hosts=hosts), "power")
    alone = rule(situation(hosts=hosts, kraft=True), "power")

    assert result.status == PASSED and f"the inventory skips some of it on {A02}, {A03}" in result.reason
    assert alone.status == SKIPPED


def test_two_that_cannot_go_together_are_told_to_go_one_by_one() -> None:
    both, none = situation(A01, A02), situation(A01, A02, kafka_says=kafka(*ORDERS, partition("pay", isr=(1, 2))))

    assert rule(both, "availability").reason.endswith("; one broker at a time could go")
    assert rule(none, "availability").status == FAILED and "at a time" not in rule(none, "availability").reason


def test_an_unwritable_store_is_no_go_and_a_clock_all_the_same(tmp_path: pathlib.Path) -> None:
    store = tmp_path / "file"
    store.write_text("")
    kept = decision_store.kept(replace(decided(situation()), run_id="r1"), str(store))

    assert (kept.answer, kept.exit_code) == ("CANNOT TELL", 3)
    with pytest.raises(lock.CannotLock):
        lock.held(str(store))
    assert lock.clock(str(store)) == pytest.approx(time.time(), abs=60)
    json.dumps(decision_store.as_json(kept))
    assert os.listdir(tmp_path) == ["file"]
