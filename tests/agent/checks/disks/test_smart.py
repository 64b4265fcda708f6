"""smart: every physical disk once, judged by numbers that are worth a walk to the rack."""

from __future__ import annotations

import json
import shutil
import threading
import time
from typing import Any, Dict, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.checks.disks import smart
from agent.expected import Expected
from agent.host import Answer, CannotTell, NoPermission, NotApplicable, Stuck, ToolMissing
from agent.machine.live import LiveHost
from agent.sources.smart import rules as smart_rules
from agent.sources.smart import smartctl
from agent.sources.smart.report import Facts
from tests.agent.sources.smart import made_reports as reports
from tests.agent.sources.smart.made_reports import ata, changed, disk, printed, sas, scan
from tests.machine import FakeHost, by_item, next_run, run_checks

DAY_S = 86400.0
ATA = Facts(path="/dev/sdb", kind="ata", model="ST8000NM0055", serial="ZA1BC2DE", passed=True, attributes=20)
SSD = ATA._replace(model="INTEL SSDSC2KB960G8", rotation_rpm=0)
STANDS_STILL: Dict[str, Any] = {
    "history_days": 30.0,
    "reallocated_growth_30_days": 0,
    "pending_growth_30_days": 0,
    "reported_uncorrectable_growth_30_days": 0,
    "slow_commands_growth_30_days": 0,
}
SAS = Facts(path="/dev/sdc", kind="scsi", model="ST4000NM0023", serial="Z1Z0AAAA", passed=True)
NVME = Facts(
    path="/dev/nvme0n1",
    kind="nvme",
    serial="S4GANX0K",
    passed=True,
    nvme_warning_bits=0,
    spare_percent=100,
    wear_percent=3,
    media_errors=0,
)


def machine(report: Any, expected: Optional[Expected] = None, **answers: Any) -> FakeHost:
    """A machine with one SATA disk, sdb, that says this."""
    answer = printed(report) if isinstance(report, dict) else report
    return FakeHost(
        commands={**scan("/dev/sdb scsi"), reports.asked("/dev/sdb"): answer},
        answers={"disks": [disk("sdb", "ZA1BC2DE", slot="pci-0000:00:1f.2-ata-2")], **answers},
        expected=expected,
    )


