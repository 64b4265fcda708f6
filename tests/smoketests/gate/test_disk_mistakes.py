"""Which disk is meant, what is lost with it, and whether the new one stands in its place: no mistake may lead to GO."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import pytest

from smoketests.gate import decision_store
from smoketests.gate.decision import CANNOT_TELL, FAILED, GO, NO_GO, PASSED, SKIPPED, WARNED
from smoketests.gate.maintenance import Maintenance
from tests.smoketests.cluster.views import said
from tests.smoketests.gate.situations import (
    BROKERS,
    FOUR,
    NOW,
    ORDERS,
    TB,
    array,
    broker,
    decided,
    kafka,
    log_dir,
    mount,
    partition,
    rule,
    situation,
    smart,
)

A01, A02, _A03 = BROKERS
SINGLE = kafka(*ORDERS, partition("tmp", 0, (1,), min_isr=1))
RAID10 = [broker(1, layout="raid10")]


def replaced(disk: str, *rows: dict[str, Any], **more: Any) -> Any:
    return situation(purpose="replace-disk", disk=disk, found={A01: rows}, **more)


@pytest.mark.parametrize("typed", ["BB2", "B", "sdb", "sdb1", "serial"])
def test_half_a_serial_number_or_a_kernel_name_is_no_disk(typed: str) -> None:
    seen = replaced(typed, array(), *FOUR, hosts=RAID10)

    assert rule(seen, "disk").status == FAILED, rule(seen, "disk").reason
    assert decided(seen).answer == NO_GO


@pytest.mark.parametrize(
    "typed", ["bbb2", " BBB2 ", "5000C500A1B2C3D4", "0x5000c500a1b2c3d4", "wwn-0x5000c500a1b2c3d4"]
)
def test_a_disk_of_an_array_may_be_named_in_any_of_its_ways(typed: str) -> None:
    disks = [FOUR[0], smart("BBB2", wwn="0x5000c500a1b2c3d4"), *FOUR[2:]]
    result = rule(replaced(typed, array(), *disks, hosts=RAID10), "mirror_partner")

    assert (result.status, result.evidence["partners"]) == (PASSED, ["sda1 (serial AAA1)"])


def test_a_partner_whose_serial_begins_alike_is_not_taken_for_another_disk() -> None:
    mirrors = array(mirrors=[["sda1 (serial AAA11)", "sdb1 (serial BBB2)"]])
    result = rule(replaced("BBB2", mirrors, smart("AAA1"), smart("BBB2"), hosts=RAID10), "mirror_partner")

    assert result.status == CANNOT_TELL and "AAA11" in result.reason


def test_a_disk_with_its_own_mount_is_not_spared_by_the_raid10_beside_it() -> None:
    rows = [array(), *FOUR, smart("OWN5", "critical", "/dev/sde"), mount("/kafka/d5", "OWN5", device="sde1")]
    seen = replaced("OWN5", *rows, hosts=RAID10, kafka_says=SINGLE)

    assert rule(seen, "unreplicated").status == FAILED
    assert rule(seen, "mirror_partner").status == SKIPPED


def test_a_mirrored_system_disk_of_a_jbod_machine_takes_no_partition_away() -> None:
    rows = [array(level="raid1"), *FOUR, smart("D5", path="/dev/sde"), mount("/kafka/d1", "D5", device="sde1")]
    seen = replaced("BBB2", *rows, kafka_says=SINGLE)

    assert rule(seen, "mirror_partner").status == PASSED
    assert {rule(seen, name).status for name in ("unreplicated", "disk_room")} == {SKIPPED}
    assert decided(seen).answer == GO


def test_a_jbod_disk_behind_a_controller_is_a_raid0_of_one_and_holds_its_data_alone() -> None:
    alone = array(level="raid0", mirrors=[], gone=["252:1"], asked_as=[["252:1", "megaraid,11"]])
    seen = replaced("BBB2", alone, smart("BBB2", "critical", "/dev/bus/0 megaraid,11"), kafka_says=SINGLE)

    assert rule(seen, "unreplicated").status == FAILED
    assert rule(seen, "mirror_partner").status == SKIPPED


def test_an_array_that_could_not_be_read_may_be_the_one_of_the_disk() -> None:
    """The system's mirror is told, the data's controller is not: its tool is not installed."""
    rows = [array(level="raid1"), said("raid", "megaraid_sas", "unknown"), *FOUR, smart("E5", path="/dev/sde")]
    result = rule(replaced("E5", *rows, hosts=RAID10), "mirror_partner")

    assert result.status == CANNOT_TELL and "megaraid_sas" in result.reason


def test_a_machine_that_is_no_raid10_whatever_the_inventory_says_is_not_spared() -> None:
    layout = {**array(level="jbod", mirrors=[], kind="layout"), "item": "layout", "status": "warning"}
    seen = replaced("E5", layout, smart("E5", "critical"), hosts=RAID10, kafka_says=SINGLE)

    assert rule(seen, "unreplicated").status == FAILED


def test_the_hot_spare_itself_may_go_while_all_others_are_well() -> None:
    rows = [array(), *FOUR, smart("SPARE5", path="/dev/sde")]

    assert decided(replaced("SPARE5", *rows, hosts=RAID10)).answer == GO
    sick = [array(), *FOUR[:3], smart("DDD4", "critical"), rows[-1]]
    assert decided(replaced("SPARE5", *sick, hosts=RAID10)).answer == NO_GO


def test_the_old_disk_that_is_still_there_tells_that_another_was_pulled() -> None:
    before = {"disk": "BBB2", "disk_facts": {"size_bytes": 8 * TB}, "mounts": [],
              "hosts": {A01: {"disks": dict.fromkeys(("AAA1", "BBB2", "CCC3", "DDD4"), "ok")}}}  # fmt: skip
    rows = [array(), smart("NEW9", path="/dev/sdc"), smart("BBB2", "warning"), FOUR[0], FOUR[3]]
    result = rule(replaced("BBB2", *rows, hosts=RAID10, after=True, before=before), "new_disk")

    assert result.status == FAILED and "BBB2 is still in kafka-a01: was another one pulled?" in result.reason


def test_a_log_dir_that_was_not_put_back_is_said() -> None:
    on_disk = [smart("OLD1", "critical"), mount("/kafka/d1", "OLD1")]
    state = decision_store.state_of(
        replaced("OLD1", *on_disk, kafka_says=kafka(log_dirs=(log_dir(1, "/kafka/d1/data"),)))
    )
    assert state["log_dirs"] == ["/kafka/d1/data"]

    def after(*paths: str) -> str:
        rows = [smart("NEW9"), mount("/kafka/d1", "NEW9")]
        says = kafka(log_dirs=tuple(log_dir(1, path) for path in paths))
        return rule(replaced("OLD1", *rows, after=True, before=state, kafka_says=says), "new_disk").status

    assert (after("/kafka/d1/data", "/kafka/d2"), after("/kafka/d2")) == (PASSED, WARNED)


def room(partitions: Any = ORDERS, rows: Any = (), **dirs: Any) -> Any:
    """disk_room when /kafka/d1 is to go; what stays is /kafka/d2 with 3 of 8 TB."""
    given = {"d1": log_dir(1, "/kafka/d1", 2 * TB), "d2": log_dir(1, "/kafka/d2", 3 * TB), **dirs}
    told = [smart("OLD1", "critical"), mount("/kafka/d1", "OLD1"), *rows]
    says = kafka(*partitions, log_dirs=tuple(given.values()))
    return rule(replaced("OLD1", *told, kafka_says=says), "disk_room")


def test_two_log_dirs_of_one_file_system_share_its_room() -> None:
    """6 of 8 TB are used, 2 more are to come: not 12 and 2 of 16."""
    full = {"d2": log_dir(1, "/kafka/d2/a", 6 * TB), "d3": log_dir(1, "/kafka/d2/b", 6 * TB)}
    usage = said("disk_usage", "/kafka/d2", path="/kafka/d2", data=True, free_bytes=2 * TB, total_bytes=8 * TB)

    assert room(rows=[usage], **full).evidence["room"][0]["percent_then"] == 100.0


def test_of_a_log_dir_that_has_failed_the_other_replicas_tell_what_must_move() -> None:
    failed = log_dir(1, "/kafka/d1", 0, error="KAFKA_STORAGE_ERROR", replicas_bytes=0)
    lost = [partition("big", 0, (2, 1), isr=(2,), min_isr=1, offline=(1,), size_bytes=4 * TB), *ORDERS]
    nobody = [partition("tmp", 0, (1,), isr=(), leader=-1, offline=(1,), size_bytes=None), *ORDERS]

    assert (room(lost, d1=failed).status, room(lost, d1=failed).evidence["moved_bytes"]) == (FAILED, 4 * TB)
    assert room(nobody, d1=failed).status == CANNOT_TELL


def test_a_system_disk_of_its_own_has_no_partitions_to_move_if_every_mount_tells_another() -> None:
    told = [smart("SYS1", "warning", "/dev/sda"), smart("D1"), mount("/kafka/d1", "D1")]
    unclear = mount("/kafka/d2", "", device="dm-0")

    assert rule(replaced("SYS1", *told), "disk_room").status == SKIPPED
    assert rule(replaced("SYS1", *told, unclear), "disk_room").status == CANNOT_TELL


def test_where_an_older_kafka_tells_no_size_the_machine_does() -> None:
    old = log_dir(1, "/kafka/d2/data")._replace(total_bytes=None, usable_bytes=None)
    usage = said("disk_usage", "/kafka/d2", path="/kafka/d2", data=True, free_bytes=5 * TB, total_bytes=8 * TB)

    assert (room(d2=old, rows=[usage]).status, room(d2=old).status) == (PASSED, CANNOT_TELL)
    assert room(d2=old, rows=[usage]).evidence["room"][0]["percent_then"] == 62.5


GONE = said(
    "smart", "OLD1", "critical", vanished="the disk OLD1 of the inventory is no longer seen", serial="", path=""
)


def test_a_disk_that_has_vanished_is_not_still_there() -> None:
    before = {"disk": "OLD1", "disk_facts": {"size_bytes": 8 * TB}, "mounts": ["/kafka/d1"], "hosts": {}}
    seen = replaced("OLD1", GONE, smart("NEW9"), mount("/kafka/d1", "NEW9"), after=True, before=before)

    assert rule(seen, "new_disk").status == PASSED
    assert rule(seen, "disks").status == FAILED  # the inventory still names it


@pytest.mark.parametrize(("size", "status"), [(8 * TB, WARNED), (6 * TB, CANNOT_TELL)])
def test_a_disk_that_died_before_anybody_asked_is_measured_by_its_neighbours(size: int, status: str) -> None:
    state = decision_store.state_of(replaced("OLD1", GONE, smart("D2", path="/dev/sdc"), mount("/kafka/d1", "OLD1")))
    rows = [smart("NEW9", size=size), smart("D2", path="/dev/sdc"), mount("/kafka/d1", "NEW9")]

    assert state["disk_facts"]["size_bytes"] is None
    assert rule(replaced("OLD1", *rows, after=True, before=state), "new_disk").status == status


def test_another_old_disk_in_the_place_of_the_replaced_one_is_not_the_new_one() -> None:
    before = {"disk": "OLD1", "disk_facts": {"size_bytes": 8 * TB}, "mounts": ["/kafka/d1"],
              "hosts": {A01: {"disks": {"OLD1": "critical", "D2": "ok"}}}}  # fmt: skip
    rows = [smart("NEW9", path="/dev/sdc"), smart("D2"), mount("/kafka/d1", "D2")]
    result = rule(replaced("OLD1", *rows, after=True, before=before), "new_disk")

    assert result.status == FAILED and "/kafka/d1 is on D2, which was in the machine before" in result.reason


@pytest.mark.parametrize(("more", "status"), [(-1, FAILED), (0, PASSED), (1, PASSED)])
def test_a_byte_less_is_smaller_and_said_in_bytes(more: int, status: str) -> None:
    before = {"disk": "OLD1", "disk_facts": {"size_bytes": 8 * TB}, "mounts": ["/kafka/d1"], "hosts": {}}
    rows = [smart("NEW9", size=8 * TB + more), mount("/kafka/d1", "NEW9")]
    result = rule(replaced("OLD1", *rows, after=True, before=before), "new_disk")

    assert result.status == status
    assert status == PASSED or "7,999,999,999,999 bytes, the old disk had 1 more" in result.reason


def test_the_record_in_front_is_found_whatever_the_case_of_the_serial(tmp_path: pathlib.Path) -> None:
    seen = replaced("za1bc2", smart("ZA1BC2", "critical"))
    decision_store.kept(replace(decided(seen), run_id="r1", state=decision_store.state_of(seen)), str(tmp_path))
    after = Maintenance((A01,), "replace-disk", "prod-a", "ZA1BC2", after=True)

    assert decision_store.before(str(tmp_path), after, NOW)["disk_facts"]["size_bytes"] == 8 * TB
    with pytest.raises(decision_store.NoRecord):
        decision_store.before(str(tmp_path), replace(after, disk="ZA1BC"), NOW)
    for other in (replace(after, hosts=(A02,)), replace(after, cluster="prod-b"), replace(after, purpose="reboot")):
        with pytest.raises(decision_store.NoRecord):
            decision_store.before(str(tmp_path), other, NOW)
