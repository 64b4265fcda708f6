"""raid behind controllers: hand-made outputs of their tools, whole and broken, and mutilated."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.expected import Expected, ExpectedMount
from agent.host import Answer, CannotTell, Host, Stuck
from agent.sources.raid import arcconf, megacli, ssacli, storcli
from agent.sources.smart import report as smart_report
from agent.sources.smart import smartctl
from agent.status import Finding
from tests.agent.sources.raid import outputs
from tests.machine import FakeHost, by_item, run_checks

ALL = "/call show all J"
DRIVES = "/call/eall/sall show all J"


def machine(driver: str, commands: Mapping[str, Any], expected: Optional[Expected] = None) -> FakeHost:
    files = {f"/sys/bus/pci/drivers/{driver}/0000:03:00.0": "", "/sys/block/sda/size": "8"}
    answers = {command: Answer(0, out, "") if isinstance(out, str) else out for command, out in commands.items()}
    return FakeHost(files=files, commands=answers, expected=expected, answers={"disks": []})


WELL = outputs.drive_details("252:0")


def megaraid(show_all: Any, drives: Any = WELL, rebuild: Any = outputs.REBUILD) -> FakeHost:
    commands = {ALL: show_all, DRIVES: drives, "/call/eall/sall show rebuild J": rebuild}
    return machine("megaraid_sas", {f"storcli64 {words}": out for words, out in commands.items()})


def found(host: FakeHost) -> Dict[str, Finding]:
    return by_item(run_checks(host, "raid"))


def megacli_says(
    text: str, disks: Any = outputs.MEGACLI_DISKS, battery: Any = outputs.MEGACLI_BATTERY
) -> Dict[str, Any]:
    """MegaCli's three answers."""
    asked = {"-LDPDInfo -aALL": text, "-PDList -aALL": disks, "-AdpBbuCmd -GetBbuStatus -aALL": battery}
    return {f"MegaCli64 {words} -NoLog": answer for words, answer in asked.items()}


def smart_array(text: str) -> Dict[str, Finding]:
    return found(machine("smartpqi", {"ssacli ctrl all show config detail": text}))


def test_a_whole_array_behind_storcli_is_ok_and_so_is_its_controller() -> None:
    findings = found(megaraid(outputs.storcli()))

    assert {item: finding.status for item, finding in findings.items()} == {"c0": "ok", "c0/v0": "ok"}
    assert findings["c0/v0"].verdict.reason == "raid10 Optl, 4 disks"


def test_a_failed_drive_behind_storcli_is_critical_and_names_its_slot_and_its_mirror() -> None:
    finding = found(megaraid(outputs.storcli(("Onln", "Onln", "Failed", "Onln"), "Dgrd")))["c0/v0"]

    assert (finding.status, finding.verdict.playbook) == ("critical", "replace-raid10-disk")
    assert "slot 252:2 failed or missing; slot 252:3 alone holds the data of slot 252:2" in finding.verdict.reason


def test_a_missing_drive_is_critical() -> None:
    finding = found(megaraid(outputs.storcli(("Msng", "Onln", "Onln", "Onln"), "Dgrd")))["c0/v0"]

    assert finding.status == "critical" and "missing drive (row 0)" in finding.verdict.reason


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"Predictive Failure Count": 2}, "2 predictive failures"),
        ({"S.M.A.R.T alert flagged by drive": "Yes"}, "a SMART alert"),
        ({"Media Error Count": 7}, "7 read errors"),
    ],
)
def test_the_mirror_of_a_failed_drive_that_its_controller_complains_of(state: Dict[str, Any], words: str) -> None:
    show_all = outputs.storcli(("Onln", "Onln", "Failed", "Onln"), "Dgrd")
    finding = found(megaraid(show_all, drives=outputs.drive_details("252:3", **state)))["c0/v0"]

    assert finding.status == "critical"
    assert f"its mirror slot 252:3 has {words}: one failure from data loss" in finding.verdict.reason


