"""Cluster checks that judge what ZooKeeper and Kafka said of servers: broker_ids, zk_quorum."""

from __future__ import annotations

from typing import Any

import pytest

from smoketests.cluster.checks.broker_ids import names_in, names_of
from smoketests.readers.kafka.cluster import KafkaFacts, Partition, Quorum, Voter
from smoketests.readers.zookeeper.ensemble import Member, Registered, ZooKeeperFacts
from tests.smoketests.cluster.views import host, judged, problems, view

THREE: dict[int, Any] = {1: [], 2: [], 3: []}


def broker(number: int, name: str = "", **fields: Any) -> Registered:
    address = name or f"kafka-a{number:02d}"
    return Registered(number, address, 9092, "", fields.pop("endpoints", (f"{address}:9092",)), **fields)


def zookeeper(*brokers: Registered) -> ZooKeeperFacts:
    return ZooKeeperFacts((), brokers)


def kafka(*rows: Partition, brokers: tuple[int, ...] = (1, 2, 3), **fields: Any) -> KafkaFacts:
    return KafkaFacts("id", 1, tuple(broker(number) for number in brokers), rows, fields.pop("quorum", None), **fields)


def ids(*brokers: Registered, **fields: Any) -> list[dict[str, Any]]:
    return problems(view(THREE, zookeeper=zookeeper(*brokers), **fields), "broker_ids")


# --- broker ids


def test_all_brokers_under_their_own_ids() -> None:
    seen = view(THREE, zookeeper=zookeeper(broker(1), broker(2), broker(3)))

    assert not ids(broker(1), broker(2), broker(3))
    assert set(judged(seen, "broker_ids")) == {"broker 1", "broker 2", "broker 3"}, "a row for each"


CLOSED = ZooKeeperFacts(
    (), untold="no permission to read /brokers/ids in ZooKeeper: its ACL requires authentication", closed=True
)


def test_a_registry_that_is_closed_to_us_is_no_riddle_while_kafka_itself_answers() -> None:
    rows = judged(view(THREE, zookeeper=CLOSED, kafka=kafka()), "broker_ids")
    missing = judged(view(THREE, zookeeper=CLOSED, kafka=kafka(brokers=(1, 3))), "broker_ids")

    assert {row["status"] for row in rows.values()} == {"ok"} and len(rows) == 3
    assert missing["broker 2"]["status"] == "critical" and "in Kafka's metadata" in missing["broker 2"]["reason"]


@pytest.mark.parametrize(
    ("zookeeper_says", "fields"),
    [
        (CLOSED, {}),
        (CLOSED, {"problems": {"kafka": "connection refused"}}),
        (CLOSED._replace(closed=False, untold="no server of it serves"), {"kafka": kafka()}),
        (None, {"kafka": kafka(), "problems": {"zookeeper": "ZooKeeper: no session within 8 s"}}),
    ],
)
def test_metadata_of_brokers_whose_zookeeper_does_not_serve_tells_nobody_who_is_registered(
    zookeeper_says: ZooKeeperFacts | None, fields: dict[str, Any]
) -> None:
    (row,) = judged(view(THREE, zookeeper=zookeeper_says, **fields), "broker_ids").values()

    assert row["status"] == "unknown"


def test_a_missing_id_is_critical_and_names_the_host() -> None:
    (row,) = ids(broker(1), broker(3))

    assert (row["host"], row["item"], row["status"], row["playbook"]) == (
        "kafka-a02", "broker 2", "critical", "broker-down",
    )  # fmt: skip


def test_an_id_that_another_machine_holds_is_critical() -> None:
    row, victim = ids(broker(1), broker(2, "kafka-a03"))

    assert row["host"] == "kafka-a02" and row["status"] == "critical"
    assert victim["host"] == "kafka-a03" and "registered as 3" in victim["reason"]
    assert "is held by kafka-a03 (kafka-a03:9092): kafka-a02 cannot start" in row["reason"]


def test_one_broker_under_two_ids_is_critical() -> None:
    found = ids(broker(1), broker(2), broker(3), broker(9, "kafka-a02"))

    assert {row["item"]: row["status"] for row in found} == {"broker 2": "critical", "broker 9": "warning"}
    assert "under the ids 2 and 9" in found[0]["reason"]


