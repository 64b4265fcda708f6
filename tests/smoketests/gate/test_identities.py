"""Who is a broker, under which id, of which cluster: no witness is believed alone (W1, W6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.checks.kafka import server_ids
from inventory.model import Cluster, Host, Inventory
from smoketests.cluster.view import typed
from smoketests.gate import evaluate
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, NO_GO, PASSED, UNTOLD, WARNED
from smoketests.gate.identities import Server
from smoketests.readers.kafka.cluster import KafkaFacts, Quorum, Voter
from smoketests.readers.zookeeper.ensemble import Registered
from tests.smoketests.cluster.views import said
from tests.smoketests.gate import situations
from tests.smoketests.gate.situations import (
    ORDERS,
    broker,
    decided,
    ensemble,
    kafka,
    partition,
    rule,
    runs,
    server,
    situation,
)

A01, A02, A03 = situations.BROKERS
SINGLE = (*ORDERS, partition("tmp", 0, (1,), min_isr=1))
NAMELESS = [broker(number, roles=(), broker_id=None, layout="") for number in (1, 2, 3)]


def elsewhere(*partitions: Any, brokers: tuple[int, ...] = (1, 2, 3)) -> KafkaFacts:
    """Its brokers advertise another network than the one by which the inventory knows the machines."""
    rows = tuple(Registered(n, f"10.9.9.{n}", 9092, "", (f"10.9.9.{n}:9092",)) for n in brokers)
    return kafka(*partitions, brokers=brokers)._replace(brokers=rows)


def elsewhere_in_zookeeper() -> Any:
    return ensemble()._replace(brokers=elsewhere().brokers)


def test_an_inventory_of_names_and_addresses_alone_does_not_hide_the_only_broker() -> None:
    seen = situation(hosts=NAMELESS, kraft=True, kafka_says=elsewhere(*SINGLE))

    assert seen.leaving_ids == {1}
    assert rule(seen, "unreplicated").status == FAILED and decided(seen).answer == NO_GO


def test_a_host_without_a_role_on_which_the_agent_sees_a_broker_runs_a_broker() -> None:
    for roles in ((), ("controller",), ("zookeeper",)):
        seen = situation(hosts=[broker(1, roles=roles, broker_id=None)], kraft=True, kafka_says=elsewhere(*SINGLE))
        assert rule(seen, "unreplicated").status == FAILED, roles


def test_a_cluster_of_zookeeper_hosts_by_the_inventory_on_which_a_broker_runs_needs_its_kafka() -> None:
    hosts = [broker(number, roles=("zookeeper",), broker_id=None) for number in (1, 2, 3)]
    seen = situation(hosts=hosts, kafka_says=None)
    bare = replace(seen, view=replace(seen.view, cluster=replace(seen.view.cluster, kafka=())))

    assert rule(bare, "availability").status == CANNOT_TELL
    assert "names no Kafka servers" in rule(bare, "availability").reason


def test_a_host_of_unknown_role_that_does_not_answer_cannot_be_told_while_a_broker_has_no_host() -> None:
    given: dict[str, Any] = {"hosts": NAMELESS, "kraft": True, "kafka_says": elsewhere(*SINGLE)}
    lost = situation(silent=[A01], **given)
    result = rule(lost, "unreplicated")

    assert result.status == CANNOT_TELL
    assert f"whether a broker runs on {A01}" in result.reason and "1 (10.9.9.1:9092)" in result.reason


def test_ids_mixed_up_in_the_inventory_are_seen_though_the_brokers_advertise_another_network() -> None:
    wrong = [broker(1, broker_id=2), broker(2, broker_id=1)]
    seen = situation(hosts=wrong, kafka_says=elsewhere(*SINGLE), zookeeper_says=elsewhere_in_zookeeper())
    result = rule(seen, "unreplicated")

    assert decided(seen).answer == UNTOLD and result.status == CANNOT_TELL
    assert result.reason == (
        f"which broker runs on {A01}: the inventory says 2, but its meta.properties or configuration say 1"
    )


def test_ids_mixed_up_are_seen_also_when_the_host_that_leaves_does_not_answer() -> None:
    wrong = [broker(1, broker_id=2), broker(2, broker_id=1)]
    seen = situation(hosts=wrong, silent=[A01], kafka_says=elsewhere(*SINGLE), zookeeper_says=elsewhere_in_zookeeper())
    result = rule(seen, "unreplicated")

    assert result.status == CANNOT_TELL
    assert f"the inventory says 2, but {A02} runs it (meta.properties)" in result.reason


def test_a_broker_that_lives_by_kafka_and_does_not_run_by_its_machine_is_not_judged() -> None:
    found = {A01: [said("server_ids", "-", "skipped")]}
    seen = situation(found=found, kafka_says=elsewhere(*SINGLE), zookeeper_says=elsewhere_in_zookeeper())
    result = rule(seen, "unreplicated")

    assert result.status == CANNOT_TELL
    assert "no broker runs there, and Kafka lists it as live at 10.9.9.1:9092" in result.reason


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (runs("broker", ids=(1, 7)), "its log dirs belong to nodes 1 and 7"),
        (runs("broker", ids=(2,)), "the inventory says 1, but its meta.properties or configuration say 2"),
        (runs("broker", ids=(1,), cluster="c9"), "it is of cluster c9 (meta.properties), but Kafka reports cluster"),
    ],
)
def test_a_machine_that_contradicts_the_inventory_or_kafka_cannot_be_told(row: Any, words: str) -> None:
    seen = situation(found={A01: [row]})

    assert decided(seen).answer == UNTOLD and words in rule(seen, "availability").reason


def test_a_broker_that_two_machines_claim_cannot_be_told() -> None:
    given = situation(hosts=[broker(1, broker_id=None)], found={A01: [runs("broker", ids=(2,))]}, kraft=True,
                      kafka_says=elsewhere())  # fmt: skip

    assert f"both {A01} and {A02} run broker 2" in rule(given, "availability").reason


def test_meta_properties_and_the_registered_address_must_name_the_same_machine() -> None:
    rows = (Registered(1, A02, 9092, "", (f"{A02}:9092",)), *kafka().brokers[1:])
    seen = situation(hosts=[broker(1, broker_id=None)], kraft=True, kafka_says=kafka()._replace(brokers=rows))

    assert f"its meta.properties say 1, but {A02} is registered as that" in rule(seen, "availability").reason


def test_a_contradiction_on_a_host_that_stays_is_told_too() -> None:
    seen = situation(hosts=[broker(3, broker_id=4)])
    result = rule(seen, "identities")

    assert result.status == CANNOT_TELL and f"which broker runs on {A03}: the inventory says 4" in result.reason
    assert rule(situation(), "identities").status == PASSED


def test_kafka_of_a_cluster_that_the_inventory_does_not_have_is_not_believed() -> None:
    """The same ids, a name that nobody knows: only the cluster's own id tells."""
    seen = situation(kafka_says=elsewhere(), zookeeper_says=elsewhere_in_zookeeper()).view
    inventory = Inventory((seen.cluster, Cluster("prod-b")))
    foreign = replace(seen, kafka=elsewhere()._replace(cluster_id="c9"))

    judged = evaluate.own_kafka(foreign, inventory)
    assert judged.kafka is None
    said = (
        f"kafka: of prod-a leads to the cluster c9, and its machines are of c1 (meta.properties of {A01}, {A02}, {A03})"
    )
    assert judged.problems["kafka"] == said
    assert evaluate.own_kafka(seen, inventory) is seen


