"""disk_errors: each line of the kernel lands on the right disk, once, and goes after a day."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.checks.disks import disk_errors
from agent.expected import Expected
from agent.host import CannotTell, Disk, NoPermission
from agent.machine.live import LiveHost
from agent.sources.kernel import disk_events
from agent.sources.kernel.pcie_lines import SLOT_EMPTY
from agent.state import State
from agent.status import Finding
from tests.agent.sources.kernel.test_line_patterns import QUIET, damaged
from tests.machine import BOOT, FakeHost, by_item, next_run, run_checks

DAY_S = 86400.0


def disk(name: str, dev: str, kind: str = "physical", serial: str = "") -> Disk:
    return Disk(name, kind, "ST4000NM", serial or f"ZA{name}", "", 4 << 40, True, "ata", "", dev)


DISKS = [disk("sda", "8:0"), disk("sdc", "8:32"), disk("sdd", "8:48"), disk("nvme0n1", "259:0"),
         disk("md0", "9:0", "md"), disk("dm-3", "253:3", "dm"), disk("loop0", "7:0", "virtual"),
         disk("sr0", "11:0", "virtual")]  # fmt: skip
PLACES = {
    "link /sys/block/sdc": "/sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sdc",
    "link /sys/block/sr0": "/sys/devices/pci0000:00/0000:00:1f.2/ata6/host5/target5:0:0/5:0:0:0/block/sr0",
    "link /sys/block/nvme0n1": "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/nvme/nvme0/nvme0n1",
}


def records(*texts: str, hours_ago: float = 1.0, first: int = 100) -> list[str]:
    """Records a second apart, the last of them `hours_ago` before now, on a machine that is up for a day."""
    ends = DAY_S - hours_ago * 3600
    return [
        f"6,{first + number},{int((ends - len(texts) + number + 1) * 1e6)},-;{text}"
        for number, text in enumerate(texts)
    ]


def machine(*texts: str, hours_ago: float = 1.0, **options: Any) -> FakeHost:
    answers = {"disks": DISKS, "kernel_records": records(*texts, hours_ago=hours_ago), **PLACES}
    return FakeHost(answers={**answers, **options.pop("answers", {})}, **options)


def look(host: FakeHost) -> dict[str, Finding]:
    return by_item(run_checks(host, "disk_errors"))


def trouble(host: FakeHost) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        item: (finding.status, tuple(finding.facts["kinds"]))
        for item, finding in look(host).items()
        if finding.status != "ok"
    }


@pytest.mark.parametrize(
    ("text", "item", "status"),
    [
        (
            "critical medium error, dev sdd, sector 4656 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
            "sdd",
            "warning",
        ),
        ("blk_update_request: I/O error, dev sdd, sector 0", "sdd", "warning"),
        ("end_request: critical medium error, dev sdd, sector 2930277168", "sdd", "warning"),
        ("Buffer I/O error on device sdd1, logical block 0", "sdd", "warning"),
        ("Buffer I/O error on dev dm-3, logical block 0, lost sync page write", "dm-3", "warning"),
        ("sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current] ", "sdc", "warning"),
        ("sd 2:0:0:0: Device offlined - not ready after error recovery", "sdc", "critical"),
        ("sd 2:0:0:0: rejecting I/O to offline device", "sdc", "critical"),
        ("ata3.00: error: { UNC }", "sdc", "warning"),
        ("ata3: hard resetting link", "sdc", "warning"),
        ("ata3.00: disabled", "sdc", "critical"),
        ("ata9.00: disable device", "ata9", "critical"),
        ("nvme nvme0: I/O 123 QID 4 timeout, aborting", "nvme0n1", "warning"),
        ("nvme 0000:3b:00.0: I/O 10 QID 3 timeout, aborting", "nvme0n1", "warning"),
        ("nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10", "nvme0n1", "critical"),
        ("nvme nvme7: Removing after probe failure status: -19", "nvme7n1", "critical"),
        ("EXT4-fs error (device sdd1): ext4_find_entry:1436: inode #2: comm java: lblock 0", "sdd", "critical"),
        ("EXT4-fs (dm-3): Remounting filesystem read-only", "dm-3", "critical"),
        ("Aborting journal on device sdd1-8.", "sdd", "critical"),
        ("Aborting journal on device dm-3-8.", "dm-3", "critical"),
        (
            "XFS (sdd1): Log I/O Error (0x2) detected at x+0x1/0x2 (a.c:1).  Shutting down filesystem.",
            "sdd",
            "critical",
        ),
        ("XFS (sdd1): xfs_do_force_shutdown(0x2) called from line 1180 of file fs/xfs/xfs_log.c.", "sdd", "critical"),
        ("XFS (sdd1): User initiated shutdown received.", "sdd", "warning"),
        ("mpt3sas_cm0: fault_state(0x5862)!", "mpt3sas_cm0", "critical"),
        ("megaraid_sas 0000:03:00.0: HBA is killed", "megaraid_sas 0000:03:00.0", "critical"),
        ("INFO: task java:1234 blocked for more than 120 seconds.", "blocked tasks", "warning"),
        ("device-mapper: multipath: 253:2: Failing path 8:48.", "sdd", "critical"),
        ("I/O error, dev sdz, sector 1 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "sdz", "warning"),
    ],
)
def test_a_line_lands_on_its_device(text: str, item: str, status: str) -> None:
    assert {name: level for name, (level, _kinds) in trouble(machine(text)).items()} == {item: status}


def test_a_failed_md_member_is_told_of_the_array_and_of_the_disk() -> None:
    found = look(
        machine(r"md/raid10:md0: Disk failure on sdd1, disabling device.\x0amd/raid10:md0: Operation continuing")
    )

    assert found["md0"].status == found["sdd"].status == "critical"
    assert found["sdd"].verdict.playbook == "replace-raid10-disk"


def test_a_healthy_machine_is_ok_for_every_disk_and_array() -> None:
    findings = look(machine(*QUIET))

    assert {item: finding.status for item, finding in findings.items()} == dict.fromkeys(
        ["sda", "sdc", "sdd", "nvme0n1", "md0", "kernel log"], "ok"
    )


@pytest.mark.parametrize(
    "text",
    [
        "blk_update_request: I/O error, dev fd0, sector 0",
        "print_req_error: I/O error, dev sr0, sector 0 flags 80700",
        "Buffer I/O error on dev sr0, logical block 0, async page read",
        "ata6.00: error: { IDNF }",  # the optical drive's port
        "critical target error, dev sdd, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
        "blk_update_request: critical target error, dev sdd, sector 0 op 0x9:(WRITE_ZEROES) flags 0x0 phys_seg 0",
        "operation not supported error, dev sdd, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 2",
        "md/raid10:md0: active with 4 out of 4 devices",
    ],
)
def test_lines_that_are_no_fault(text: str) -> None:
    assert trouble(machine(text)) == {}


def test_what_a_user_wrote_to_dev_kmsg_is_not_believed() -> None:
    forged = "11,100,80000000000,-;EXT4-fs (sdd1): Remounting filesystem read-only"

    assert trouble(machine(answers={"kernel_records": [forged]})) == {}


def test_many_lines_are_one_sentence_with_when_and_what() -> None:
    text = "critical medium error, dev sdd, sector 4656"
    host = machine(answers={"kernel_records": records(*[text] * 20, hours_ago=8) + records(*[text] * 21, first=120)})

    finding = look(host)["sdd"]

    assert finding.verdict.reason == (
        "sdd (ST4000NM, serial ZAsdd): 41 medium errors since 03:06Z, last 10:06Z: "
        "critical medium error, dev sdd, sector 4656"
    )
    assert finding.verdict.playbook == "replace-jbod-disk"


def test_one_event_told_in_several_lines_counts_once() -> None:
    host = machine(
        "sd 2:0:0:0: [sdc] tag#12 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE",
        "sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current] ",
        "sd 2:0:0:0: [sdc] tag#12 Add. Sense: Unrecovered read error",
        "sd 2:0:0:0: [sdc] tag#12 CDB: Read(10) 28 00 00 00 12 30 00 00 08 00",
        "critical medium error, dev sdc, sector 4656 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    )

    assert (look(host)["sdc"].facts["kinds"], look(host)["sdc"].facts["counts"]) == (("medium error",), (1,))


def test_a_disk_that_vanished_keeps_its_name_and_serial() -> None:
    first = machine()
    look(first)
    gone = {"disks": [each for each in DISKS if each.name != "sdc"], "link /sys/block/sdc": CannotTell("gone")}
    text = "sd 2:0:0:0: rejecting I/O to offline device"
    second = next_run(first, answers={**gone, "kernel_records": records(text)})

    finding = look(second)["sdc"]

    assert finding.status == "critical"
    assert "serial ZAsdc" in finding.verdict.reason


def test_the_address_of_a_vanished_disk_is_known_from_older_lines() -> None:
    host = machine("sd 9:0:1:0: [sdq] Attached SCSI disk", "sd 9:0:1:0: rejecting I/O to dead device")

    assert trouble(host) == {"sdq": ("critical", ("offline",))}


def test_power_on_reset_is_normal_at_boot_and_when_a_disk_is_put_in() -> None:
    reset = "sd 2:0:0:0: Power-on or device reset occurred"

    assert trouble(machine(reset, hours_ago=23.99)) == {}
    assert trouble(machine(reset, "sd 2:0:0:0: [sdc] Attached SCSI disk")) == {}
    assert trouble(machine("sd 2:0:0:0: [sdc] Attached SCSI disk", reset)) == {"sdc": ("warning", ("reset",))}


def test_an_xfs_shut_down_by_an_operator_is_a_warning_until_it_is_mounted_anew() -> None:
    stop = "XFS (sdd1): User initiated shutdown received."
    shutdown = (
        "XFS (sdd1): Log I/O Error (0x6) detected at xfs_fs_goingdown+0x5a/0xf0 (a.c:1).  Shutting down filesystem."
    )
    after = 'XFS (sdd1): metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x1 len 1 error 5'
    real = "XFS (sdd1): Log I/O Error (0x2) detected at xlog_ioend_work+0x6e/0x80 (a.c:1).  Shutting down filesystem."

    stopped = trouble(machine(stop, shutdown, after))
    mounted = trouble(machine(stop, shutdown, "XFS (sdd1): Mounting V5 Filesystem 0a1b", real))

    assert stopped == {"sdd": ("warning", ("file system shut down by an operator",))}
    assert mounted["sdd"][0] == "critical"


def test_it_is_told_once_and_ok_again_a_day_after_the_last_line() -> None:
    text = "blk_update_request: I/O error, dev sdd, sector 0"
    first = machine(text)
    second = next_run(first) if look(first) else first
    again = look(second)["sdd"]
    third = next_run(second, after_s=22.8 * 3600, answers={"uptime_s": 2 * DAY_S})
    fourth = next_run(third, after_s=900) if look(third)["sdd"].status == "warning" else third
    late = look(fourth)["sdd"]

    assert (again.status, again.facts["counts"]) == ("warning", (1,))
    assert (late.status, late.verdict.reason) == ("ok", "no new errors for 24 h; 1 I/O error at 2026-11-18T10:06Z")


def test_a_reboot_clears() -> None:
    first = machine("EXT4-fs (sdd1): Remounting filesystem read-only")
    look(first)

    assert trouble(next_run(first, boot_id="another", answers={"kernel_records": [], "uptime_s": 60.0})) == {}


def test_old_lines_that_are_seen_for_the_first_time_are_old() -> None:
    host = machine("EXT4-fs (sdd1): Remounting filesystem read-only", answers={"uptime_s": 30 * DAY_S})

    assert trouble(host) == {}


def test_lines_overwritten_between_two_runs_are_unknown_and_told_once() -> None:
    first = machine("Linux version 6.1", "second line")
    look(first)
    second = next_run(first, answers={"kernel_records": records("much later", first=150)})
    third = next_run(second) if look(second) else second

    finding = look(second)["kernel log"]

    assert (finding.status, finding.facts["counts"]) == ("unknown", (48,))
    assert finding.verdict.reason.startswith("48 lost lines at 11:16Z: overwritten in the kernel's ring buffer")
    assert look(third)["kernel log"].facts["counts"] == (48,)


def test_a_gap_at_the_first_look_is_told_but_no_news() -> None:
    host = machine(answers={"kernel_records": records("one") + records("two", first=110)})

    finding = look(host)["kernel log"]

    assert (finding.status, finding.facts["lost_lines"]) == ("ok", 9)
    assert "9 lines lost" in finding.verdict.reason


def test_without_dev_kmsg_nothing_is_ok() -> None:
    host = machine(answers={"kernel_records": NoPermission("needs root: /dev/kmsg")})
    (finding,) = run_checks(host, "disk_errors")

    assert (finding.status, finding.verdict.reason) == ("unknown", "needs root: /dev/kmsg")


def test_kernel_lines_are_told_even_if_no_disk_can_be_listed() -> None:
    host = machine("EXT4-fs (sdd1): Remounting filesystem read-only", answers={"disks": []})

    assert {item: finding.status for item, finding in look(host).items()} == {
        "disks": "unknown",
        "sdd": "critical",
        "kernel log": "ok",
    }


def test_a_disk_of_the_inventory_that_is_not_there_is_unknown() -> None:
    findings = look(machine(expected=Expected(disks=("ZAsdc", "/dev/sdd", "ZA404"))))

    assert findings["ZA404"].status == "unknown"
    assert len(findings) == 7


FACTS = disk_errors.Facts("", "", (), (), (), (), (), (), 0, "10:00Z")


def facts(kind: str, count: int, hours_ago: float = 1.0, layout: str = "") -> disk_errors.Facts:
    return FACTS._replace(
        layout=layout, kinds=(kind,), counts=(count,), first_at=("10:00Z",), last_at=("10:00Z",),
        hours_ago=(hours_ago,), last_text=("text",), most_in_an_hour=(count,),
    )  # fmt: skip


@pytest.mark.parametrize("kind", disk_errors.RULES)
def test_the_edges_of_every_limit(kind: str) -> None:
    name = disk_errors.RULES[kind].name
    levels = [level for level in ("warning", "critical", "unknown") if f"{name}_{level}" in disk_errors.LIMITS]
    for level in levels:
        limit = disk_errors.LIMITS[f"{name}_{level}"]
        assert disk_errors.judge(facts(kind, limit), disk_errors.LIMITS).status == level
        assert disk_errors.judge(facts(kind, limit + 1), disk_errors.LIMITS).status == level
        assert disk_errors.judge(facts(kind, limit - 1), disk_errors.LIMITS).status != level
    assert levels, f"{kind} never alarms"
    assert disk_errors.judge(facts(kind, 10**6, 23.99), disk_errors.LIMITS).status != "ok"
    assert disk_errors.judge(facts(kind, 10**6, 24.0), disk_errors.LIMITS).status == "ok"


def test_every_kind_of_line_has_a_rule() -> None:
    kinds = {form.kind for form in disk_events.FORMS} - {SLOT_EMPTY}  # which is told as OFFLINE

    assert kinds <= set(disk_errors.RULES)


def test_in_a_raid10_the_playbook_is_that_of_its_disks() -> None:
    assert (
        disk_errors.judge(facts("medium error", 1, layout="raid10"), disk_errors.LIMITS).playbook
        == "replace-raid10-disk"
    )


@given(st.lists(st.one_of(damaged(), st.text(max_size=60))))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
def test_rubbish_in_the_log_never_fails_the_check(texts: list[str]) -> None:
    host = machine(answers={"kernel_records": [f"6,{number},1,-;{text}" for number, text in enumerate(texts)]})

    for finding in run_checks(host, "disk_errors"):
        assert "the check failed" not in finding.verdict.reason
        assert finding.status in ("ok", "warning", "critical")


@pytest.fixture
def ext4(tmp_path: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """A real ext4 on a loop device: (device name, mount point)."""
    if not shutil.which("mkfs.ext4"):
        pytest.skip("needs mkfs.ext4 (package e2fsprogs)")
    image, mount = tmp_path / "image", tmp_path / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, capture_output=True)
    made = subprocess.run(
        ["mount", "-o", "loop,errors=remount-ro", str(image), str(mount)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no loop mounts here: {made.stderr.strip()}")
    try:
        number = os.stat(mount).st_dev
        yield os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")), mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False)


@pytest.mark.root
def test_a_real_ext4_error_is_seen_and_told_once(ext4: tuple[str, pathlib.Path]) -> None:
    device, _mount = ext4
    trigger = pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error")
    if not trigger.exists() or not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("this kernel has no trigger_fs_error, or no /dev/kmsg")
    host = LiveHost()
    host.state = State(BOOT, time.time())
    before = counts(host, device)
    later = LiveHost()
    later.state = State(BOOT, time.time(), host.state.dump())

    trigger.write_text("smoke test")
    found = by_item(run_checks(later, "disk_errors"))[device]
    after = LiveHost()
    after.state = State(BOOT, time.time(), later.state.dump())

    assert found.status == "critical"
    assert {"file system error", "read-only remount"} <= set(found.facts["kinds"])
    assert counts(later, device)["file system error"] == before.get("file system error", 0) + 1
    assert counts(after, device) == counts(later, device)
    for each in (host, later, after):
        each.close()


def counts(host: LiveHost, device: str) -> dict[str, int]:
    found = by_item(run_checks(host, "disk_errors")).get(device)
    return dict(zip(found.facts["kinds"], found.facts["counts"])) if found else {}


def test_the_inventorys_disks_behind_a_raid_card_are_not_missed_here() -> None:
    card = {"/sys/bus/pci/drivers/megaraid_sas/0000:02:00.0": ""}
    expected = Expected(disks=("Z1Z0BBB0", "ZAsda"))

    assert look(machine(expected=expected))["Z1Z0BBB0"].status == "unknown"
    assert "Z1Z0BBB0" not in look(machine(expected=expected, files=card))


def test_the_printed_start_of_a_serial_names_the_disk() -> None:
    sas = disk("sdc", "8:32", serial="Z1Z0AAAA0000C5004D5C")
    found = look(machine(expected=Expected(disks=("Z1Z0AAAA",)), answers={"disks": [sas]}))

    assert set(found) == {"sdc", "kernel log"}


# Storage that does not come up at boot was silent


@pytest.mark.parametrize(
    ("text", "item", "words"),
    [
        (
            "megaraid_sas 0000:03:00.0: Init cmd return status FAILED for SCSI host 0",
            "megaraid_sas 0000:03:00.0", "controller fault",
        ),
        ("megaraid_sas 0000:03:00.0: Failed from megasas_init_fw 6406", "megaraid_sas 0000:03:00.0", "controller"),
        (
            "mpt3sas_cm0: failure at drivers/scsi/mpt3sas/mpt3sas_scsih.c:12350/_scsih_probe()!",
            "mpt3sas_cm0", "controller fault",
        ),
        ("mpi3mr0: fault code(0x0000F003): Additional code: (0x0:0x0:0x0)", "mpi3mr0", "controller fault"),
        ("aacraid 0000:03:00.0: adapter kernel panic'd fffffffd.", "aacraid 0000:03:00.0", "controller fault"),
        ("aacraid 0000:03:00.0: Adapter health - -3", "aacraid 0000:03:00.0", "controller fault"),
        ("megaraid_sas 0000:03:00.0: Reset failed, killing adapter scsi0.", "megaraid_sas 0000:03:00.0", "controller"),
        ("nvme: probe of 0000:04:00.0 failed with error -12", "0000:04:00.0", "start failure"),
        ("nvme 0000:3b:00.0: probe with driver nvme failed with error -19", "nvme0n1", "start failure"),
        ("md: pers->run() failed ...", "md", "array start failure"),
        ("md/raid10:md0: not enough operational mirrors.", "md0", "array start failure"),
        ("md/raid:md5: failed to run raid set.", "md5", "array start failure"),
        ("JBD2: recovery failed", "JBD2", "journal abort"),
        (
            "EXT4-fs (sdc1): ext4_check_descriptors: Block bitmap for group 0 not in group (block 0)!",
            "sdc", "file system error",
        ),
        ("EXT4-fs (sdc1): group descriptors corrupted!", "sdc", "file system error"),
        ("EXT4-fs (sdc1): error loading journal", "sdc", "file system error"),
        ("XFS (sdc1): log mount failed", "sdc", "file system error"),
    ],
)  # fmt: skip
def test_storage_that_does_not_come_up_is_critical(text: str, item: str, words: str) -> None:
    finding = look(machine(text))[item]

    assert finding.status == "critical" and f"1 {words}" in finding.verdict.reason, finding.verdict


def test_commands_that_libsas_gives_up_are_a_warning_and_its_discovery_is_not() -> None:
    found = look(machine("sas: Enter sas_scsi_recover_host busy: 4 failed: 4"))
    quiet = look(machine("sas: Enter sas_scsi_recover_host busy: 0 failed: 0"))

    assert found["sas"].status == "warning" and "sas" not in quiet


# PCI Express


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("pcieport 0000:3a:00.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0", "critical"),
        ("pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3a:00.0", "critical"),
        ("pcieport 0000:3a:00.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0000:3b:00.0",
         "warning"),
        ("pcieport 0000:3a:00.0: pciehp: Slot(0): Link Down", "critical"),
        ("pcieport 0000:3a:00.0: pciehp: Slot(0-1): Card not present", "critical"),
        ("pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0", "ok"),
        ("pcieport 0000:00:1c.0: AER: Uncorrectable (Fatal) error message received from 0000:05:00.0", "ok"),
    ],
)  # fmt: skip
def test_a_pcie_line_is_told_of_the_disk_behind_the_address_and_of_no_other(text: str, status: str) -> None:
    found = look(machine(text))

    assert {item for item, one in found.items() if one.status != "ok"} == ({"nvme0n1"} if status != "ok" else set())
    assert found["nvme0n1"].status == status


def test_a_storm_of_corrected_pcie_errors_is_a_warning_and_some_are_not() -> None:
    line = "pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0"

    assert look(machine(*[line] * 99))["nvme0n1"].status == "ok"
    storm = look(machine(*[line] * 100))["nvme0n1"]
    assert (storm.status, storm.facts["most_in_an_hour"]) == ("warning", (100,))


def test_an_address_that_several_disks_stand_behind_is_told_as_such() -> None:
    ahci = "/sys/devices/pci0000:00/0000:00:1f.2"
    host = machine("pcieport 0000:00:1f.0: AER: Uncorrected (Fatal) error received: 0000:00:1f.2")
    host.answers["link /sys/block/sda"] = f"{ahci}/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    found = look(host)

    assert found["PCI 0000:00:1f.2"].status == "critical" and found["sdc"].status == "ok"


def test_an_empty_slot_at_boot_is_no_news() -> None:
    host = machine(answers={"kernel_records": ["6,9,2000000,-;pcieport 0000:3a:00.0: pciehp: Slot(0): Link Down"]})

    assert look(host)["nvme0n1"].status == "ok"


# What came back

PROBED = "sd 2:0:0:0: [sdc] tag#0 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK cmd_age=0s"
SIZED = "sd 2:0:0:0: [sdc] 7814037168 512-byte logical blocks: (4.00 TB/3.64 TiB)"
THERE = [SIZED, "sd 2:0:0:0: [sdc] Attached SCSI disk"]


def test_a_device_that_came_back_with_its_size_is_not_offline_any_more() -> None:
    assert look(machine(PROBED))["sdc"].status == "critical"
    assert look(machine(PROBED, *THERE))["sdc"].status == "ok"
    assert look(machine(PROBED, THERE[1]))["sdc"].status == "critical"
    assert look(machine(*THERE, PROBED))["sdc"].status == "critical"


def test_a_device_that_comes_back_between_two_runs_is_not_offline_any_more() -> None:
    before = machine(PROBED)
    assert look(before)["sdc"].status == "critical"

    log = before.answers["kernel_records"] + records(*THERE, hours_ago=0.5, first=200)
    assert look(next_run(before, answers={"kernel_records": log}))["sdc"].status == "ok"


@pytest.mark.parametrize(
    ("gone", "back", "item"),
    [
        ("nvme nvme0: Removing after probe failure status: -19", "nvme nvme0: 16/0/0 default/read/poll queues",
         "nvme0n1"),
        ("device-mapper: multipath: 253:2: Failing path 8:32.",
         "device-mapper: multipath: 253:2: Reinstating path 8:32.", "sdc"),
    ],
)  # fmt: skip
def test_a_controller_or_a_path_that_came_back_is_not_offline_any_more(gone: str, back: str, item: str) -> None:
    assert look(machine(gone))[item].status == "critical"
    assert look(machine(gone, back))[item].status == "ok"


def test_other_trouble_of_a_device_that_came_back_stays() -> None:
    medium = "sd 2:0:0:0: [sdc] tag#12 Sense Key : Medium Error [current]"

    finding = look(machine(medium, PROBED, *THERE))["sdc"]
    assert finding.status == "warning" and "medium error" in finding.verdict.reason


def test_a_disk_in_the_place_of_another_is_not_blamed_for_the_errors_of_that() -> None:
    failing = "I/O error, dev sdc, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 0"
    before = machine(*[failing] * 60, PROBED)
    assert look(before)["sdc"].status == "critical"

    disks = [disk("sdc", "8:32", serial="NEW1") if one.name == "sdc" else one for one in DISKS]
    log = before.answers["kernel_records"] + records(*THERE, hours_ago=0.5, first=400)
    after = next_run(before, answers={"kernel_records": log, "disks": disks})

    assert look(after)["sdc"].status == "ok"