def saying(report: Dict[str, Any]) -> Dict[str, Any]:
    return {reports.asked("/dev/sdb"): printed(report)}


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (ATA, "ok"),
        (ATA._replace(reported_uncorrectable=0), "ok"),
        (ATA._replace(reported_uncorrectable=1), "ok"),
        (ATA._replace(reported_uncorrectable=1, reallocated_sectors=1), "warning"),
        (ATA._replace(reported_uncorrectable=1, reported_uncorrectable_growth_30_days=1), "warning"),
        (ATA._replace(reported_uncorrectable=5), "ok"),
        (ATA._replace(reported_uncorrectable=6), "critical"),
        (ATA._replace(reported_uncorrectable=6, **STANDS_STILL), "ok"),
        (ATA._replace(reported_uncorrectable=6, **{**STANDS_STILL, "history_days": 29.9}), "critical"),
        (ATA._replace(reallocated_sectors=31), "ok"),
        (ATA._replace(reallocated_sectors=32), "warning"),
        (ATA._replace(reallocated_sectors=32, size_bytes=8 * 10**12), "warning"),
        (ATA._replace(reallocated_sectors=900, size_bytes=2 * 10**12), "ok"),
        (ATA._replace(reallocated_sectors=32, size_bytes=2 * 10**12, physical_sector_bytes=4096), "warning"),
        (ATA._replace(reallocated_sectors=900, size_bytes=8 * 10**12, physical_sector_bytes=512), "ok"),
        (ATA._replace(reallocated_sectors=900, **STANDS_STILL), "ok"),
        (ATA._replace(reallocated_sectors=1000), "warning"),
        (ATA._replace(reallocated_sectors=1001), "critical"),
        (ATA._replace(reallocated_sectors=1001, size_bytes=2 * 10**12), "ok"),
        (ATA._replace(reallocated_sectors=1001, size_bytes=2 * 10**12, pending_sectors=1), "critical"),
        (ATA._replace(reallocated_sectors=1001, size_bytes=2 * 10**12, reallocated_growth_30_days=1), "critical"),
        (ATA._replace(reallocated_sectors=8, pending_sectors=1), "ok"),
        (ATA._replace(reallocated_sectors=9, pending_sectors=1), "warning"),
        (ATA._replace(reallocated_sectors=9, offline_uncorrectable=1), "warning"),
        (ATA._replace(reallocated_sectors=9, reallocated_growth=8), "ok"),
        (ATA._replace(reallocated_sectors=30, reallocated_growth_30_days=30), "ok"),
        (ATA._replace(reallocated_sectors=31, reallocated_growth_30_days=31), "warning"),
        (ATA._replace(reallocated_sectors=90, size_bytes=2 * 10**12, reallocated_growth_30_days=30), "ok"),
        (ATA._replace(reallocated_sectors=90, size_bytes=2 * 10**12, reallocated_growth_30_days=31), "warning"),
        (ATA._replace(reallocated_sectors=31, reallocated_growth=31), "critical"),
        (ATA._replace(pending_sectors=23), "ok"),
        (ATA._replace(pending_sectors=24), "warning"),
        (ATA._replace(pending_sectors=24, **STANDS_STILL), "warning"),
        (ATA._replace(pending_sectors=4, pending_growth_30_days=4), "ok"),
        (ATA._replace(pending_sectors=5, pending_growth_30_days=5), "warning"),
        (ATA._replace(pending_sectors=900, pending_growth=0), "warning"),
        (ATA._replace(pending_sectors=1_000_000, **STANDS_STILL), "critical"),
        (ATA._replace(pending_sectors=16, pending_growth=16), "warning"),
        (ATA._replace(pending_sectors=17, pending_growth=1), "critical"),
        (ATA._replace(offline_uncorrectable=23), "ok"),
        (ATA._replace(offline_uncorrectable=24), "warning"),
        (ATA._replace(offline_uncorrectable=17, offline_uncorrectable_growth=1), "critical"),
        (ATA._replace(slow_commands=4), "ok"),
        (ATA._replace(slow_commands=5), "warning"),
        (ATA._replace(slow_commands=5, **STANDS_STILL), "ok"),
        (SSD._replace(reallocated_sectors=8192, reallocated_growth=8192, slow_commands=9), "ok"),
        (SSD._replace(reported_uncorrectable=5), "ok"),
        (SSD._replace(reported_uncorrectable=6), "critical"),
        (SSD._replace(reported_uncorrectable=1, reported_uncorrectable_growth_30_days=1), "warning"),
        (SSD._replace(pending_sectors=24), "warning"),
        (SSD._replace(spare_percent=21, spare_threshold_percent=10), "ok"),
        (SSD._replace(spare_percent=20, spare_threshold_percent=10), "warning"),
        (SSD._replace(spare_percent=10, spare_threshold_percent=10), "critical"),
        (SSD._replace(spare_percent=5, spare_threshold_percent=0), "warning"),
        (ATA._replace(spin_retries=0), "ok"),
        (ATA._replace(spin_retries=1), "warning"),
        (ATA._replace(end_to_end_errors=0), "ok"),
        (ATA._replace(end_to_end_errors=1), "critical"),
        (ATA._replace(command_timeouts=5000), "ok"),
        (ATA._replace(crc_errors=3118119, crc_growth=0), "ok"),
        (ATA._replace(crc_errors=1, crc_growth=1), "warning"),
        (ATA._replace(error_log_entries=900, error_log_growth=0), "ok"),
        (ATA._replace(error_log_entries=900, error_log_growth=1), "warning"),
        (ATA._replace(failing_now=("5 Reallocated_Sector_Ct",)), "critical"),
        (ATA._replace(failing_usage=("202 Percent_Lifetime_Remain",)), "warning"),
        (ATA._replace(failed_before=("1 Raw_Read_Error_Rate",)), "warning"),
        (ATA._replace(self_tests_failed=0), "ok"),
        (ATA._replace(self_tests_failed=1, self_test_failure="Short offline: read failure"), "critical"),
        (ATA._replace(passed=False), "critical"),
        (ATA._replace(passed=None), "unknown"),
        (ATA._replace(passed=None, reported_uncorrectable=1), "unknown"),
        (ATA._replace(passed=None, reported_uncorrectable=6), "critical"),
        (ATA._replace(attributes=0), "unknown"),
        (ATA._replace(smart_enabled=False), "unknown"),
        (ATA._replace(exit_status=4), "ok"),
        (ATA._replace(exit_status=8), "critical"),
        (ATA._replace(exit_status=16), "critical"),
        (ATA._replace(exit_status=32), "warning"),
        (ATA._replace(exit_status=64), "ok"),
        (ATA._replace(exit_status=128), "ok"),
        (ATA._replace(temperature_celsius=59, limit_celsius=60, trip_celsius=70), "ok"),
        (ATA._replace(temperature_celsius=60, limit_celsius=60, trip_celsius=70), "warning"),
        (ATA._replace(temperature_celsius=70, limit_celsius=60, trip_celsius=70), "critical"),
        (ATA._replace(temperature_celsius=80), "ok"),
        (ATA._replace(was_too_hot=True, days_since_too_hot=6.9), "warning"),
        (ATA._replace(was_too_hot=True, days_since_too_hot=7.0), "ok"),
        (ATA._replace(wear_percent=89), "ok"),
        (ATA._replace(wear_percent=90), "warning"),
        (ATA._replace(wear_percent=99), "warning"),
        (ATA._replace(wear_percent=100), "critical"),
        (SAS._replace(grown_defects=0, uncorrected_reads=0), "ok"),
        (SAS._replace(grown_defects=1), "warning"),
        (SAS._replace(grown_defects=1, grown_defects_growth=0), "warning"),
        (SAS._replace(grown_defects=1, grown_defects_growth=1), "critical"),
        (SAS._replace(uncorrected_verifies=1), "warning"),
        (SAS._replace(uncorrected_reads=1, uncorrected_growth=1), "critical"),
        (SAS._replace(passed=False, status_text="FAILURE PREDICTION THRESHOLD EXCEEDED"), "critical"),
        (SAS._replace(passed=False, too_hot=True, exit_status=8), "warning"),
        (NVME, "ok"),
        (NVME._replace(nvme_warning_bits=1, passed=False), "critical"),
        (NVME._replace(nvme_warning_bits=2, passed=False, too_hot=True, exit_status=8), "warning"),
        (NVME._replace(nvme_warning_bits=6, passed=False, too_hot=True, exit_status=8), "critical"),
        (NVME._replace(nvme_warning_bits=8, passed=False), "critical"),
        (NVME._replace(nvme_warning_bits=16, passed=False), "critical"),
        (NVME._replace(nvme_warning_bits=64, passed=False), "critical"),
        (NVME._replace(spare_percent=11, spare_threshold_percent=10), "ok"),
        (NVME._replace(spare_percent=10, spare_threshold_percent=10), "critical"),
        (NVME._replace(spare_percent=0, spare_threshold_percent=0), "ok"),
        (NVME._replace(media_errors=0), "ok"),
        (NVME._replace(media_errors=1), "warning"),
        (NVME._replace(media_errors=2, media_errors_growth=1), "critical"),
        (NVME._replace(error_log_entries=9000, error_log_growth=9), "ok"),
        (NVME._replace(nvme_warning_bits=None), "unknown"),
        (NVME._replace(spare_percent=None), "unknown"),
        (NVME._replace(wear_percent=None), "unknown"),
        (NVME._replace(media_errors=None), "unknown"),
        (ATA._replace(unread=("attribute 5",)), "unknown"),
        (ATA._replace(whole=False), "unknown"),
        (ATA._replace(whole=False, reported_uncorrectable=6), "critical"),
    ],
)
def test_the_edges_of_the_limits(facts: Facts, status: str) -> None:
    assert smart.judge(facts, smart.LIMITS).status == status