def test_the_same_id_twice_in_the_inventory_is_critical() -> None:
    found = ids(broker(1), broker(2), host_fields={3: {"broker_id": 2}})

    assert {row["host"] for row in found} == {"kafka-a02", "kafka-a03"}
    assert all("gives id 2 to kafka-a02, kafka-a03" in row["reason"] for row in found)


def test_an_id_that_the_inventory_does_not_know_is_a_warning() -> None:
    (row,) = ids(broker(1), broker(2), broker(3), broker(7, "new-host"))

    assert (row["item"], row["status"]) == ("broker 7", "warning")


def test_an_address_of_no_host_is_told_only_where_the_others_addresses_are_known() -> None:
    elsewhere = [broker(1, "10.9.0.1"), broker(2, "10.9.0.2"), broker(3, "10.9.0.3")]

    assert not ids(*elsewhere), "this site's listeners have names of their own"
    assert [row["status"] for row in ids(broker(1), broker(2), elsewhere[2])] == ["warning"]


def test_a_broker_whose_id_nobody_said_is_found_by_its_address_or_unknown() -> None:
    without = {3: {"broker_id": None}}

    assert not ids(broker(1), broker(2), broker(5, "kafka-a03.example.net"), host_fields=without)
    assert [r["status"] for r in ids(broker(1), broker(2), host_fields=without)] == ["unknown"]


@pytest.mark.parametrize(
    ("name", "address", "registered", "same"),
    [
        ("kafka-a01", "", "kafka-a01", True),
        ("kafka-a01", "", "KAFKA-A01.example.net", True),
        ("kafka-a01.example.net", "", "kafka-a01", True),
        ("kafka-a01", "10.0.0.1", "10.0.0.1", True),
        ("kafka-a01", "10.0.0.1", "10.0.0.2", False),
        ("kafka-a01", "", "kafka-a011", False),
        ("kafka-a01", "2001:db8::1", "2001:db8::1", True),
    ],
)
def test_which_host_a_registered_address_is(name: str, address: str, registered: str, same: bool) -> None:
    from dataclasses import replace

    ours = names_of(replace(host(1), name=name, address=address))
    assert bool(ours & names_in(broker(1, registered))) is same


def test_a_kraft_cluster_is_asked_itself_and_a_fenced_broker_is_critical() -> None:
    facts = KafkaFacts("id", 1, (broker(1), broker(2, fenced=True), broker(3)), (), None)
    (row,) = problems(view(THREE, kafka=facts), "broker_ids")

    assert (row["host"], row["status"]) == ("kafka-a02", "critical") and "fenced" in row["reason"]


def test_a_controller_that_is_no_broker_is_missed_in_no_registry_of_brokers() -> None:
    roles: dict[int, Any] = {2: {"roles": ("broker", "controller")}, 3: {"roles": ("controller",)}}
    seen = view(THREE, host_fields=roles, kafka=kafka(brokers=(1, 2)))

    assert {item: row["status"] for item, row in judged(seen, "broker_ids").items()} == {
        "broker 1": "ok", "broker 2": "ok",
    }  # fmt: skip


def test_zookeeper_and_metadata_that_disagree_are_a_warning() -> None:
    seen = view(THREE, zookeeper=zookeeper(broker(1), broker(2), broker(3)), kafka=kafka(brokers=(1, 2)))
    (row,) = problems(seen, "broker_ids")

    assert row["item"] == "metadata" and "3 only in ZooKeeper" in row["reason"]


@pytest.mark.parametrize("name", ["broker_ids", "zk_quorum"])
def test_a_registry_that_cannot_be_read_is_unknown_with_the_reason(name: str) -> None:
    (row,) = problems(view(THREE, problems={"zookeeper": "ZooKeeper: no session within 8 s"}), name)

    assert (row["status"], row["reason"]) == ("unknown", "ZooKeeper: no session within 8 s")