def test_the_mirror_is_asked_for_its_smart_data_through_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read(host: Host, path: str, kind: str) -> smart_report.Facts:
        asked.append((path, kind))
        return smart_report.Facts(kind="scsi", passed=True, grown_defects=8)

    monkeypatch.setattr(smartctl, "read", read)
    host = megaraid(outputs.storcli(("Onln", "Onln", "Failed", "Onln"), "Dgrd"))
    host.files["/sys/class/scsi_host/host4/proc_name"] = "megaraid_sas\n"

    assert "its mirror slot 252:3 has 8 grown defects" in found(host)["c0/v0"].verdict.reason
    assert set(asked) == {("/dev/bus/4", "megaraid,13")}, "the answer is kept for the run"


def test_a_drive_that_is_predicted_to_fail_is_a_warning() -> None:
    details = outputs.drive_details("252:1", **{"Predictive Failure Count": 1})
    finding = found(megaraid(outputs.storcli(), drives=details))["c0/v0"]

    assert (finding.status, finding.verdict.reason) == ("warning", "slot 252:1: 1 predictive failures")


def test_both_drives_of_a_mirror_are_lost_data_and_one_of_each_is_not() -> None:
    both = found(megaraid(outputs.storcli(("Onln", "Onln", "Failed", "Failed"), "OfLn")))["c0/v0"]
    each = found(megaraid(outputs.storcli(("Onln", "Failed", "Failed", "Onln"), "Dgrd")))["c0/v0"]

    assert "data lost: slot 252:2 and slot 252:3" in both.verdict.reason
    assert each.status == "critical" and "data lost" not in each.verdict.reason


def test_a_rebuild_is_a_warning_with_percent_and_estimate() -> None:
    finding = found(megaraid(outputs.storcli(("Onln", "Onln", "Rbld", "Onln"), "Dgrd")))["c0/v0"]

    assert finding.status == "warning"
    assert finding.verdict.reason == "raid10 array: rebuilding slot 252:2, 23 % done, about 3.1 h left"


def test_a_rebuild_whose_progress_cannot_be_asked_is_told_all_the_same() -> None:
    host = megaraid(outputs.storcli(("Onln", "Onln", "Rbld", "Onln"), "Dgrd"), rebuild=Stuck("storcli64", 20))

    assert found(host)["c0/v0"].verdict.reason == "raid10 array: rebuilding slot 252:2, progress unknown"


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (outputs.storcli(battery="Degraded"), "warning", "BBU Degraded: write cache not protected"),
        (outputs.storcli(status={"Controller Status": "Needs Attention"}), "warning", "Needs Attention"),
        (outputs.storcli(status={"Controller Status": "Failed"}), "critical", "controller status Failed"),
        (outputs.storcli(status={"Memory Uncorrectable Errors": 1}), "critical", "1 uncorrectable errors"),
        (outputs.storcli(extra=[outputs.disk("252:5", "UBad")]), "warning", "slot 252:5"),
        (outputs.storcli(extra=[outputs.disk("252:5", "UGood", "F")]), "warning", "foreign disk in slot 252:5"),
        (outputs.storcli(extra=[outputs.disk("252:5", "UGood"), outputs.disk("252:6", "GHS")]), "ok", ""),
        (outputs.storcli(extra=[outputs.disk("252:5", "JBOD")]), "ok", ""),
        (outputs.storcli(status={"Any Offline VD Cache Preserved": "Yes"}), "warning", "unwritten data"),
    ],
)
def test_what_the_controller_says_of_itself(text: str, status: str, words: str) -> None:
    finding = found(megaraid(text))["c0"]

    assert finding.status == status and words in finding.verdict.reason


@pytest.mark.parametrize(
    ("virtual", "status"),
    [("Optl", "ok"), ("Dgrd", "critical"), ("Pdgd", "critical"), ("OfLn", "critical"), ("Rec", "warning")],
)
def test_the_states_of_a_virtual_drive(virtual: str, status: str) -> None:
    assert found(megaraid(outputs.storcli(virtual=virtual)))["c0/v0"].status == status


def test_a_state_that_nobody_knows_is_unknown() -> None:
    assert found(megaraid(outputs.storcli(virtual="Quux")))["c0/v0"].status == "unknown"


