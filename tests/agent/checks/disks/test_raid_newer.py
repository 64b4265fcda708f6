"""raid: controllers of newer makes, those that nobody reads, batteries, write caches, and file systems that are arrays.

None of these controllers is here, and no pool of ZFS can be made: their tools' texts are hand-made in the layouts that
they print. btrfs is made for real in tests/real/test_btrfs.py.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.expected import Expected, ExpectedMount
from agent.host import Answer, CannotTell, Disk
from agent.sources.raid import arcconf, controllers, megacli, storcli, zfs
from agent.sources.raid import boss as raid_boss
from agent.status import Finding
from tests.agent.checks.disks.test_raid_controllers import found, machine, megacli_says
from tests.agent.sources.raid import newer_outputs as newer
from tests.agent.sources.raid import outputs
from tests.machine import FakeHost

ADAPTEC, DELL, HPE, VMWARE = "0x9005", "0x1028", "0x1590", "0x15ad"


def card(driver: str, vendor: str, commands: Mapping[str, Any]) -> FakeHost:
    host = machine(driver, commands)
    host.files["/sys/bus/pci/devices/0000:03:00.0/subsystem_vendor"] = vendor + "\n"
    return host


def smartraid(**changes: str) -> Dict[str, Finding]:
    return found(card("smartpqi", ADAPTEC, {"arcconf getconfig 1": newer.smartraid(**changes)}))


def statuses(findings: Mapping[str, Finding]) -> Dict[str, str]:
    return {item: finding.status for item, finding in findings.items()}


def test_a_smartraid_controller_is_read_through_arcconf_in_its_newer_layout() -> None:
    findings = smartraid()

    assert statuses(findings) == {"adaptec 1": "ok", "adaptec 1 ld 0": "ok"}
    assert findings["adaptec 1 ld 0"].verdict.reason == "raid1 Optimal, 2 disks"
    assert findings["adaptec 1 ld 0"].facts["mirrors"] == (("SER0", "SER1"),)


def test_a_missing_disk_of_a_smartraid_mirror_names_the_disk_that_is_left() -> None:
    finding = smartraid(state="Interim Recovery", first="Missing")["adaptec 1 ld 0"]

    assert finding.status == "critical" and "SER1 alone holds the data of SER0" in finding.verdict.reason


def test_hpe_cards_of_the_same_driver_are_still_read_through_ssacli() -> None:
    host = card("smartpqi", HPE, {"ssacli ctrl all show config detail": outputs.ssacli()})

    assert all(status == "ok" for status in statuses(found(host)).values())


def test_a_smartpqi_card_without_either_tool_is_unknown_and_names_the_one_of_its_maker() -> None:
    (ours,) = found(card("smartpqi", ADAPTEC, {})).values()
    (hpe,) = found(card("smartpqi", HPE, {})).values()

    assert "arcconf is not installed (package arcconf from Microchip)" in ours.verdict.reason
    assert "ssacli is not installed (package ssacli from HPE)" in hpe.verdict.reason


@pytest.mark.parametrize("said", ["Okay", "Optimal", "OK", "Online"])
def test_a_controller_that_calls_itself_okay_is_ok(said: str) -> None:
    assert smartraid(controller=said)["adaptec 1"].status == "ok"


def test_a_controller_that_calls_itself_anything_else_is_critical() -> None:
    assert smartraid(controller="Lockup")["adaptec 1"].status == "critical"


@pytest.mark.parametrize("said", ["ZMM not installed", "Not Installed", "Not Available", "Ready", "Optimal"])
def test_a_battery_that_is_not_installed_cannot_be_broken(said: str) -> None:
    older = outputs.arcconf().replace(
        "Logical device information", f"Controller ZMM Information\n   Status : {said}\nLogical device information", 1
    )

    assert smartraid(battery=said)["adaptec 1"].status == "ok"
    assert found(machine("aacraid", {"arcconf getconfig 1": older}))["adaptec 1"].status == "ok"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"defunct": "1"}, "defunct disks: 1"),
        ({"battery": "Not Fully Charged"}, "battery Not Fully Charged: write cache not protected"),
        ({"cache": "Temporarily Disabled", "why": "Capacitor Charge Is Low"}, "write cache off"),
        ({"disk": "Failed"}, "disk 0 (SER0) is Failed"),
        ({"predicted": "2"}, "disk 0 has 2 predictive failures"),
    ],
)
def test_what_a_smartraid_controller_says_against_itself_is_a_warning(changes: Dict[str, str], words: str) -> None:
    finding = smartraid(**changes)["adaptec 1"]

    assert finding.status == "warning" and words in finding.verdict.reason


def test_a_list_of_logical_devices_shorter_than_the_controller_counts_is_unknown() -> None:
    (finding,) = smartraid(count="3").values()

    assert (
        finding.status == "unknown"
        and "counts 3 logical devices on controller 1, but lists 1" in finding.verdict.reason
    )


def test_a_write_cache_that_is_set_on_and_is_off_is_a_warning() -> None:
    text = outputs.arcconf().replace(
        "   RAID level", "   Write-cache setting : Enabled\n   Write-cache status : Off\n   RAID level", 1
    )
    finding = found(machine("aacraid", {"arcconf getconfig 1": text}))["adaptec 1"]

    assert finding.status == "warning" and "write-through" in finding.verdict.reason


def with_megacli(**said: Any) -> Dict[str, Finding]:
    return found(machine("megaraid_sas", megacli_says(outputs.megacli(), **said)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("Firmware state: Hotspare, Spun Up", "Firmware state: Unconfigured(bad)"), "is Unconfigured(bad)"),
        (("Firmware state: Hotspare, Spun Up", "Firmware state: Failed"), "disk in slot 32:2 is Failed"),
        (("Foreign State: None\nDrive has", "Foreign State: Foreign\nDrive has"), "is foreign"),
    ],
)
def test_megacli_tells_of_bad_foreign_and_spare_disks_outside_arrays(change: Any, words: str) -> None:
    head, _, spare = outputs.MEGACLI_DISKS.rpartition("Enclosure Device ID")
    finding = with_megacli(disks=f"{head}Enclosure Device ID{spare.replace(*change)}")["c0"]

    assert (finding.status, finding.verdict.playbook) == ("warning", "replace-raid10-disk")
    assert words in finding.verdict.reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("Battery State: Optimal", "Battery State: Failed"), "battery Failed: write cache not protected"),
        (("Battery State: Optimal", "Battery State: "), "battery state unknown"),
        (
            ("Battery Replacement required            : No", "Battery Replacement required            : Yes"),
            "replacement",
        ),
        (("Battery Pack Missing                    : No", "Battery Pack Missing                    : Yes"), "missing"),
    ],
)
def test_megacli_tells_of_a_battery_at_its_end(change: Any, words: str) -> None:
    finding = with_megacli(battery=outputs.MEGACLI_BATTERY.replace(*change))["c0"]

    assert finding.status == "warning" and words in finding.verdict.reason


def test_megacli_with_a_battery_and_a_hot_spare_that_are_well_or_without_a_battery_is_ok() -> None:
    assert statuses(with_megacli()) == {"c0": "ok", "c0/v0": "ok"}
    assert with_megacli(battery=Answer(34, outputs.MEGACLI_NO_BATTERY, ""))["c0"].status == "ok"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"disks": Answer(1, "", "no memory")}, "disks outside arrays unknown"),
        ({"disks": outputs.MEGACLI_DISKS.replace("Exit Code", "")}, "disks outside arrays unknown"),
        ({"battery": Answer(1, "", "")}, "battery unknown"),
        ({"battery": outputs.megacli()}, "battery unknown"),
        ({"battery": outputs.MEGACLI_BATTERY.replace("Battery State", "Fnord")}, "battery unknown"),
        ({"battery": outputs.MEGACLI_BATTERY.replace("Exit Code", "Fnord")}, "battery unknown"),
    ],
)
def test_megacli_that_does_not_answer_about_battery_and_disks_is_unknown_about_them(said: Any, words: str) -> None:
    findings = with_megacli(**said)

    assert findings["c0"].status == "unknown" and words in findings["c0"].verdict.reason
    assert findings["c0/v0"].status == "ok"


def test_megacli_drive_that_writes_through_though_set_to_write_back_is_a_warning() -> None:
    policies = "Default Cache Policy: WriteBack, Direct\nCurrent Cache Policy: WriteThrough, Direct\nSpan: 0 -"
    text = outputs.megacli().replace("Span: 0 -", policies)
    finding = found(machine("megaraid_sas", megacli_says(text)))["c0"]

    assert finding.status == "warning" and "c0/v0: write-through" in finding.verdict.reason


def mpi3mr(show_all: Any, drives: Optional[str] = None, vendor: str = ADAPTEC) -> Dict[str, Finding]:
    tool = "perccli2" if vendor == DELL else "storcli2"
    asked = {
        "/call show all J": show_all,
        "/call/eall/sall show all J": drives or newer.storcli2_drives(),
        "/call/eall/sall show rebuild J": newer.STORCLI2_REBUILD,
    }
    return found(card("mpi3mr", vendor, {f"{tool} {words}": out for words, out in asked.items()}))


def test_megaraid_9600_is_read_through_storcli2_and_perc_12_through_perccli2() -> None:
    ours, dell = mpi3mr(newer.storcli2()), mpi3mr(newer.storcli2(), vendor=DELL)

    assert statuses(ours) == statuses(dell) == {"c0": "ok", "c0/v1": "ok"}
    assert ours["c0/v1"].verdict.reason == "raid10 Optl, 4 disks"
    assert ours["c0/v1"].facts["mirrors"] == (("slot 306:0", "slot 306:1"), ("slot 306:2", "slot 306:3"))


@pytest.mark.parametrize(
    ("drives", "virtual", "status", "words"),
    [
        (("Online", "Failed", "Online", "Online"), "Dgrd", "critical", "slot 306:1 failed or missing"),
        (
            ("Online", "Missing", "Online", "Online"),
            "Dgrd",
            "critical",
            "slot 306:0 alone holds the data of slot 306:1",
        ),
        (
            ("Online", "Rebuild", "Online", "Online"),
            "Dgrd",
            "warning",
            "rebuilding slot 306:1, 2 % done, about 0.3 h left",
        ),
        (("Failed", "Failed", "Online", "Online"), "OfLn", "critical", "data lost"),
        (("Online", "Various", "Online", "Online"), "Optl", "warning", "state Various"),
        (("Online",) * 4, "Fnord", "unknown", "Fnord"),
    ],
)
def test_the_states_of_an_array_behind_storcli2(drives: Any, virtual: str, status: str, words: str) -> None:
    finding = mpi3mr(newer.storcli2(drives, virtual))["c0/v1"]

    assert finding.status == status and words in finding.verdict.reason


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"status": "Need Attention"}, "warning", "controller status Need Attention"),
        ({"status": "Failed"}, "critical", "controller status Failed"),
        ({"pack": "Critical"}, "warning", "Supercap Critical: write cache not protected"),
        ({"cache": "NR,WT"}, "warning", "c0/v1: write-through although set to write-back"),
        ({"extra": [{"EID:Slt": "306:9", "State": "UConf", "Status": "Bad", "DG": "-"}]}, "warning", "306:9"),
        ({"extra": [{"EID:Slt": "306:9", "State": "UConf", "Status": "Good", "DG": "-"}]}, "ok", ""),
        ({"extra": [{"EID:Slt": "306:9", "State": "GHS", "Status": "Good", "DG": "-"}]}, "ok", ""),
    ],
)
def test_what_storcli2_says_against_a_controller(said: Any, status: str, words: str) -> None:
    finding = mpi3mr(newer.storcli2(**said))["c0"]

    assert finding.status == status and words in finding.verdict.reason


def test_a_predicted_failure_and_media_errors_behind_storcli2_are_told() -> None:
    drives = newer.storcli2_drives(**{"Predictive Failure Count": 2, "Media Error Count": 7})
    finding = mpi3mr(newer.storcli2(), drives)["c0/v1"]

    assert finding.status == "warning"
    assert "slot 306:1: 2 predictive failures" in finding.verdict.reason and "7 read errors" in finding.verdict.reason


def cached(cache: str, medium: str, battery: bool) -> Finding:
    """A controller of the first generation whose drive has this cache, over disks of this kind."""
    text = outputs.storcli().replace('"Access": "RW"', f'"Access": "RW", "Cache": "{cache}"')
    text = text.replace('"Size": "1.818 TB"', f'"Med": "{medium}"').replace("BBU_Info", "BBU_Info" if battery else "X")
    disks = outputs.drive_details("252:0")
    asked = {"/call show all J": text, "/call/eall/sall show all J": disks}
    return found(machine("megaraid_sas", {f"storcli64 {words}": out for words, out in asked.items()}))["c0"]


def test_write_through_over_hard_disks_behind_a_battery_is_a_warning_and_else_none() -> None:
    assert cached("NRWTD", "HDD", battery=True).status == "warning"
    assert "writes are slow" in cached("NRWTD", "HDD", battery=True).verdict.reason
    for cache, medium, battery in (("NRWTD", "SSD", True), ("NRWTD", "HDD", False), ("RWBD", "HDD", True)):
        assert cached(cache, medium, battery).status == "ok"


@pytest.mark.parametrize("driver", sorted(controllers.TOOLS_TO_ASK))
def test_a_driver_that_nobody_reads_is_unknown_and_named_with_its_tool(driver: str) -> None:
    (finding,) = found(machine(driver, {})).values()

    assert finding.status == "unknown" and finding.item == driver
    assert f"arrays of driver {driver} are not supported" in finding.verdict.reason
    assert controllers.TOOLS_TO_ASK[driver] in finding.verdict.reason


# The drivers of drivers/scsi and drivers/block of Linux 2.6.32 to 6.12 whose cards run arrays of their own
ARRAYS_OF_THEIR_OWN = (
    "3w-9xxx 3w-sas 3w-xxxx DAC960 aacraid arcmsr cciss dpt_i2o esas2r gdth hpsa hptiop ipr ips megaraid_legacy "
    "megaraid_mbox megaraid_sas mpi3mr mptsas mptspi mvumi myrb myrs pmcraid smartpqi stex"
)


@pytest.mark.parametrize("driver", ARRAYS_OF_THEIR_OWN.split())
def test_no_driver_whose_cards_run_arrays_is_passed_over_in_silence(driver: str) -> None:
    statuses = {finding.status for finding in found(machine(driver, {})).values()}

    assert statuses == {"unknown"}


def test_the_hba_that_vmware_imitates_is_no_raid_controller() -> None:
    (finding,) = found(card("mptspi", VMWARE, {})).values()

    assert finding.status == "skipped"


@pytest.mark.parametrize("driver", ["mpi3mr", "esas2r"])
def test_a_plain_hba_of_a_driver_of_raid_cards_is_no_raid_controller(driver: str) -> None:
    for pci_class, status in (("0x010700", "skipped"), ("0x010400", "unknown")):
        host = card(driver, DELL, {})
        host.files["/sys/bus/pci/devices/0000:03:00.0/class"] = f"{pci_class}\n"
        assert [finding.status for finding in found(host).values()] == [status]


def btrfs(**changes: str) -> Dict[str, Finding]:
    """A mirror of two devices as the kernel shows it (as made by tests/real/test_btrfs.py); a change names a file."""
    well = "write_errs 0\nread_errs 0\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n"
    told = {
        f"devinfo/{number}/{name}": word
        for number in "12"
        for name, word in (("missing", "0\n"), ("error_stats", well))
    }
    told.update({"devices/sdb": "", "devices/sdc": "", f"allocation/data/{changes.pop('profile', 'raid1')}/flags": "x"})
    told.update({name.replace("__", "/"): word for name, word in changes.items()})
    host = FakeHost(
        files={
            "/proc/self/mountinfo": "31 20 0:45 / /kafka/d1 rw,noatime - btrfs /dev/sdb rw\n",
            "/sys/block/sdb/size": "8",
            "/sys/block/sdc/size": "8",
            **{f"/sys/fs/btrfs/0a1b/{name}": word for name, word in told.items()},
        },
        answers={"disks": [], "link /dev/sdb": "/dev/sdb"},
        expected=Expected(roles=("broker",), mounts=(ExpectedMount("/kafka/d1"),)),
    )
    return found(host)


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({}, "ok", "raid1 all devices present, 2 disks"),
        ({"profile": "single"}, "ok", "single all devices present"),
        ({"devinfo__2__missing": "1\n"}, "critical", "raid1 array is degraded (1 of its devices missing)"),
        (
            {"devinfo__2__missing": "1\n", "profile": "raid0"},
            "critical",
            "raid0 array failed (1 of its devices missing)",
        ),
        (
            {"devinfo__1__error_stats": "read_errs 3\ncorruption_errs 4\n"},
            "warning",
            "device 1: 7 read, write or checksum",
        ),
        ({"profile": "raid99"}, "unknown", "unknown level"),
    ],
)
def test_a_btrfs_below_a_data_mount_is_an_array(changes: Dict[str, str], status: str, words: str) -> None:
    finding = btrfs(**changes)["btrfs /kafka/d1"]

    assert finding.status == status and words in finding.verdict.reason


def test_two_data_mounts_on_one_btrfs_are_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expected, "mount_paths", property(lambda _: ("/kafka/d1", "/kafka/d1")))

    assert list(btrfs()) == ["btrfs /kafka/d1"]


@given(st.text(max_size=40) | st.just("read_errs " + "9" * 5000))
def test_errors_of_a_btrfs_device_that_are_none_are_unknown(words: str) -> None:
    (finding,) = btrfs(devinfo__1__error_stats=words).values()

    assert finding.status in ("unknown", "ok", "warning")
    assert finding.status == "unknown" or any(word.isdecimal() for word in words.split())


def test_an_old_smart_array_is_read_through_ssacli() -> None:
    host = machine("cciss", {"ssacli ctrl all show config detail": outputs.ssacli()})

    assert all(status == "ok" for status in statuses(found(host)).values())


def boss(text: Any, model: str = "DELLBOSS VD", tool: str = "mvcli") -> Dict[str, Finding]:
    volume = Disk("sda", "physical", model, "BOSS1", "", 480 * 10**9, False, "ata", "s1", "8:0")
    return found(
        FakeHost(
            files={"/sys/block/sda/size": "8"},
            commands={f"{tool} info -o vd": Answer(0, text, "") if isinstance(text, str) else text},
            answers={"disks": [volume]},
        )
    )


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (newer.boss(), "ok", "raid1 functional, 2 disks"),
        (newer.boss("degraded", "degraded"), "critical", "raid1 array is degraded"),
        (newer.boss("functional", "degraded"), "critical", "raid1 array is degraded"),
        (newer.boss("degraded", "degraded", "running", "BGA progress:    rebuilding is 15% done\n"), "warning", "15 %"),
        (newer.boss("offline", "offline"), "critical", "offline"),
        (newer.boss("fnord", "optimal"), "unknown", "fnord"),
    ],
)
def test_the_mirror_of_a_dell_boss_card_is_read_through_mvcli(text: str, status: str, words: str) -> None:
    finding = boss(text)["boss vd 0"]

    assert finding.status == status and words in finding.verdict.reason


def test_a_boss_card_without_its_tool_is_unknown_and_names_it() -> None:
    (sata,) = boss("", tool="other").values()
    (nvme,) = boss("", "Dell BOSS-N1", tool="other").values()

    assert (sata.status, sata.item) == ("unknown", "boss") and "mvcli is not installed" in sata.verdict.reason
    assert "mnv_cli is not installed" in nvme.verdict.reason


@pytest.mark.parametrize("text", ["", "No Adapter Found", newer.boss().partition("Total")[0]])
def test_an_answer_of_mvcli_that_is_none_is_unknown(text: str) -> None:
    (finding,) = boss(text).values()

    assert finding.status == "unknown"


def pool(text: str, as_json: bool = False) -> Dict[str, Finding]:
    answers = {
        "zpool status -P -j": Answer(0, text, "") if as_json else Answer(2, "", "invalid option 'j'"),
        "zpool status -P": Answer(0, text, ""),
    }
    host = FakeHost(
        files={
            "/proc/self/mountinfo": "31 20 0:45 / /kafka/d1 rw,noatime - zfs tank/kafka rw\n",
            "/sys/block/sda/size": "8",
        },
        commands=answers,
        answers={"disks": []},
        expected=Expected(roles=("broker",), layout="raid10", mounts=(ExpectedMount("/kafka/d1"),)),
    )
    return found(host)


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (newer.zpool(), "ok", "raid10 ONLINE, 5 disks"),
        (
            newer.zpool(state="DEGRADED", mirror="DEGRADED", first="UNAVAIL"),
            "critical",
            "sdc1 alone holds the data of sdb1",
        ),
        (newer.zpool(state="DEGRADED", mirror="DEGRADED", first="FAULTED"), "critical", "raid10 array is degraded"),
        (newer.zpool(state="SUSPENDED"), "critical", "SUSPENDED"),
        (newer.zpool(checksums="12"), "warning", "sdb1: 12 read, write or checksum errors"),
        (newer.zpool(errors="2 data errors, use '-v' for a list"), "critical", "data damaged: 2 data errors"),
        (newer.zpool(scan="resilver in progress since Sun\n\t2.10G resilvered, 15.11% done"), "warning", "15.11 %"),
        (newer.zpool(state="FNORD"), "unknown", "FNORD"),
    ],
)
def test_the_pool_below_a_data_mount_is_an_array(text: str, status: str, words: str) -> None:
    findings = pool(text)

    assert findings["zpool tank"].status == status and words in findings["zpool tank"].verdict.reason
    assert findings["layout"].status == "ok"


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (newer.zpool_json(), "ok", "raid10 ONLINE, 4 disks"),
        (newer.zpool_json("DEGRADED", "UNAVAIL"), "critical", "sdc1 alone holds the data of sdb1"),
        (newer.zpool_json(checksums="1.2K"), "warning", "1200 read, write or checksum errors"),
        (newer.zpool_json(errors="2"), "critical", "2 data errors"),
        (newer.zpool_json(function="RESILVER", state_="SCANNING"), "ok", "raid10"),
    ],
)
def test_the_pool_is_read_as_json_where_zpool_prints_it(text: str, status: str, words: str) -> None:
    finding = pool(text, as_json=True)["zpool tank"]

    assert finding.status == status and words in finding.verdict.reason


def test_a_pool_that_zpool_does_not_tell_of_is_unknown_and_zpool_is_not_asked_without_one() -> None:
    findings = pool(newer.zpool().replace("tank", "other"))
    assert findings["zfs"].status == "unknown" and "does not list pool tank" in findings["zfs"].verdict.reason

    cut = pool(newer.zpool().partition("errors:")[0])
    assert cut["zfs"].status == "unknown" and "truncated" in cut["zfs"].verdict.reason

    (none,) = found(FakeHost(files={"/sys/block/sda/size": "8"}, answers={"disks": []})).values()
    assert none.status == "skipped"


READERS: Dict[str, Callable[[str], Any]] = {
    "arcconf": lambda text: arcconf.parse("1", text),
    "megacli disks": megacli.parse_disks,
    "megacli batteries": megacli.parse_batteries,
    "storcli2": storcli.parse,
    "storcli2 drives": storcli.parse_drives,
    "storcli2 rebuilds": storcli.parse_rebuilds,
    "mvcli": raid_boss.parse,
    "zpool": zfs.parse,
    "zpool json": zfs.parse,
}
TEXTS = {
    "arcconf": newer.smartraid(),
    "megacli disks": outputs.MEGACLI_DISKS,
    "megacli batteries": outputs.MEGACLI_BATTERY,
    "storcli2": newer.storcli2(),
    "storcli2 drives": newer.storcli2_drives(),
    "storcli2 rebuilds": newer.STORCLI2_REBUILD,
    "mvcli": newer.boss(),
    "zpool": newer.zpool(),
    "zpool json": newer.zpool_json(),
}


@pytest.mark.parametrize("name", sorted(READERS))
@given(data=st.data())
def test_what_a_tool_prints_cut_or_spoilt_is_an_answer_or_a_sentence(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 80) | st.just(len(text)))
    try:
        READERS[name](text[:start] + data.draw(st.text(max_size=30)) + text[start + length :])
    except CannotTell as error:
        assert str(error)


@pytest.mark.parametrize("name", sorted(READERS))
@given(text=st.text(max_size=300) | st.just("{" * 5000) | st.just(": \n" * 3000) | st.just("\t" + " " * 50_000))
def test_rubbish_of_a_tool_is_a_sentence_and_no_array(name: str, text: str) -> None:
    with pytest.raises(CannotTell):
        READERS[name](text)