def test_a_zookeeper_of_another_cluster_with_the_same_ids_is_told() -> None:
    result = rule(situation(kafka_says=elsewhere()), "identities")

    assert result.status == CANNOT_TELL
    assert "broker 1 is at kafka-a01:9092 by ZooKeeper, at 10.9.9.1:9092 by Kafka" in result.reason


def test_a_broker_missing_from_the_inventory_holds_up_whoever_shares_partitions_with_it() -> None:
    says = kafka(*ORDERS, partition("pay", 0, (1, 4), min_isr=1), brokers=(1, 2, 3, 4))
    alone = kafka(*ORDERS, partition("pay", 0, (2, 4), min_isr=1), brokers=(1, 2, 3, 4))
    shared, apart = (
        situation(kafka_says=said, zookeeper_says=ensemble(brokers=(1, 2, 3, 4))) for said in (says, alone)
    )
    result = rule(shared, "identities")

    assert result.status == CANNOT_TELL and decided(shared).answer == UNTOLD
    assert "broker 4 (kafka-a04:9092) runs on no host of the inventory: its hardware was not checked" in result.reason
    assert rule(apart, "identities").status == WARNED and decided(apart).answer == GO


def test_the_controller_that_leaves_is_told_by_its_own_files() -> None:
    """No address that the inventory knows, and no broker_id: before, any voter might have been its own."""
    hosts = [Host("ctl-1", roles=("controller",), cluster="prod-a")]
    quorum = Quorum(102, (Voter(101, 0), Voter(102, 0), Voter(103, 9000)))
    says = kafka(quorum=quorum, controller=102)
    late = situation("ctl-1", hosts=hosts, kraft=True, kafka_says=says,
                     found={"ctl-1": [runs("controller", ids=(103,))]})  # fmt: skip
    well = situation("ctl-1", hosts=hosts, kraft=True, kafka_says=says,
                     found={"ctl-1": [runs("controller", ids=(101,))]})  # fmt: skip

    assert rule(late, "kraft_quorum").status == PASSED
    assert rule(well, "kraft_quorum").status == FAILED