def test_a_drive_that_failed_under_an_array_that_calls_itself_optimal_is_critical() -> None:
    assert found(megaraid(outputs.storcli(("Onln", "Failed", "Onln", "Onln"))))["c0/v0"].status == "critical"


def test_the_text_of_storcli_says_the_same_as_its_json() -> None:
    (controller,) = storcli.parse(outputs.STORCLI_TEXT)
    (array,) = controller.arrays

    assert (controller.name, controller.model, controller.disks) == ("c0", "PERC H730P Mini", 5)
    assert set(controller.troubles) == {
        "disk in slot 252:4 (ST2000NM0135) is UBad",
        "CVPM05 Failed: write cache not protected",
    }
    assert (array.name, array.level, array.state, array.groups) == ("c0/v0", "raid10", "degraded", ((0, 1), (2, 3)))
    assert [member.state for member in array.members] == ["online", "online", "rebuilding", "online"]
    assert found(megaraid(outputs.STORCLI_TEXT))["c0/v0"].status == "warning"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        '{"Controllers": 3}',
        '{"Controllers": [{"Command Status": {"Status": "Failure", "Description": "No Controller found"}}]}',
        outputs.whole({}),
        outputs.whole({"Virtual Drives": 2, "VD LIST": [], "Basics": {"Controller": 0}}),
        outputs.storcli()[:300],
        "Status = Failure\nDescription = Controller 0 not found\n",
        "Controller = 0\nStatus = Failure\nDescription = Controller 0 not found\n",
    ],
)
def test_an_answer_that_lists_nothing_is_unknown(text: str) -> None:
    (finding,) = found(megaraid(text)).values()

    assert finding.status == "unknown"


def test_a_controller_without_its_tool_is_unknown_and_names_the_package() -> None:
    host = machine("megaraid_sas", {})
    dell = machine("megaraid_sas", {})
    dell.files["/sys/bus/pci/devices/0000:03:00.0/subsystem_vendor"] = "0x1028\n"

    assert found(host)["megaraid_sas"].verdict.reason == "storcli64 is not installed (package storcli from Broadcom)"
    assert found(dell)["megaraid_sas"].verdict.reason == "perccli64 is not installed (package perccli from Dell)"
    assert found(machine("hpsa", {}))["hpsa"].verdict.reason == "ssacli is not installed (package ssacli from HPE)"


def test_two_cards_of_which_the_tool_shows_one_are_unknown() -> None:
    host = megaraid(outputs.storcli())
    host.files["/sys/bus/pci/drivers/megaraid_sas/0000:04:00.0"] = ""

    assert found(host)["megaraid_sas"].status == "unknown"


def test_a_controller_that_hangs_hides_no_other() -> None:
    host = megaraid(Stuck("storcli64 /call show all J", 20))
    host.files["/sys/block/md0/md/array_state"] = "clean\n"
    host.files["/sys/block/md0/md/level"] = "raid1\n"
    findings = found(host)

    assert (findings["megaraid_sas"].status, findings["md0"].status) == ("unknown", "ok")


def test_the_driver_of_no_card_is_no_controller() -> None:
    host = FakeHost(files={"/sys/bus/pci/drivers/megaraid_sas/bind": "", "/sys/block/sda/size": "8"})

    assert found(host)["-"].status == "skipped"


@pytest.mark.parametrize(
    ("state", "status"), [("active", "ok"), ("degraded", "critical"), ("resyncing", "warning"), ("odd", "unknown")]
)
def test_the_volumes_of_a_plain_hba_are_read_from_the_kernel(state: str, status: str) -> None:
    base = "/sys/class/raid_devices/0:1:0:0"
    files = {f"{base}/state": state, f"{base}/level": "raid1", "/sys/block/sda/size": "8"}

    assert found(FakeHost(files=files))["volume 0:1:0:0"].status == status