@pytest.mark.parametrize("name", ["broker_ids", "zk_quorum", "partitions"])
def test_what_the_inventory_does_not_name_is_skipped(name: str) -> None:
    assert {row["status"] for row in judged(view(THREE), name).values()} == {"skipped"}


# --- the ensemble


def member(number: int, mode: str = "follower", zxid: int = 0x100000100, **fields: Any) -> Member:
    return Member(f"zk{number}:2181", "answered", "", mode, zxid, **fields)


def gone(number: int, state: str, why: str = "…") -> Member:
    return Member(f"zk{number}:2181", state, why)


def leader(number: int, synced: int | None = 2, size: int | None = 3, **fields: Any) -> Member:
    return member(number, "leader", synced_followers=synced, quorum_size=size, **fields)


def ensemble(*members: Member, **fields: Any) -> dict[str, str]:
    seen = view(THREE, zookeeper=ZooKeeperFacts(members, ()), **fields)
    return {item: row["status"] for item, row in judged(seen, "zk_quorum").items()}


def test_a_healthy_ensemble_is_ok_in_every_row() -> None:
    assert ensemble(leader(1), member(2), member(3)) == dict.fromkeys(
        ("ensemble", "zk1:2181", "zk2:2181", "zk3:2181"), "ok"
    )


def test_only_srvr_in_the_whitelist_is_enough() -> None:
    assert set(ensemble(leader(1, None, None), member(2), member(3)).values()) == {"ok"}


def test_an_ensemble_of_three_that_lost_one_can_lose_none() -> None:
    rows = ensemble(leader(1, 1), member(2), gone(3, "refused"))

    assert rows["ensemble"] == "critical" and rows["zk3:2181"] == "critical" and rows["zk2:2181"] == "ok"


def test_an_ensemble_of_five_that_lost_one_can_lose_another() -> None:
    five = [leader(1, 3, 5), member(2), member(3), member(4), gone(5, "refused")]

    assert ensemble(*five)["ensemble"] == "warning"
    assert (
        ensemble(leader(1, 2, 5), member(2), member(3), *[gone(n, "refused") for n in (4, 5)])["ensemble"] == "critical"
    )


def test_a_silent_server_is_unknown_and_the_leader_says_whether_it_is_in_step() -> None:
    frozen = gone(3, "no answer")

    assert ensemble(leader(1, 1), member(2), frozen) == {
        "ensemble": "critical", "zk1:2181": "ok", "zk2:2181": "ok", "zk3:2181": "unknown",
    }  # fmt: skip
    assert ensemble(leader(1, 2), member(2), frozen)["ensemble"] == "ok", "it follows, though it does not answer us"


def test_what_a_silent_leader_would_say_is_unknown() -> None:
    assert ensemble(gone(1, "no answer"), member(2), gone(3, "no answer"))["ensemble"] == "unknown"


def test_no_leader_is_critical_and_two_are_too() -> None:
    idle = [gone(number, "not serving") for number in (1, 2)]

    assert ensemble(*idle, gone(3, "refused"))["ensemble"] == "critical"
    assert ensemble(leader(1), leader(2), member(3))["ensemble"] == "critical"
    assert ensemble(*[gone(number, "no answer") for number in (1, 2, 3)])["ensemble"] == "unknown"


@pytest.mark.parametrize(("behind", "status"), [(0, "ok"), (10_000, "ok"), (10_001, "warning")])
def test_a_follower_that_lags(behind: int, status: str) -> None:
    rows = ensemble(leader(1, zxid=0x100010000), member(2, zxid=0x100010000 - behind), member(3, zxid=0x100010000))

    assert rows["zk2:2181"] == status


def test_a_follower_of_an_earlier_epoch_lacks_all_of_this_one() -> None:
    assert (
        ensemble(leader(1, zxid=0x200004E20), member(2, zxid=0x1000FFFFF), member(3, zxid=0x200004E20))["zk2:2181"]
        == "warning"
    )


def test_a_follower_that_lags_is_not_in_step_where_the_leader_does_not_say() -> None:
    late = member(2, zxid=0x100000100)

    assert (
        ensemble(leader(1, None, None, zxid=0x100010000), late, member(3, zxid=0x100010000))["ensemble"] == "critical"
    )


