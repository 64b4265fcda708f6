"""power: one of two power supplies dies, loses its feed or vanishes, and the word `ok` stands beside it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.checks.hardware import power
from agent.expected import Bmc, Expected
from agent.host import NoPermission, Stuck, ToolMissing
from agent.status import Finding
from tests.agent.sources.bmc.handmade_bmc import HEALTHY, OLD_ROW, changed, commands, later, machine, told, without
from tests.machine import FakeHost, by_item, next_run, run_checks

WELL = power.Facts(
    part="PS1", present=True, faults=(), states=("Presence detected",), notes=(), is_listed=True, was_seen=True, seen=2,
    expected=None, fitted=2, healthy_others=("PS2",), kinds=(), clocks=(), hours_ago=(), log_read=True,
)  # fmt: skip
REDUNDANCY = WELL._replace(part="redundancy", present=None, states=("Fully Redundant",), was_seen=False)

AC_LOST = "   2 | 11/18/26 | 02:58:10 UTC | Power Supply #0xc9 | Power Supply AC lost | Asserted"
AC_BACK = "   3 | 11/18/26 | 03:01:00 UTC | Power Supply #0xc9 | Power Supply AC lost | Deasserted"


def found(host: FakeHost) -> dict[str, Finding]:
    return by_item(run_checks(host, "power"))


def only(host: FakeHost) -> Finding:
    (finding,) = found(host).values()
    return finding


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "ok"),
        ({"faults": ("failed",)}, "critical"),
        ({"faults": ("ac_lost",)}, "critical"),
        ({"faults": ("ac_lost_or_out_of_range",)}, "critical"),
        ({"faults": ("ac_out_of_range",)}, "warning"),
        ({"faults": ("predicted",)}, "warning"),
        ({"faults": ("config_error",)}, "warning"),
        ({"notes": ("PS1 Input 90 Volts (lcr)",)}, "warning"),
        ({"present": False, "fitted": 1}, "critical"),
        ({"present": False, "fitted": 1, "was_seen": False, "seen": 1}, "ok"),
        ({"present": False, "fitted": 1, "was_seen": False, "seen": 0, "expected": 2}, "critical"),
        ({"present": False, "fitted": 1, "expected": 1}, "ok"),
        ({"present": False, "fitted": 2, "expected": 2}, "ok"),
        ({"present": False, "fitted": 1, "was_seen": False, "expected": 2, "is_listed": False}, "unknown"),
        ({"present": False, "fitted": 0}, "unknown"),
        ({"present": False, "fitted": 0, "was_seen": False, "seen": 0}, "unknown"),
        ({"present": None, "fitted": 1}, "unknown"),
        ({"present": None, "fitted": 1, "was_seen": False, "states": ()}, "skipped"),
        ({"present": None, "fitted": 1, "was_seen": False, "states": ("Running",)}, "unknown"),
        ({"present": None, "fitted": 1, "was_seen": False, "expected": 2}, "unknown"),
        ({"kinds": ("ac_lost",), "clocks": ("02:58Z",), "hours_ago": (23.99,)}, "warning"),
        ({"kinds": ("ac_lost",), "clocks": ("02:58Z",), "hours_ago": (24.0,)}, "ok"),
        ({"kinds": ("removed",), "clocks": ("02:58Z",), "hours_ago": (1.0,)}, "warning"),
    ],
)
def test_the_edges_of_a_power_supply(change: dict[str, Any], status: str) -> None:
    assert power.judge(WELL._replace(**change), power.LIMITS).status == status


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "ok"),
        ({"states": ()}, "skipped"),
        ({"states": ("Redundancy Lost",)}, "critical"),
        ({"states": ("Non-Redundant: Insufficient Resources",)}, "critical"),
        ({"states": ("Redundancy Degraded",)}, "warning"),
        ({"states": ("Non-Redundant: Sufficient from Redundant",)}, "warning"),
        ({"states": ("Non-Redundant: Sufficient from Redundant",), "fitted": 1, "seen": 1}, "ok"),
        ({"states": ("Redundancy Lost",), "fitted": 1, "seen": 1}, "ok"),
        ({"states": ("Redundancy Lost",), "fitted": 1, "seen": 1, "expected": 2}, "critical"),
        ({"states": ("Redundancy Lost",), "fitted": 1, "seen": 2}, "critical"),
    ],
)
def test_the_edges_of_redundancy(change: dict[str, Any], status: str) -> None:
    assert power.judge(REDUNDANCY._replace(**change), power.LIMITS).status == status


def test_a_healthy_machine_raises_no_alarm() -> None:
    assert {item: finding.status for item, finding in found(machine()).items()} == {
        "PS1": "ok",
        "PS2": "ok",
        "redundancy": "ok",
    }


def test_the_ok_beside_a_failed_power_supply_is_not_believed() -> None:
    failed = found(machine(changed("PS1 Status", "Presence detected, Failure detected")))

    assert failed["PS1"].status == "critical"
    assert failed["PS1"].verdict == ("critical", "PS1 has failed, PS2 ok: no redundancy", "lost-psu")
    assert failed["PS2"].status == "ok"


def test_the_reason_names_the_time_and_what_is_left() -> None:
    sensors = changed("PS2 Status", "Presence detected, Power Supply AC lost")
    finding = found(machine(sensors, [OLD_ROW, AC_LOST]))["PS2"]

    assert finding.verdict.reason == "PS2 lost AC 02:58Z, PS1 ok: no redundancy"


def test_two_that_are_out_leave_none() -> None:
    sensors = changed("PS1 Status", "Presence detected, Failure detected")
    sensors = changed("PS2 Status", "Presence detected, Power Supply AC lost", listing=sensors)

    assert "no other power supply is known to be ok" in found(machine(sensors))["PS1"].verdict.reason


def test_a_feed_that_came_back_is_a_warning_for_a_day_told_once_and_then_ok() -> None:
    first = machine(log=[OLD_ROW, AC_LOST, AC_BACK])
    told_first = found(first)["PS2"]
    second = later(first)
    told_again = found(second)["PS2"]
    next_day = later(second, 24 * 3600)

    assert (told_first.status, told_first.verdict.reason) == ("warning", "PS2 lost AC 02:58Z, recovered since")
    assert told_again.verdict == told_first.verdict and told_again.first_seen == told_first.first_seen
    assert found(next_day)["PS2"].status == "ok"


def test_one_that_is_pulled_is_absent_and_ok_again_when_it_is_back() -> None:
    first = machine()
    found(first)
    pulled = later(first, asked=commands(changed("PS2 Status", "")))
    absent = found(pulled)
    back = later(pulled, asked=commands())

    assert absent["PS2"].verdict == ("critical", "PS2 is absent, PS1 ok: no redundancy", "lost-psu")
    assert found(back)["PS2"].status == "ok"


def test_one_whose_sensor_vanishes_is_not_forgotten() -> None:
    first = machine()
    found(first)
    gone = found(later(first, asked=commands(without("PS2 Status"))))

    assert gone["PS2"].status == "critical"


def test_one_that_a_listing_cut_short_does_not_name_is_unknown() -> None:
    first = machine()
    found(first)
    cut = {**commands(), "ipmitool sdr elist": told(HEALTHY.splitlines()[0] + "\n", code=1, err="Get SDR 00c9 failed")}

    assert found(later(first, asked=cut))["PS2"].status == "unknown"


def test_new_names_after_a_firmware_update_are_no_loss() -> None:
    first = machine()
    found(first)
    renamed = commands(HEALTHY.replace("PS1 Status", "PSU1 Status").replace("PS2 Status", "PSU2 Status"))
    second = later(first, asked=renamed)
    found(second)

    assert {item for item, finding in found(later(second)).items() if finding.status != "ok"} == set()


def test_an_empty_slot_of_ever_is_fine_and_an_expected_one_is_not() -> None:
    sensors = changed("PS2 Status", "")

    assert found(machine(sensors))["PS2"].status == "ok"
    assert found(machine(sensors, expected=Expected(psus=2)))["PS2"].status == "critical"
    assert found(machine(sensors, expected=Expected(psus=1)))["PS2"].status == "ok"


def test_a_power_supply_that_the_inventory_expects_and_the_bmc_does_not_know_is_a_row() -> None:
    items = found(machine(without("PS2 Status"), expected=Expected(psus=2)))

    assert items["power supply 2 of 2"].verdict.reason == "the inventory expects 2 power supplies, the BMC lists 1"
    assert items["power supply 2 of 2"].status == "unknown"


def test_a_log_that_cannot_be_read_hides_no_fault() -> None:
    host = machine(changed("PS1 Status", "Presence detected, Failure detected"))
    host.commands["ipmitool sel info"] = Stuck("ipmitool", 8.0)

    assert {item: finding.status for item, finding in found(host).items()}["PS1"] == "critical"


@pytest.mark.parametrize(
    ("bmc", "files", "status", "reason"),
    [
        (Bmc(), {}, "skipped", "no BMC device /dev/ipmi0"),
        (Bmc("none"), {"/dev/ipmi0": ""}, "skipped", "no BMC in this inventory"),
        (Bmc("inband"), {}, "unknown", "no BMC device /dev/ipmi0, although bmc.via is inband"),
        (Bmc("lan"), {}, "unknown", "the inventory has no bmc.address"),
        (Bmc("serial"), {}, "unknown", "expected inband, lan or none"),
        (Bmc(), {"/dev/ipmi0": NoPermission("needs root: /dev/ipmi0")}, "unknown", "needs root: /dev/ipmi0"),
    ],
)
def test_whether_there_is_a_bmc_to_ask(bmc: Bmc, files: dict[str, Any], status: str, reason: str) -> None:
    finding = only(FakeHost(files, commands(), expected=Expected(bmc=bmc)))

    assert finding.status == status and reason in finding.verdict.reason


@pytest.mark.parametrize(
    ("command", "answer", "reason"),
    [
        ("ipmitool chassis status", Stuck("ipmitool", 12), "the BMC (chassis status) timed out after 12 s"),
        ("ipmitool sdr elist", Stuck("ipmitool", 28), "the BMC (sdr elist) timed out after 28 s"),
        (
            "ipmitool chassis status",
            told("", 1, "Could not open device at /dev/ipmi0 or /dev/ipmi/0: No such file or directory\n"),
            "ipmitool cannot open /dev/ipmi0: Could not open device",
        ),
        ("ipmitool sdr elist", told("", 1, "Unable to open SDR for reading\n"), "Unable to open SDR for reading"),
        ("ipmitool sdr elist", told("", 0), "listed no sensors"),
        ("ipmitool chassis status", ToolMissing("ipmitool is not installed (package ipmitool)"), "not installed"),
    ],
)  # fmt: skip
def test_a_bmc_that_gives_no_answer_is_one_unknown_with_its_reason(command: str, answer: Any, reason: str) -> None:
    host = machine()
    host.commands[command] = answer
    finding = only(host)

    assert finding.status == "unknown" and reason in finding.verdict.reason


def test_a_bmc_without_such_sensors_is_skipped_unless_the_inventory_expects_some() -> None:
    sensors = "FAN1             | 41h | ok  | 29.1 | 5400 RPM\n"

    assert only(machine(sensors)).status == "skipped"
    assert {finding.status for finding in found(machine(sensors, expected=Expected(psus=2))).values()} == {"unknown"}


def test_a_refused_cipher_suite_is_followed_by_the_old_one() -> None:
    lan = "ipmitool -I lanplus -H 192.0.2.9 -p 623 -U ops -E -L USER -C {} {}"
    refused = told(
        "", 1, "Error in open session response message : invalid authentication algorithm\n\nError: Unable …"
    )
    answers = {lan.format(3, words.replace("ipmitool ", "")): answer for words, answer in commands().items()}
    answers[lan.format(3, "-v chassis status")] = answers.pop(lan.format(3, "chassis status"))
    answers[lan.format(17, "-v chassis status")] = refused
    host = FakeHost({}, answers, expected=Expected(bmc=Bmc("lan", "192.0.2.9", 623, "ops")))

    assert {finding.status for finding in found(host).values()} == {"ok"}


rubbish = st.one_of(
    st.text(max_size=300),
    st.tuples(st.integers(0, 900), st.integers(0, 900), st.text(max_size=6)).map(
        lambda cut: HEALTHY[: cut[0]] + cut[2] + HEALTHY[cut[1] :]
    ),
)


@settings(max_examples=60, deadline=None)
@given(rubbish, st.lists(st.sampled_from([OLD_ROW, AC_LOST, AC_BACK, "rubbish | | |"]), max_size=4), st.integers(0, 1))
def test_rubbish_is_never_a_failed_check_and_silence_never_ok(sensors: str, log: list[str], code: int) -> None:
    host = machine(log=["|||", *log])
    host.commands["ipmitool sdr elist"] = told(sensors, code)
    findings = [*run_checks(host, "power", "cooling", "chassis"), *run_checks(next_run(host), "power", "chassis")]

    assert not [finding for finding in findings if "the check failed" in finding.verdict.reason]
    if "|" not in sensors:
        assert {finding.status for finding in findings} == {"unknown"}


def test_a_state_that_nobody_knows_is_no_empty_slot() -> None:
    finding = by_item(run_checks(machine(changed("PS1 Status", "-1")), "power"))["PS1"]

    assert finding.status == "unknown" and "reports '-1': presence and state unknown" in finding.verdict.reason