def test_a_virtual_drive_is_found_below_its_mount() -> None:
    host = megaraid(outputs.storcli())
    host.expected = Expected(layout="jbod", mounts=(ExpectedMount("/kafka/d1"),))
    host.files["/sys/class/scsi_host/host4/proc_name"] = "megaraid_sas\n"
    host.files["/proc/self/mountinfo"] = "30 1 8:0 / /kafka/d1 rw - xfs /dev/sda rw\n"
    host.answers["link /sys/dev/block/8:0"] = "/sys/devices/block/sda"
    host.answers["link /sys/block/sda/device"] = "/sys/devices/pci0000:00/host4/target4:2:0/4:2:0:0"
    finding = found(host)["layout"]

    assert (finding.status, finding.verdict.reason) == (
        "warning",
        "layout raid10, the inventory expects jbod",
    )


def test_a_whole_array_behind_ssacli_is_ok() -> None:
    findings = smart_array(outputs.ssacli())

    assert {item: finding.status for item, finding in findings.items()} == {"slot 0": "ok", "slot 0 ld 1": "ok"}


def test_a_failed_drive_behind_ssacli_names_its_mirror_from_the_other_group() -> None:
    text = outputs.ssacli(("OK", "OK", "Failed", "OK"), "Interim Recovery Mode")
    finding = smart_array(text)["slot 0 ld 1"]

    assert finding.status == "critical"
    assert "disk 1I:1:1 alone holds the data of disk 1I:1:3" in finding.verdict.reason


def test_a_failed_drive_whose_mirror_is_predicted_to_fail_is_one_failure_from_data_loss() -> None:
    text = outputs.ssacli(("Predictive Failure", "OK", "Failed", "OK"), "Interim Recovery Mode")
    finding = smart_array(text)["slot 0 ld 1"]

    assert "its mirror disk 1I:1:1 has status Predictive Failure: one failure from data loss" in finding.verdict.reason


def test_a_recovery_behind_ssacli_is_a_warning_with_percent() -> None:
    text = outputs.ssacli(("OK", "OK", "Rebuilding", "OK"), "Recovering, 26% complete")
    finding = smart_array(text)["slot 0 ld 1"]

    assert finding.status == "warning"
    assert "rebuilding disk 1I:1:3, 26 % done" in finding.verdict.reason


@pytest.mark.parametrize(
    ("logical", "status"),
    [
        ("OK", "ok"),
        ("Failed", "critical"),
        ("Interim Recovery Mode", "critical"),
        ("Ready for Rebuild", "critical"),
        ("Recovering, 1.5% complete", "warning"),
        ("Fnord", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_states_of_a_logical_drive(logical: str, status: str) -> None:
    assert smart_array(outputs.ssacli(logical=logical))["slot 0 ld 1"].status == status


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"controller": "Failed"}, "critical"),
        ({"cache": "Temporarily Disabled"}, "warning"),
        ({"cache": "Permanently Disabled"}, "warning"),
        ({"battery": "Failed (Replace Batteries/Capacitors)"}, "warning"),
        ({"battery": "Recharging"}, "ok"),
        ({"unassigned": "Predictive Failure"}, "warning"),
    ],
)
def test_what_a_smart_array_says_of_itself(changes: Dict[str, str], status: str) -> None:
    assert smart_array(outputs.ssacli(**changes))["slot 0"].status == status


def test_the_short_list_of_ssacli_is_read_too() -> None:
    findings = smart_array(outputs.SSACLI_SHORT)

    assert {item: finding.status for item, finding in findings.items()} == {
        "slot 0": "ok",
        "slot 0 ld 1": "warning",
        "slot 0 ld 2": "warning",
    }
    assert "Predictive Failure" in findings["slot 0 ld 1"].verdict.reason
    assert "rebuilding disk 1I:1:5, 26 % done" in findings["slot 0 ld 2"].verdict.reason


@pytest.mark.parametrize("text", ["", "Error: No controllers detected.\n", "\n   Array: A\n", "Smart HBA in Slot 1\n"])
def test_an_answer_of_ssacli_that_lists_nothing_is_unknown(text: str) -> None:
    (finding,) = smart_array(text).values()

    assert finding.status == "unknown"