def test_a_healthy_disk_is_ok_and_says_what_it_counted() -> None:
    (finding,) = run_checks(machine(ata()), "smart")

    assert (finding.item, finding.status) == ("ZA1BC2DE", "ok")
    assert finding.facts["power_on_hours"] == 41234 and finding.facts["command_timeouts"] == 4
    assert finding.facts["size_bytes"] == 8001563222016 and finding.facts["vendor"] == "Seagate"


def test_the_reason_names_path_model_serial_slot_and_numbers() -> None:
    (finding,) = run_checks(machine(ata(a197="32")), "smart")

    assert finding.verdict.reason == (
        "/dev/sdb ST8000NM0055-1RM112 (serial ZA1BC2DE, slot pci-0000:00:1f.2-ata-2): "
        "32 pending sectors (attribute 197), limit 24"
    )
    assert finding.verdict.playbook == "replace-jbod-disk"


def test_the_playbook_follows_the_layout() -> None:
    (finding,) = run_checks(machine(ata(passed=False), Expected(layout="raid10")), "smart")

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-raid10-disk")


def test_a_member_of_an_md_array_is_a_physical_disk_with_the_playbook_of_raid() -> None:
    host = machine(ata(passed=False), disks=[disk("sdb", "ZA1BC2DE"), disk("md0", kind="md")])
    host.files.update({"/sys/block/md0/slaves/sdb2": "", "/sys/block/sdb/sdb2": "", "/sys/block/sdb/size": "1"})

    (finding,) = run_checks(host, "smart")

    assert (finding.item, finding.verdict.playbook) == ("ZA1BC2DE", "replace-raid10-disk")


def test_heat_has_the_playbook_of_heat() -> None:
    (finding,) = run_checks(machine(ata(temperature={"current": 61, "op_limit_max": 60})), "smart")

    assert (finding.status, finding.verdict.playbook) == ("warning", "overheating")


def test_growth_is_seen_between_runs_stays_a_month_and_is_ok_again() -> None:
    host = machine(ata(a197="3", a199="3"))
    assert run_checks(host, "smart")[0].status == "ok"

    later = next_run(host, commands=saying(ata(a197="9", a199="4")))
    (finding,) = run_checks(later, "smart")
    assert finding.status == "warning" and "6 of them in 30 days" in finding.verdict.reason
    assert "1 new CRC error in" in finding.verdict.reason

    same = next_run(later, DAY_S)
    (again,) = run_checks(same, "smart")
    assert (again.status, again.first_seen) == ("warning", finding.first_seen)

    statuses = []
    for _day in range(30):
        same = next_run(same, DAY_S)
        statuses.append(run_checks(same, "smart")[0].status)
    assert statuses == ["warning"] * 28 + ["ok"] * 2


def test_growth_outlives_a_reboot() -> None:
    host = machine(ata(a197="10"))
    run_checks(host, "smart")

    rebooted = next_run(host, boot_id="00000000-0000-4000-8000-000000000002", commands=saying(ata(a197="20")))
    assert run_checks(rebooted, "smart")[0].status == "critical"


def test_heat_of_the_past_is_news_for_a_week() -> None:
    host = machine(ata(a190="35", failed={190: "past"}, exit_status=32))
    assert run_checks(host, "smart")[0].status == "warning"

    assert run_checks(next_run(host, 6 * DAY_S), "smart")[0].status == "warning"
    assert run_checks(next_run(host, 8 * DAY_S), "smart")[0].status == "ok"


