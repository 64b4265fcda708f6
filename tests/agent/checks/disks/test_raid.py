"""raid on md: hand-made sysfs trees, as a four-disk RAID10 lives and dies (no md module runs here)."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.disks import raid
from agent.expected import Expected, ExpectedMount
from agent.host import Answer, CannotTell, Disk, Host
from agent.sources.raid import members
from agent.sources.raid.arrays import Member
from agent.sources.smart import report as smart_report
from agent.sources.smart import smartctl
from agent.status import Finding
from tests.machine import FakeHost, by_item, next_run, run_checks

DISKS = ("sda", "sdb", "sdc", "sdd")


def md(name: str = "md0", **changes: str) -> Dict[str, Any]:
    """A whole RAID10 of sda1 to sdd1, near-2, in sysfs; changes: `sdc1_state`, `sync_action`, … by their file."""
    attributes = {
        "level": "raid10",
        "layout": "258",
        "raid_disks": "4",
        "array_state": "active",
        "degraded": "0",
        "sync_action": "idle",
        "last_sync_action": "check",
        "sync_completed": "none",
        "sync_speed": "none",
        "mismatch_cnt": "0",
        "metadata_version": "1.2",
    }
    for slot, disk in enumerate(DISKS):
        attributes.update({f"dev-{disk}1/state": "in_sync", f"dev-{disk}1/slot": str(slot), f"dev-{disk}1/errors": "0"})
    for key, value in changes.items():
        device, _, attribute = key.partition("_")
        attributes[f"dev-{device}/{attribute}" if device.startswith("sd") else key] = value
    files = {f"/sys/block/{name}/md/{path}": f"{text}\n" for path, text in attributes.items()}
    files.update({f"/sys/block/{disk}/{disk}1/partition": "1\n" for disk in DISKS})
    files.update({f"/sys/block/{name}/slaves/{disk}1": "" for disk in DISKS})
    return files


def machine(files: Dict[str, Any], expected: Optional[Expected] = None) -> FakeHost:
    disks = [Disk(name, "physical", "ST8000", f"ZA{name}", "", 8 << 40, True, "ata", "", "") for name in DISKS]
    return FakeHost(files=files, answers={"disks": disks}, expected=expected)


FAILED = {"degraded": "1", "sdc1_state": "faulty", "sdc1_slot": "none"}
REBUILDING = {
    "degraded": "1",
    "sync_action": "recover",
    "sync_completed": "74086784 / 585890304",
    "sync_speed": "33440",
    "sdc1_state": "spare",
}


def judged(files: Dict[str, Any], item: str = "md0") -> Finding:
    return by_item(run_checks(machine(files), "raid"))[item]


WELL = smart_report.Facts(kind="ata", passed=True, attributes=20)
SICK = WELL._replace(pending_sectors=8)
SICK_WORDS = "8 pending sectors (attribute 197), limit 1"

Smart = Dict[str, smart_report.Facts]


@pytest.fixture
def smart(monkeypatch: pytest.MonkeyPatch) -> Smart:
    """What each disk says of itself, by path; a disk that is not named cannot be read."""
    said: Smart = {}

    def read(host: Host, path: str, kind: str) -> smart_report.Facts:
        if path not in said:
            raise CannotTell(f"no answer from {path}")
        return said[path]

    monkeypatch.setattr(smartctl, "read", read)
    return said


def test_a_whole_array_is_ok() -> None:
    finding = judged(md())

    assert (finding.status, finding.verdict.reason) == ("ok", "raid10 active, 4 disks")


def test_which_disks_mirror_each_other_is_told() -> None:
    facts = judged(md()).facts

    assert facts["mirrors"] == (
        ("sda1 (serial ZAsda)", "sdb1 (serial ZAsdb)"),
        ("sdc1 (serial ZAsdc)", "sdd1 (serial ZAsdd)"),
    )


def test_a_machine_without_array_or_controller_is_skipped_once() -> None:
    (finding,) = run_checks(machine({"/sys/block/sda/size": "8"}), "raid")

    assert (finding.item, finding.status) == ("-", "skipped")


def test_a_machine_whose_disks_cannot_be_listed_is_unknown() -> None:
    (finding,) = run_checks(FakeHost(), "raid")

    assert finding.status == "unknown"


def test_a_failed_disk_is_critical_and_its_well_mirror_is_named(smart: Smart) -> None:
    smart["/dev/sdd"] = WELL
    finding = judged(md(**FAILED))

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-raid10-disk")
    assert finding.verdict.reason == (
        "raid10 array is degraded (active): sdc1 (serial ZAsdc) failed or missing; "
        "sdd1 (serial ZAsdd) alone holds the data of sdc1 (serial ZAsdc), SMART reports no fault"
    )


def test_a_failed_disk_whose_mirror_is_in_trouble_is_one_failure_from_data_loss(smart: Smart) -> None:
    smart["/dev/sdd"] = SICK
    finding = judged(md(**FAILED))

    assert finding.status == "critical"
    assert f"and its mirror sdd1 (serial ZAsdd) has {SICK_WORDS}: one failure from data loss" in (
        finding.verdict.reason
    )


def test_a_mirror_that_smart_cannot_read_is_said_to_be_unread(smart: Smart) -> None:
    assert "its SMART data cannot be read (no answer from /dev/sdd)" in judged(md(**FAILED)).verdict.reason


def test_a_mirror_whose_smart_data_tell_nothing_is_not_called_well(smart: Smart) -> None:
    smart["/dev/sdd"] = WELL._replace(passed=None)

    assert "no overall SMART status" in judged(md(**FAILED)).verdict.reason


def test_the_limits_of_the_check_smart_count_for_the_mirror_too(smart: Smart) -> None:
    smart["/dev/sdd"] = SICK
    host = machine(md(**FAILED), Expected(limits={"smart": {"pending_warning": 9}}))

    assert "one failure from data loss" not in by_item(run_checks(host, "raid"))["md0"].verdict.reason


@pytest.mark.parametrize("serial", ["ZAsdd", "serial that smartctl alone reports"])
def test_a_limit_of_the_disk_counts_for_smart_and_raid_alike(smart: Smart, serial: str) -> None:
    smart["/dev/sdd"] = SICK._replace(pending_sectors=30, serial=serial)
    accepted = Expected(limits={"smart": {"items": {"ZAsdd": {"pending_warning": 99}}}})
    for_another = Expected(limits={"smart": {"items": {"ZAsda": {"pending_warning": 99}}}})

    def reason_and_status(expected: Expected) -> Tuple[str, str]:
        found = {(one.check, one.item): one for one in run_checks(machine(md(**FAILED), expected), "raid", "smart")}
        return found["raid", "md0"].verdict.reason, found["smart", "ZAsdd"].status

    reason, status = reason_and_status(accepted)
    assert "SMART reports no fault" in reason and status == "ok"
    reason, status = reason_and_status(for_another)
    assert "one failure from data loss" in reason and status == "warning"


def test_the_limit_of_a_disk_counts_whichever_path_the_array_names(smart: Smart) -> None:
    smart["/dev/sdd"] = smart["/dev/bus/0"] = SICK._replace(serial="ZAsdd")
    host = machine({}, Expected(limits={"smart": {"items": {"ZAsdd": {"pending_warning": 99}}}}))

    assert members.health(host, Member("disk 3", 3, "online", disk="bus/0", kind="megaraid,3")) == (
        "",
        "SMART reports no fault",
    )


def test_the_mirror_is_really_asked_through_smartctl() -> None:
    attribute = {"id": 197, "name": "Current_Pending_Sector", "value": 100, "worst": 100, "thresh": 0}
    report = {
        "smartctl": {"exit_status": 0},
        "device": {"name": "/dev/sdd", "type": "sat", "protocol": "ATA"},
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": True},
        "ata_smart_attributes": {"table": [{**attribute, "when_failed": "", "raw": {"value": 24, "string": "24"}}]},
    }
    host = machine(md(**FAILED))
    host.commands = {
        "smartctl --json --scan": Answer(0, '{"devices": []}', ""),
        "smartctl --json -a -n standby -l scttempsts -l devstat /dev/sdd": Answer(0, json.dumps(report), ""),
    }
    finding = by_item(run_checks(host, "raid"))["md0"]

    assert "has 24 pending sectors (attribute 197), limit 1: one failure from data loss" in (finding.verdict.reason)


def test_a_disk_that_is_gone_altogether_is_critical(smart: Smart) -> None:
    files = md(degraded="1")
    gone = {path: text for path, text in files.items() if "dev-sdc1" not in path}
    finding = judged(gone)

    assert finding.status == "critical"
    assert "sdd1 (serial ZAsdd) alone holds the data of the disk in slot 2" in finding.verdict.reason


def test_two_dead_disks_of_different_mirrors_are_degraded_and_of_one_mirror_are_lost_data() -> None:
    different = md(degraded="2", sda1_state="faulty", sdc1_state="faulty")
    the_same = md(degraded="2", sdc1_state="faulty", sdd1_state="faulty")

    assert "data lost" not in judged(different).verdict.reason
    assert judged(the_same).verdict.reason.startswith("data lost: sdc1 (serial ZAsdc) and sdd1 (serial ZAsdd)")
    assert (judged(different).status, judged(the_same).status) == ("critical", "critical")


def test_a_rebuild_is_a_warning_with_percent_and_estimate(smart: Smart) -> None:
    smart["/dev/sdd"] = WELL
    finding = judged(md(**REBUILDING))

    assert finding.status == "warning"
    assert "rebuilding sdc1 (serial ZAsdc), 12.6 % done, about 2.1 h left" in finding.verdict.reason


def test_a_rebuild_from_a_disk_in_trouble_is_critical(smart: Smart) -> None:
    smart["/dev/sdd"] = SICK
    finding = judged(md(**REBUILDING))

    assert finding.status == "critical"
    assert f"is rebuilding and its mirror sdd1 (serial ZAsdd) has {SICK_WORDS}" in finding.verdict.reason


def test_a_rebuild_of_one_disk_while_another_is_missing_is_critical() -> None:
    assert judged(md(**{**REBUILDING, "degraded": "2", "sda1_state": "faulty"})).status == "critical"


def test_degraded_with_a_rebuild_that_is_frozen_is_critical() -> None:
    assert judged(md(**{**REBUILDING, "sync_action": "frozen"})).status == "critical"


@pytest.mark.parametrize(
    ("action", "status"), [("resync", "warning"), ("reshape", "warning"), ("check", "ok"), ("repair", "ok")]
)
def test_work_on_a_whole_array(action: str, status: str) -> None:
    assert judged(md(sync_action=action, sync_completed="1 / 4", sync_speed="100")).status == status


@pytest.mark.parametrize("state", ["inactive", "broken", "readonly", "suspended"])
def test_an_array_that_does_not_run_is_critical(state: str) -> None:
    assert judged(md(array_state=state)).status == "critical"


@pytest.mark.parametrize("state", ["clean", "active", "active-idle", "write-pending", "read-auto"])
def test_an_array_that_runs_is_ok(state: str) -> None:
    assert judged(md(array_state=state)).status == "ok"


@pytest.mark.parametrize("files", [md(level="container"), md(array_state="clear")])
def test_containers_and_stopped_arrays_are_no_arrays(files: Dict[str, Any]) -> None:
    (finding,) = run_checks(machine(files), "raid")

    assert finding.status == "skipped"


@pytest.mark.parametrize(
    ("mismatches", "after", "status"), [("0", "check", "ok"), ("1", "check", "warning"), ("128", "repair", "ok")]
)
def test_copies_that_differ_after_a_check_are_a_warning(mismatches: str, after: str, status: str) -> None:
    assert judged(md(mismatch_cnt=mismatches, last_sync_action=after)).status == status


def test_differences_are_not_counted_before_the_check_has_ended() -> None:
    assert judged(md(mismatch_cnt="128", sync_action="check")).status == "ok"


def test_a_failed_disk_that_a_spare_has_replaced_is_a_warning_until_it_is_removed() -> None:
    finding = judged({**md(), **md_member("sde1", "faulty", "none")})

    assert (finding.status, finding.verdict.reason) == ("warning", "sde1 failed and is still listed")


def test_a_missing_spare_is_no_fault_and_a_present_one_none_either() -> None:
    assert judged({**md(), **md_member("sde1", "spare", "none")}).status == "ok"


def test_a_member_that_md_wants_replaced_is_a_warning() -> None:
    assert "sdb1 (serial ZAsdb): want replacement" in judged(md(sdb1_state="in_sync,want_replacement")).verdict.reason


def md_member(device: str, state: str, slot: str) -> Dict[str, str]:
    base = f"/sys/block/md0/md/dev-{device}"
    return {f"{base}/state": f"{state}\n", f"{base}/slot": f"{slot}\n", f"{base}/errors": "0\n"}


def test_read_errors_are_told_when_they_are_new_and_forgotten_after_a_week() -> None:
    first = machine(md(sdb1_errors="3"))
    second = next_run(first, after_s=86400)
    statuses = [by_item(run_checks(first, "raid"))["md0"].status]
    second = next_run(first, after_s=86400)
    statuses.append((told := by_item(run_checks(second, "raid"))["md0"]).status)
    third = next_run(second, after_s=8 * 86400)
    statuses.append(by_item(run_checks(third, "raid"))["md0"].status)

    assert statuses == ["warning", "warning", "ok"]
    assert "sdb1: 3 read errors repaired, last 24 h ago" in told.verdict.reason


def test_read_errors_of_before_a_reboot_are_not_told_again() -> None:
    first = machine(md(sdb1_errors="3"))
    run_checks(first, "raid")
    rebooted = next_run(first, boot_id="00000000-0000-4000-8000-000000000002")

    assert by_item(run_checks(rebooted, "raid"))["md0"].status == "ok"


@pytest.mark.parametrize(("errors", "hours", "status"), [(1, 0.0, "warning"), (0, 0.0, "ok"), (1, 168.0, "ok")])
def test_the_edges_of_read_errors(errors: int, hours: float, status: str) -> None:
    facts = raid.Facts("array", "raid10", "optimal", "clean", 4, member_errors=(("sda1", errors, hours),))

    assert raid.judge(facts, raid.LIMITS).status == status


@pytest.mark.parametrize(
    ("level", "degraded", "status"), [("raid5", "1", "critical"), ("raid6", "1", "critical"), ("raid6", "0", "ok")]
)
def test_levels_with_parity(level: str, degraded: str, status: str) -> None:
    assert judged(md(level=level, layout="2", degraded=degraded)).status == status


@pytest.mark.parametrize(
    ("layout", "dev", "status", "words"),
    [
        ("raid10", "9:0", "ok", ()),
        ("jbod", "9:0", "warning", ("raid10", "jbod")),
        ("raid10", "8:1", "warning", ("jbod", "raid10")),
        ("jbod", "8:1", "ok", ()),
    ],
)
def test_the_layout_is_what_the_inventory_says(layout: str, dev: str, status: str, words: Tuple[str, ...]) -> None:
    expected = Expected(layout=layout, mounts=(ExpectedMount("/kafka/d1"),))
    host = machine({**md(), "/proc/self/mountinfo": f"30 1 {dev} / /kafka/d1 rw - xfs /dev/x rw\n"}, expected)
    host.answers["link /sys/dev/block/9:0"] = "/sys/devices/virtual/block/md0"
    host.answers["link /sys/dev/block/8:1"] = "/sys/devices/pci0000:00/block/sda/sda1"
    finding = by_item(run_checks(host, "raid"))["layout"]

    assert finding.status == status
    assert all(word in finding.verdict.reason for word in words)


def test_a_layout_that_cannot_be_seen_is_unknown() -> None:
    expected = Expected(layout="raid10", mounts=(ExpectedMount("/kafka/d1"),))
    findings = by_item(run_checks(machine({**md(), "/proc/self/mountinfo": ""}, expected), "raid"))

    assert (findings["md0"].status, findings["layout"].status) == ("ok", "unknown")


RUBBISH = st.one_of(
    st.sampled_from(["", "-1", "none", "999999999999999999999999", "4 (3)", "in_sync", "faulty", "1 / 0", "\0"]),
    st.text(max_size=40),
)


@given(st.dictionaries(st.sampled_from(sorted(md())), RUBBISH, min_size=1, max_size=6))
def test_rubbish_in_sysfs_never_breaks_the_check(changes: Dict[str, str]) -> None:
    for finding in run_checks(machine({**md(), **changes}), "raid"):
        assert "the check failed" not in finding.verdict.reason


@given(st.text(max_size=20).filter(lambda text: not text.strip()))
def test_an_array_that_does_not_tell_its_state_is_never_ok(text: str) -> None:
    assert judged(md(array_state=text)).status == "unknown"


def test_of_a_failed_member_its_failure_is_told_and_not_what_was_repaired_before() -> None:
    finding = judged(md(**FAILED, sdc1_errors="20"))

    assert finding.status == "critical" and "sdc1" in finding.verdict.reason
    assert "repaired" not in finding.verdict.reason