def test_a_tool_that_ended_badly_is_unknown_whatever_it_printed() -> None:
    host = machine("hpsa", {"ssacli ctrl all show config detail": Answer(1, outputs.ssacli(), "Error: timeout\n")})
    (finding,) = found(host).values()

    assert (finding.status, "exit code 1" in finding.verdict.reason) == ("unknown", True)


CAGE = "   Drive Cage at Port 1I, Box 1, {}\n      Fan Status: {}\n   Array: A"


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("Array: A\n      Interface Type: SAS\n      Status: OK", "Array: A\n      Status: Fnord", "warning"),
        ("   Array: A", CAGE.format("Failed", "OK"), "warning"),
        ("   Array: A", CAGE.format("OK", "Failed"), "warning"),
        ("   Array: A", CAGE.format("OK", "OK"), "ok"),
    ],
)
def test_what_lies_around_the_arrays_of_a_smart_array(old: str, new: str, status: str) -> None:
    text = outputs.ssacli()

    assert old in text
    assert smart_array(text.replace(old, new))["slot 0"].status == status


def test_an_array_of_which_no_disk_is_listed_is_unknown() -> None:
    text = outputs.ssacli()
    cut = text[: text.index("         Mirror Group")]

    assert smart_array(cut)["slot 0 ld 1"].status == "unknown"
    assert found(megaraid(outputs.storcli(drives=())))["c0/v0"].status == "unknown"


def test_a_dedicated_spare_of_a_drive_group_mirrors_nobody() -> None:
    answer = json.loads(outputs.storcli())
    response = answer["Controllers"][0]["Response Data"]
    spare = {"DG": 0, "Arr": "-", "Row": "-", "EID:Slot": "252:5", "DID": 15, "Type": "DRIVE", "State": "DHS"}
    response["TOPOLOGY"].append(spare)

    assert found(megaraid(json.dumps(answer)))["c0/v0"].status == "ok"


def test_a_state_that_only_the_topology_or_only_the_list_of_disks_gives_counts() -> None:
    answer = json.loads(outputs.storcli())
    response = answer["Controllers"][0]["Response Data"]
    response["PD LIST"][2]["State"] = "Failed"
    degraded = json.loads(outputs.storcli())
    degraded["Controllers"][0]["Response Data"]["TOPOLOGY"][0]["State"] = "Dgrd"

    assert found(megaraid(json.dumps(answer)))["c0/v0"].status == "critical"
    assert found(megaraid(json.dumps(degraded)))["c0/v0"].status == "critical"


def test_the_answer_to_another_question_is_read_by_its_columns() -> None:
    answer = {
        "/c0/v0": [{"DG/VD": "0/0", "TYPE": "RAID10", "State": "Dgrd"}],
        "PDs for VD 0": [outputs.disk("252:0", "Onln", 0), outputs.disk("252:1", "Offln", 0)],
    }

    assert found(megaraid(outputs.whole(answer)))["c0/v0"].status == "critical"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (outputs.megacli(), "ok"),
        (outputs.megacli("Degraded", ("Failed", "Online, Spun Up")), "critical"),
        (outputs.megacli("Degraded", ("Rebuild", "Online, Spun Up")), "warning"),
        (outputs.megacli("Offline", ("Failed", "Failed")), "critical"),
        (outputs.megacli(predictive="3"), "warning"),
        (outputs.megacli("Fnord"), "unknown"),
    ],
)
def test_megacli_is_asked_where_storcli_is_not_there(text: str, status: str) -> None:
    findings = found(machine("megaraid_sas", megacli_says(text)))

    assert findings["c0/v0"].status == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (outputs.arcconf(), "ok"),
        (outputs.arcconf("Degraded", ("Present", "Missing", "Present", "Present")), "critical"),
        (outputs.arcconf("Degraded, Rebuilding", ("Present", "Rebuilding", "Present", "Present")), "warning"),
        (outputs.arcconf("Failed", ("Missing", "Missing", "Present", "Present")), "critical"),
        (outputs.arcconf("Fnord"), "unknown"),
    ],
)
def test_the_states_of_an_adaptec_array(text: str, status: str) -> None:
    findings = found(machine("aacraid", {"arcconf getconfig 1": text}))

    assert findings["adaptec 1 ld 0"].status == status