def refused(message: str, code: int = 2) -> Answer:
    return printed({"smartctl": {"exit_status": code, "messages": [{"string": message, "severity": "error"}]}})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refused("Device is in STANDBY mode, exit(2)"), "is in STANDBY mode and was not woken"),
        (refused("Smartctl open device: /dev/sdb failed: No such device"), "No such device"),
        (refused("Smartctl open device: /dev/sdb failed: Permission denied"), "needs root"),
        (refused("/dev/sdb: Unknown USB bridge [0x0bda:0x9210]", 1), "Unknown USB bridge"),
        (printed(ata(exit_status=2)), "cannot be read"),
        (printed(ata(passed=None)), "no overall SMART status"),
        (Answer(0, "", ""), "/dev/sdb: smartctl printed nothing"),
        (Answer(0, '{"smartctl": {"exit_sta', ""), "truncated"),
        (Answer(0, "[]", ""), "printed no"),
        (Answer(-11, "", ""), "exit code -11"),
        (Stuck("smartctl -a /dev/sdb", 12.0, " (process 77 in state D, blk_execute_rq)"), "state D"),
        (printed(ata(smart_support={"available": True, "enabled": False}, passed=None)), "SMART is disabled"),
        (printed(ata(smart_support={"available": False}, passed=None)), "has no SMART"),
    ],
)
def test_what_cannot_be_told_is_unknown_with_its_reason(answer: Any, words: str) -> None:
    (finding,) = run_checks(machine(answer), "smart")

    assert (finding.item, finding.status) == ("ZA1BC2DE", "unknown")
    assert words in finding.verdict.reason


def test_without_root_or_smartctl_every_disk_says_so() -> None:
    (finding,) = run_checks(machine(ata(), is_root=False), "smart")
    assert finding.status == "unknown" and "needs root" in finding.verdict.reason

    missing = ToolMissing("smartctl is not installed (package smartmontools)")
    commands = {"smartctl --json --scan": missing, reports.asked("/dev/sdb"): missing}
    host = FakeHost(commands=commands, answers={"disks": [disk("sdb", "ZA1"), disk("sdc", "ZA2")]})
    findings = run_checks(host, "smart")
    assert [finding.status for finding in findings] == ["unknown", "unknown"]
    assert all("smartmontools" in finding.verdict.reason for finding in findings[:1])


def test_a_scan_that_hangs_is_one_item_and_hides_no_disk() -> None:
    host = machine(ata())
    host.commands["smartctl --json --scan"] = Stuck("smartctl --json --scan", 12.0)

    findings = by_item(run_checks(host, "smart"))

    assert findings["ZA1BC2DE"].status == "ok"
    assert findings["smartctl --scan"].status == "unknown"


@pytest.mark.parametrize(
    "shown",
    [
        disk("vda", model=""),
        disk("sda", "A", bus="usb", model="Cruzer Fit"),
        disk("mmcblk0", "0x1234"),
        disk("sda", "6d09466", model="PERC H730P Adp", bus="scsi"),
        disk("sda", "5001438", model="LOGICAL VOLUME", bus="scsi"),
    ],
)
def test_what_has_no_smart_by_nature_is_skipped_with_a_reason(shown: Any) -> None:
    host = FakeHost(commands=scan(), answers={"disks": [shown]})
    host.commands[reports.asked("/dev/sda", "cciss,0")] = refused("failed: No such device or address")
    for number in range(1, 8):
        host.commands[reports.asked("/dev/sda", f"cciss,{number}")] = refused("failed: No such device or address")

    (finding,) = run_checks(host, "smart")

    assert finding.status == "skipped" and shown.name in finding.verdict.reason


def test_a_virtual_disk_that_shows_only_when_read_is_skipped() -> None:
    report = reports.sas(
        scsi_vendor="QEMU", scsi_product="QEMU HARDDISK", smart_support={"available": False}, passed=None
    )

    (finding,) = run_checks(machine(report), "smart")

    assert finding.status == "skipped" and "virtual disk" in finding.verdict.reason


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (ata(model_name="QEMU HARDDISK"), "ok"),
        (changed(ata(passed=False), model_name="QEMU HARDDISK"), "critical"),
        (changed(reports.nvme(), model_name="QEMU NVMe Ctrl"), "ok"),
        (changed(reports.nvme(bits=4), model_name="QEMU NVMe Ctrl"), "critical"),
        (reports.sas(scsi_vendor="Linux", scsi_product="scsi_debug"), "ok"),
        (reports.sas(passed=False, scsi_vendor="Linux", scsi_product="scsi_debug"), "critical"),
        (reports.sas(passed=False, scsi_product="QEMU HARDDISK", smart_support={"available": False}), "critical"),
    ],
)
def test_a_disk_of_a_test_machine_that_tells_its_health_is_judged(report: Dict[str, Any], status: str) -> None:
    (finding,) = run_checks(machine(report), "smart")

    assert finding.status == status, finding.verdict.reason