def test_a_controller_that_the_inventory_does_not_know_leaves_with_its_host() -> None:
    quorum = Quorum(2, (Voter(11, 0), Voter(2, 0), Voter(3, 9000)))
    both = situation(kraft=True, kafka_says=kafka(quorum=quorum, controller=2),
                     found={A01: [runs("broker", ids=(1,)), runs("controller", ids=(11,))]})  # fmt: skip

    assert rule(both, "kraft_quorum").status == FAILED


def test_a_zookeeper_server_that_the_agent_sees_leaves_with_its_host_whatever_its_role() -> None:
    """The ensemble is named by addresses that the inventory does not have."""
    hosts = [server(number, roles=("broker",), address=f"192.0.2.{number}") for number in (1, 2, 3)]
    members = [replace_server(member, number) for number, member in enumerate(situations.MEMBERS, 1)]
    seen = situation("zk-a01", hosts=hosts, zookeeper_says=ensemble(*members),
                     found={"zk-a01": [runs("zookeeper", ids=(1,), cluster="")]})  # fmt: skip

    assert rule(seen, "zookeeper").status == CANNOT_TELL
    assert "which server of" in rule(seen, "zookeeper").reason


def replace_server(member: Any, number: int) -> Any:
    return member._replace(server=f"10.8.8.{number}:2181")


def test_the_facts_that_the_gate_reads_are_the_agents_own() -> None:
    facts = server_ids.Facts("broker", ("broker",), "/etc/kafka/server.properties", 3, (3,), ("c1",), ())

    assert typed(facts._asdict(), Server) == Server(("broker",), 3, (3,), ("c1",))


def test_a_broker_of_no_host_that_is_fenced_is_only_warned_of() -> None:
    """Kafka 4 lists a broker that is gone for good until it is unregistered: nothing depends on its hardware."""
    says = kafka(partition(replicas=(1, 2, 4), isr=(1, 2), min_isr=1), brokers=(1, 2, 3, 4))
    fenced = says._replace(brokers=(*says.brokers[:3], says.brokers[3]._replace(fenced=True)))
    result = rule(situation(kafka_says=fenced), "identities")

    assert result.status == WARNED and "is fenced" in result.reason, result
    assert rule(situation(kafka_says=says), "identities").status == CANNOT_TELL


def test_a_broker_whose_files_cannot_be_read_runs_there_all_the_same() -> None:
    row = {**said("server_ids", "broker", "unknown"), "facts": {}}
    hosts = [broker(1, roles=("zookeeper",), broker_id=None), broker(2), broker(3)]
    seen = situation(hosts=hosts, kraft=True, kafka_says=elsewhere(*SINGLE), found={A01: [row]})
    named = situation(hosts=[broker(1)], kraft=True, kafka_says=elsewhere(*SINGLE), found={A01: [row]})

    assert (
        "a broker runs there, but its files, its address and the inventory give no id"
        in rule(seen, "unreplicated").reason
    )
    assert rule(named, "unreplicated").status == FAILED, "the inventory names it, and nobody contradicts"


def test_a_contradiction_on_a_host_that_shares_nothing_is_warned_of() -> None:
    hosts = [broker(4, broker_id=9)]
    says = kafka(partition(replicas=(1, 2), min_isr=1), partition("x", 0, (3, 4), min_isr=1), brokers=(1, 2, 3, 4))
    found = {"kafka-a04": [runs("broker", ids=(4,))]}
    away = situation(hosts=hosts, kafka_says=says, zookeeper_says=ensemble(brokers=(1, 2, 3, 4)), found=found)
    near = situation(A03, hosts=hosts, kafka_says=says, zookeeper_says=ensemble(brokers=(1, 2, 3, 4)), found=found)

    assert rule(away, "identities").status == WARNED and "does not count" in rule(away, "identities").reason
    assert rule(near, "identities").status == CANNOT_TELL