WELL_FORMED = {
    "storcli": (storcli.parse, outputs.storcli(("Onln", "Failed", "Rbld", "Msng"), "Dgrd")),
    "storcli_text": (storcli.parse, outputs.STORCLI_TEXT),
    "ssacli": (ssacli.parse, outputs.ssacli(("OK", "Failed", "Rebuilding", "OK"), "Recovering, 2% complete")),
    "ssacli_short": (ssacli.parse, outputs.SSACLI_SHORT),
    "megacli": (megacli.parse, outputs.megacli()),
    "arcconf": (lambda text: [arcconf.parse("1", text)], outputs.arcconf()),
    "rebuilds": (lambda text: list(storcli.parse_rebuilds(text)), outputs.REBUILD),
    "drives": (lambda text: list(storcli.parse_drives(text)), outputs.drive_details("1:2")),
}


@given(st.sampled_from(sorted(WELL_FORMED)), st.data())
def test_a_mutilated_output_gives_something_or_cannot_be_told(kind: str, data: st.DataObject) -> None:
    parse, text = WELL_FORMED[kind]
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    mutilated = text[:start] + data.draw(st.one_of(st.just(""), st.text(max_size=30))) + text[end:]
    try:
        assert parse(mutilated) or kind in ("rebuilds", "drives")
    except CannotTell as error:
        assert "\n" not in str(error)


KEYS = ["Basics", "VD LIST", "PD LIST", "TOPOLOGY", "Status", "DG", "State", "EID:Slt", "DG/VD", "Type"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON)
def test_any_json_gives_findings_and_no_exception(answer: Any) -> None:
    for finding in run_checks(megaraid(outputs.whole(answer), drives="", rebuild=""), "raid"):
        assert "the check failed" not in finding.verdict.reason


@given(st.sampled_from(["megaraid_sas", "smartpqi", "aacraid"]), st.text(max_size=200))
def test_rubbish_is_unknown_and_never_ok(driver: str, text: str) -> None:
    commands = {"storcli64 " + ALL: text, "ssacli ctrl all show config detail": text, "arcconf getconfig 1": text}
    (finding,) = run_checks(machine(driver, commands), "raid")

    assert finding.status == "unknown" and "the check failed" not in finding.verdict.reason


CUTS = {
    "storcli": ("megaraid_sas", f"storcli64 {ALL}", outputs.storcli()),
    "ssacli": ("smartpqi", "ssacli ctrl all show config detail", outputs.ssacli()),
    "megacli": ("megaraid_sas", "MegaCli64 -LDPDInfo -aALL -NoLog", outputs.megacli()),
    "arcconf": ("aacraid", "arcconf getconfig 1", outputs.arcconf()),
}


@pytest.mark.parametrize("kind", sorted(CUTS))
def test_an_output_that_breaks_off_at_any_line_never_leaves_an_array_with_fewer_disks_and_well(kind: str) -> None:
    driver, command, text = CUTS[kind]
    told = {item: finding for item, finding in found(machine(driver, {command: text})).items() if finding.facts}
    rows = text.splitlines(keepends=True)
    for end in range(len(rows)):
        for item, finding in found(machine(driver, {command: "".join(rows[:end])})).items():
            assert "the check failed" not in finding.verdict.reason
            if finding.status == "ok" and finding.facts["kind"] == "array":
                assert finding.facts["disks"] == told[item].facts["disks"], (end, finding)


def test_a_controller_that_is_in_trouble_is_told_of_though_the_list_of_its_disks_breaks_off() -> None:
    drive = "      physicaldrive 9I:9:9 (port 9I:box 9:bay 9, SAS, 1 TB, OK)\n\n"
    box = f"   Internal Drive Cage at Port 9I, Box 9, OK\n\n{drive}"
    for logical, status in (("OK", "unknown"), ("Interim Recovery Mode", "critical")):
        start, array, rest = outputs.ssacli(logical=logical).partition("   Array: A")
        findings = smart_array(start + box + array + rest)

        assert status in {finding.status for finding in findings.values()}, findings