@pytest.mark.parametrize("rubbish", [-1, 1 << 63, 1e308, "x", [], {}, True])
@pytest.mark.parametrize("report", [ata(), reports.sas(), reports.nvme()], ids=["ata", "sas", "nvme"])
def test_counters_that_hold_no_number_are_never_ok(report: Dict[str, Any], rubbish: Any) -> None:
    def spoiled(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: rubbish if key == "raw" else spoiled(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return [spoiled(value) for value in tree]
        return rubbish if type(tree) is int else tree

    (finding,) = run_checks(machine(Answer(0, json.dumps(spoiled(report)), "")), "smart")

    assert finding.status == "unknown" and "the check failed" not in finding.verdict.reason


def test_an_nvme_disk_without_its_health_log_is_unknown_though_it_passed() -> None:
    report = reports.nvme()
    del report["nvme_smart_health_information_log"]

    (finding,) = run_checks(machine(report), "smart")

    assert finding.status == "unknown" and "health log cannot be read" in finding.verdict.reason


def test_a_machine_without_any_disk_is_unknown() -> None:
    (finding,) = run_checks(FakeHost(commands=scan(), answers={"disks": []}), "smart")

    assert (finding.item, finding.status) == ("-", "unknown")


def test_an_expected_disk_that_is_not_there_is_critical() -> None:
    (vanished, well) = sorted(run_checks(machine(ata(), Expected(disks=("ZA1BC2DE", "ZA1GONE1"))), "smart"))

    assert sorted([vanished.item, well.item]) == ["ZA1BC2DE", "ZA1GONE1"]
    gone = by_item([vanished, well])["ZA1GONE1"]
    assert gone.status == "critical" and "vanished" in gone.verdict.reason
    assert gone.verdict.playbook == "replace-jbod-disk"


@pytest.mark.parametrize("named", ["za1bc2de", "0x5000c500a1b2c3d4", "naa.5000C500A1B2C3D4", "wwn-0x5000c500a1b2c3d4"])
def test_an_inventory_may_name_a_disk_by_serial_or_worldwide_name(named: str) -> None:
    (finding,) = run_checks(machine(ata(), Expected(disks=(named,))), "smart")

    assert (finding.item, finding.status) == ("ZA1BC2DE", "ok")


def test_a_disk_of_an_earlier_run_that_is_gone_is_critical_until_it_is_back() -> None:
    host = machine(ata())
    run_checks(host, "smart")

    gone = next_run(
        host, answers={"disks": [disk("sda", "OTHER")]}, commands={reports.asked("/dev/sda"): printed(ata("OTHER"))}
    )
    gone.answers["disks"] = []
    gone.commands["smartctl --json --scan"] = scan()["smartctl --json --scan"]
    (finding,) = run_checks(gone, "smart")
    assert (finding.item, finding.status) == ("ZA1BC2DE", "critical")
    assert "/dev/sdb ST8000NM0055-1RM112" in finding.verdict.reason and "ata-2" in finding.verdict.reason

    (still,) = run_checks(next_run(gone, 5 * DAY_S), "smart")
    assert (still.status, still.first_seen) == ("critical", finding.first_seen)

    back = next_run(gone, answers={"disks": host.answers["disks"]})
    assert [found.status for found in run_checks(back, "smart")] == ["ok"]


def test_a_vanished_disk_is_forgotten_after_the_limit() -> None:
    host = machine(ata(), Expected(limits={"smart": {"forget_days": 2}}))
    run_checks(host, "smart")
    other = {"disks": [disk("sda", "OLDER", size_bytes=1)]}

    commands = {**scan("/dev/sda scsi"), reports.asked("/dev/sda"): printed(ata("OLDER"))}
    soon = next_run(host, DAY_S, answers=other, commands=commands)
    assert by_item(run_checks(soon, "smart"))["ZA1BC2DE"].status == "critical"
    late = next_run(soon, 1.5 * DAY_S)
    assert list(by_item(run_checks(late, "smart"))) == ["OLDER"]


def test_a_vanished_disk_may_have_a_limit_of_its_own() -> None:
    limits = {"smart": {"forget_days": 2, "items": {"ZA1BC2DE": {"forget_days": 30}}}}
    host = machine(ata(), Expected(limits=limits))
    run_checks(host, "smart")

    commands = {**scan("/dev/sda scsi"), reports.asked("/dev/sda"): printed(ata("OLDER"))}
    answers = {"disks": [disk("sda", "OLDER", size_bytes=1)]}
    late = next_run(host, 5 * DAY_S, answers=answers, commands=commands)
    assert by_item(run_checks(late, "smart"))["ZA1BC2DE"].status == "critical"


def test_a_disk_that_was_replaced_is_not_missed() -> None:
    host = machine(ata())
    run_checks(host, "smart")

    new = {"disks": [disk("sdb", "ZA1NEW00", slot="pci-0000:00:1f.2-ata-2")]}
    replaced = next_run(host, answers=new, commands=saying(ata("ZA1NEW00")))
    assert [(found.item, found.status) for found in run_checks(replaced, "smart")] == [("ZA1NEW00", "ok")]
    assert [found.item for found in run_checks(next_run(replaced), "smart")] == ["ZA1NEW00"]


def raid_machine(count: int, **answers: Any) -> FakeHost:
    """A MegaRAID card with disks 8, 9, … behind one virtual disk."""
    members = [f"/dev/bus/0 megaraid,{8 + index}" for index in range(count)]
    commands: Dict[str, Any] = scan(*members)
    for index in range(count):
        commands[reports.asked("/dev/bus/0", f"megaraid,{8 + index}")] = printed(ata(f"ZA1RAID{index}", wwn=None))
    return FakeHost(
        commands=commands, answers={"disks": [disk("sda", "6d0946", model="PERC H730P", bus="scsi")], **answers}
    )


def test_members_of_a_raid_card_are_the_items_and_its_virtual_disk_is_skipped() -> None:
    host = raid_machine(3)
    host.commands[reports.asked("/dev/bus/0", "megaraid,9")] = printed(ata("ZA1RAID1", passed=False, wwn=None))

    findings = by_item(run_checks(host, "smart"))

    assert {item: found.status for item, found in findings.items()} == {
        "sda": "skipped",
        "ZA1RAID0": "ok",
        "ZA1RAID1": "critical",
        "ZA1RAID2": "ok",
    }
    assert findings["ZA1RAID1"].verdict.playbook == "replace-raid10-disk"
    assert findings["ZA1RAID1"].verdict.reason.startswith("/dev/bus/0 megaraid,9 ST8000NM0055")


def test_a_member_that_stops_answering_keeps_its_name_and_costs_only_itself() -> None:
    host = raid_machine(3)
    run_checks(host, "smart")

    hung = next_run(host, commands={reports.asked("/dev/bus/0", "megaraid,9"): Stuck("smartctl", 12.0)})
    findings = by_item(run_checks(hung, "smart"))
    assert {item: found.status for item, found in findings.items()} == {
        "sda": "skipped",
        "ZA1RAID0": "ok",
        "ZA1RAID1": "unknown",
        "ZA1RAID2": "ok",
    }


def test_a_member_that_the_inventory_names_and_that_is_late_to_answer_is_not_called_vanished() -> None:
    """Found with the rack, on a host short of processor time."""
    host = raid_machine(2)
    host.expected = Expected(disks=("ZA1RAID0", "ZA1RAID1"))
    run_checks(host, "smart")

    hung = next_run(host, commands={reports.asked("/dev/bus/0", "megaraid,9"): Stuck("smartctl", 12.0)})
    findings = by_item(run_checks(hung, "smart"))

    assert {item: found.status for item, found in findings.items()} == {
        "sda": "skipped",
        "ZA1RAID0": "ok",
        "ZA1RAID1": "unknown",
    }


def test_a_member_that_never_answered_goes_by_its_path() -> None:
    host = raid_machine(1)
    host.commands[reports.asked("/dev/bus/0", "megaraid,8")] = Stuck("smartctl", 12.0)

    assert by_item(run_checks(host, "smart"))["bus/0 megaraid,8"].status == "unknown"


@pytest.mark.parametrize(("product", "status"), [("QEMU HARDDISK", "skipped"), ("RAIDER 3000", "unknown")])
def test_a_member_without_smart_is_known_by_its_serial_and_not_missed(product: str, status: str) -> None:
    """Found with the rack: such a member was 'not to be seen' though it had said who it is."""
    host = raid_machine(2)
    host.expected = Expected(disks=("ZA1RAID0", "ZA1RAID1"))
    bare = reports.sas(
        scsi_vendor="", scsi_product=product, serial_number="ZA1RAID1", smart_support={"available": False}, passed=None
    )
    host.commands[reports.asked("/dev/bus/0", "megaraid,9")] = printed(bare)

    findings = by_item(run_checks(host, "smart"))

    assert {item: found.status for item, found in findings.items()} == {
        "sda": "skipped",
        "ZA1RAID0": "ok",
        "ZA1RAID1": status,
    }


def test_members_are_not_called_vanished_when_the_scan_fails() -> None:
    host = raid_machine(1)
    run_checks(host, "smart")

    blind = next_run(host, commands={"smartctl --json --scan": Stuck("smartctl --json --scan", 12.0)})
    assert by_item(run_checks(blind, "smart"))["ZA1RAID0"].status == "unknown"
    assert by_item(run_checks(next_run(blind), "smart"))["ZA1RAID0"].status == "unknown"


@pytest.mark.parametrize("address", [True, False], ids=["by its SCSI address", "by its serial"])
def test_a_jbod_disk_on_a_raid_card_is_counted_once(address: bool) -> None:
    host = raid_machine(2, disks=[disk("sdb", "ZA1RAID0", bus="scsi"), disk("sdc", "ZA1RAID1", bus="scsi")])
    for index, name in enumerate(("sdb", "sdc")):
        host.commands[reports.asked(f"/dev/{name}")] = printed(ata(f"ZA1RAID{index}", wwn=None))
        if address:
            host.answers[f"link /sys/block/{name}/device"] = f"/sys/devices/pci0/host0/target0:0:8/0:0:{8 + index}:0"
            host.files["/sys/class/scsi_host/host0/proc_name"] = "megaraid_sas\n"
            del host.commands[reports.asked("/dev/bus/0", f"megaraid,{8 + index}")]

    findings = by_item(run_checks(host, "smart"))

    assert {item: found.facts["path"] for item, found in findings.items()} == {
        "ZA1RAID0": "/dev/sdb",
        "ZA1RAID1": "/dev/sdc",
    }


def test_a_volume_of_a_raid_card_is_known_by_its_scsi_address() -> None:
    host = raid_machine(1, disks=[disk("sda", "x", model="Some Volume", bus="scsi")])
    host.answers["link /sys/block/sda/device"] = "/sys/devices/pci0/host0/target0:2:0/0:2:0:0"
    host.files["/sys/class/scsi_host/host0/proc_name"] = "megaraid_sas\n"

    assert by_item(run_checks(host, "smart"))["sda"].status == "skipped"


def test_disks_behind_an_hpe_card_are_probed_until_there_are_no_more() -> None:
    commands: Dict[str, Any] = scan("/dev/sda scsi")
    for number in range(8):
        there = printed(ata(f"ZA1HPE{number}", wwn=None)) if number < 4 else refused("Smartctl open device failed")
        commands[reports.asked("/dev/sg0", f"cciss,{number}")] = there
    host = FakeHost(
        files={"/sys/class/scsi_generic/sg0/device/type": "12\n", "/sys/class/scsi_generic/sg1/device/type": "0\n"},
        commands=commands,
        answers={"disks": [disk("sda", "600508b1", model="LOGICAL VOLUME", bus="scsi")]},
    )

    findings = by_item(run_checks(host, "smart"))
    assert [item for item, found in sorted(findings.items()) if found.status == "ok"] == [
        f"ZA1HPE{n}" for n in range(4)
    ]

    again = next_run(host)
    for number in range(5, 8):
        del again.commands[reports.asked("/dev/sg0", f"cciss,{number}")]
    assert len(run_checks(again, "smart")) == 5


def test_both_paths_of_a_sas_disk_are_one_item() -> None:
    host = machine(sas(), disks=[disk("sdb", "Z1Z0AAAA"), disk("sdc", "Z1Z0AAAA")])

    assert [finding.item for finding in run_checks(host, "smart")] == ["Z1Z0AAAA"]


class CountingHost(FakeHost):
    """Counts what it starts, and takes a while for each."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.started: Dict[str, int] = {}
        self.at_once = self.most_at_once = 0
        self.counting = threading.Lock()

    def run(self, *argv: str, deadline_s: float = 8.0, secret_env: str = "", secret_from: str = "") -> Answer:
        with self.counting:
            command = " ".join(argv)
            self.started[command] = self.started.get(command, 0) + 1
            self.at_once += 1
            self.most_at_once = max(self.at_once, self.most_at_once)
        time.sleep(0.1)
        with self.counting:
            self.at_once -= 1
        return super().run(*argv, deadline_s=deadline_s, secret_env=secret_env, secret_from=secret_from)


def test_each_disk_is_read_once_and_all_at_once() -> None:
    host = raid_machine(24)
    counting = CountingHost(commands=host.commands, answers=host.answers)

    findings = run_checks(counting, "smart")

    assert sum(finding.status == "ok" for finding in findings) == 24
    assert len(counting.started) == 25 and set(counting.started.values()) == {1}
    assert counting.most_at_once > 12


OLD = Answer(
    1, "smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0] (local build)\n\n=======> UNRECOGNIZED OPTION: json\n", ""
)


def old_machine(**texts: Answer) -> FakeHost:
    """A machine whose smartctl has no JSON, with these disks."""
    listed = "\n".join(f"/dev/{name} -d scsi # /dev/{name}, SCSI device" for name in texts)
    commands: Dict[str, Any] = {"smartctl --json --scan": OLD, "smartctl --scan": Answer(0, listed, "")}
    commands.update({reports.asked(f"/dev/{name}", as_json=False): answer for name, answer in texts.items()})
    return FakeHost(commands=commands, answers={"disks": [disk(name, f"SER{name}") for name in texts]})


def test_an_old_smartctl_is_read_through_pysmart_with_one_process_a_disk() -> None:
    failing = reports.ata_text(ata(a197="30"))
    host = old_machine(
        sdb=Answer(64, failing, ""),
        sdc=Answer(0, reports.sas_text(defects=2), ""),
        sdd=Answer(8, reports.sas_text(health="FAILURE PREDICTION THRESHOLD EXCEEDED [asc=5d, ascq=0]"), ""),
        nvme0n1=Answer(0, reports.nvme_text(), ""),
    )
    counting = CountingHost(commands=host.commands, answers=host.answers)

    findings = by_item(run_checks(counting, "smart"))

    assert {item: found.status for item, found in findings.items()} == {
        "SERsdb": "warning",
        "SERsdc": "warning",
        "SERsdd": "critical",
        "SERnvme0n1": "ok",
    }
    assert set(counting.started.values()) == {1} and len(counting.started) == 6


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(0, reports.ata_text(ata(), health="UNKNOWN!"), ""), "no overall SMART status"),
        (
            Answer(2, "smartctl 6.6 2017-11-05 r4594 [x]\n\nDevice is in STANDBY mode, exit(2)\n", ""),
            "is in STANDBY mode",
        ),
        (
            Answer(
                2, "smartctl 6.6 2017-11-05 r4594 [x]\n\nSmartctl open device: /dev/sdb failed: Permission denied", ""
            ),
            "root",
        ),
        (Answer(0, "smartctl 6.6 2017-11-05 r4594 [x]\n", ""), "printed no report"),
        (Answer(0, "\x00\x01", ""), "printed no report"),
        (Answer(0, reports.ata_text(ata())[:1200], ""), "truncated"),
        (Answer(0, reports.ata_text(ata()).partition("SMART Error Log")[0].rstrip() + "\n", ""), "truncated"),
        (Answer(0, reports.sas_text(defects=-5), ""), "unreadable counters: grown defects"),
        (Answer(0, reports.sas_text(uncorrected=-5), ""), "unreadable counters: write"),
        (Stuck("smartctl -a /dev/sdb", 12.0), "timed out after 12 s"),
    ],
)
def test_what_an_old_smartctl_cannot_tell_is_unknown(answer: Any, words: str) -> None:
    (finding,) = run_checks(old_machine(sdb=answer), "smart")

    assert finding.status == "unknown" and words in finding.verdict.reason


def test_an_old_smartctl_names_a_relabelled_disk_by_its_model_and_not_by_the_seller() -> None:
    report = reports.ata_text(ata()).replace("Serial Number:", "Add. Product Id:  DELL(tm)\nSerial Number:")

    (finding,) = run_checks(old_machine(sdb=Answer(0, report, "")), "smart")

    assert finding.facts["model"] == "ST8000NM0055-1RM112"


def test_the_exit_status_of_an_old_smartctl_counts() -> None:
    (finding,) = run_checks(old_machine(sdb=Answer(8, reports.ata_text(ata()), "")), "smart")

    assert finding.status == "critical" and "DISK FAILING" in finding.verdict.reason


def test_options_of_one_disk_do_not_leak_into_pysmart() -> None:
    from pySMART.smartctl import SMARTCTL

    run_checks(old_machine(sdb=Answer(0, reports.ata_text(ata()), "")), "smart")

    assert SMARTCTL.options == []


def test_other_checks_get_the_same_facts_without_asking_again() -> None:
    host = machine(ata(a197="30"))
    counting = CountingHost(commands=host.commands, answers=host.answers)
    run_checks(counting, "smart")

    facts = smartctl.smart_facts_of(counting, "sdb")

    assert facts is not None and smart_rules.trouble(facts).startswith("30 pending sectors")
    assert set(counting.started.values()) == {1}


def test_trouble_is_empty_for_a_well_disk_and_for_one_that_does_not_tell() -> None:
    assert smart_rules.trouble(ATA) == ""
    assert smart_rules.trouble(ATA._replace(passed=None)) == ""
    assert smartctl.smart_facts_of(machine(NoPermission("needs root")), "sdb") is None
    assert smartctl.smart_facts_of(machine(NotApplicable("virtual")), "sdb") is None


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "replace")), st.integers(-15, 255))
def test_rubbish_from_smartctl_is_unknown_and_never_ok(printed: str, code: int) -> None:
    for host in (machine(Answer(code, printed, "")), old_machine(sdb=Answer(code, printed, ""))):
        for finding in run_checks(host, "smart"):
            assert finding.status == "unknown", finding
            assert "the check failed" not in finding.verdict.reason


@settings(deadline=None)
@given(st.text(), st.integers(0, 255))
def test_rubbish_from_the_scan_hides_no_disk(printed: str, code: int) -> None:
    host = machine(ata())
    host.commands["smartctl --json --scan"] = Answer(code, printed, "")
    host.commands["smartctl --scan"] = Answer(code, printed, "")
    host.commands[reports.asked("/dev/sdb", as_json=False)] = Answer(0, reports.ata_text(ata()), "")

    assert by_item(run_checks(host, "smart"))["ZA1BC2DE"].status == "ok"


@pytest.mark.parametrize("devices", ["[1]", '{"name": 1}', '"sda"', "null", '[{"type": "sat"}]'])
def test_a_scan_with_odd_devices_hides_no_disk(devices: str) -> None:
    host = machine(ata())
    host.commands["smartctl --json --scan"] = Answer(0, f'{{"devices": {devices}}}', "")

    findings = by_item(run_checks(host, "smart"))
    assert findings["ZA1BC2DE"].status == "ok"
    assert not any("the check failed" in found.verdict.reason for found in findings.values())


@pytest.mark.root
def test_the_real_smartctl_understands_what_we_ask() -> None:
    if shutil.which("smartctl") is None:
        pytest.skip("package smartmontools is not installed")
    host = LiveHost()
    try:
        assert smartctl.scan(host).json
        with pytest.raises(CannotTell, match="Unable to detect device type"):
            smartctl.read(host, "/dev/null", "")
    finally:
        host.close()


def test_damaged_memory_is_no_memory() -> None:
    host = machine(ata())
    run_checks(host, "smart")
    state = json.loads(host.state.dump())
    state["notes"] = {"smart/disks": {"X": [1]}, "smart/labels": [3]}

    damaged = FakeHost(commands=host.commands, answers=host.answers, state=json.dumps(state))
    assert [found.status for found in run_checks(damaged, "smart")] == ["ok"]