def test_one_ensemble_in_all_configurations_is_well_and_a_server_alone_is_no_stray() -> None:
    whole = (("1", "zk1:2888:3888"), ("2", "zk2:2888:3888"), ("3", "zk3:2888:3888"))

    assert set(ensemble(*(one._replace(voters=whole) for one in (leader(1), member(2), member(3)))).values()) == {"ok"}
    assert ensemble(member(1, "standalone"))["zk1:2181"] == "ok"
    assert ensemble(leader(1, zxid=0), member(2, zxid=0), member(3, zxid=0))["ensemble"] == "ok"


def test_servers_that_all_run_for_themselves_are_no_ensemble() -> None:
    rows = ensemble(member(1, "standalone"), member(2, "standalone"), member(3, "standalone"))

    assert set(rows.values()) == {"critical"}


def test_different_ensembles_in_the_configurations_are_a_warning() -> None:
    whole = (("1", "zk1:2888:3888"), ("2", "zk2:2888:3888"), ("3", "zk3:2888:3888"))

    assert (
        ensemble(leader(1, voters=whole), member(2, voters=whole), member(3, voters=whole[:2]))["ensemble"] == "warning"
    )


def test_an_ensemble_of_another_size_than_the_inventorys_is_a_warning() -> None:
    assert ensemble(leader(1, 4, 5), member(2), member(3))["ensemble"] == "warning"


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ([member(1, "standalone")], "warning"),
        ([leader(1, 1, 2), member(2)], "warning"),
        ([leader(1, 0, 2), gone(2, "refused")], "critical"),
    ],
)
def test_one_or_two_servers_cannot_lose_one(members: list[Member], status: str) -> None:
    assert ensemble(*members)["ensemble"] == status


def test_a_server_for_itself_among_others_is_critical() -> None:
    rows = ensemble(leader(1, 1), member(2), member(3, "standalone"))

    assert rows["zk3:2181"] == "critical" and rows["ensemble"] == "critical"


@pytest.mark.parametrize("state", ["empty", "not allowed", "tls", "incomplete reply", "no answer"])
def test_what_a_server_did_not_say_is_unknown(state: str) -> None:
    assert ensemble(leader(1), member(2), gone(3, state))["zk3:2181"] == "unknown"


def test_observers_do_not_vote() -> None:
    assert set(ensemble(leader(1), member(2), member(3), member(4, "observer")).values()) == {"ok"}


@pytest.mark.parametrize(
    ("quorum", "status"),
    [
        (Quorum(1, (Voter(1, 0), Voter(2, 0), Voter(3, 1999))), "ok"),
        (Quorum(1, (Voter(1, 0), Voter(2, 0), Voter(3, 2000))), "critical"),
        (Quorum(1, (Voter(1, 0), Voter(2, -1), Voter(3, 0))), "critical"),
        (Quorum(1, (Voter(1, None), Voter(2, None), Voter(3, None))), "unknown"),
        (Quorum(0, (Voter(0, 0), Voter(1, 0), Voter(2, 0))), "ok"),
        (Quorum(-1, (Voter(1, 0), Voter(2, 0), Voter(3, 0))), "critical"),
        (Quorum(1, (Voter(1, 0),)), "warning"),
        (Quorum(1, tuple(Voter(number, 5000 if number == 5 else 0) for number in range(1, 6))), "warning"),
    ],
)
def test_the_controllers_of_a_kraft_cluster(quorum: Quorum, status: str) -> None:
    assert judged(view(THREE, kafka=kafka(quorum=quorum)), "zk_quorum")["controllers"]["status"] == status


def test_a_controller_that_never_caught_up_is_not_told_as_late() -> None:
    def said(behind_ms: int) -> str:
        seen = view(THREE, kafka=kafka(quorum=Quorum(1, (Voter(1, 0), Voter(2, 0), Voter(3, behind_ms)))))
        return str(judged(seen, "zk_quorum")["controllers"]["reason"])

    assert "controller 3 has never caught up" in said(-1) and "controller 3 is 2500 ms behind" in said(2500)
