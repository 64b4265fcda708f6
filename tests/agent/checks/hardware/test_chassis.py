"""chassis: what the board itself reports, and its event log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.hardware import chassis
from agent.expected import Expected
from agent.host import Stuck
from agent.sources.bmc.ipmitool import parse_chassis
from agent.status import CRITICAL, WARNING, Finding
from tests.agent.sources.bmc.handmade_bmc import CHASSIS, HEALTHY, OLD_ROW, changed, later, machine
from tests.machine import FakeHost, by_item, run_checks

LOG = chassis.Facts("event log", 7, log_records=7, log_used_percent=1)
IERR = "   2 | 11/18/26 | 02:58:10 UTC | Processor #0x81 | IERR | Asserted"
PERR = "   3 | 11/18/26 | 03:58:10 UTC | Critical Interrupt #0x05 | PCI PERR | Asserted"


def found(host: FakeHost) -> dict[str, Finding]:
    return by_item(run_checks(host, "chassis"))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "ok"),
        ({"log_used_percent": 89}, "ok"),
        ({"log_used_percent": 90}, "warning"),
        ({"log_used_percent": -1}, "ok"),
        ({"log_overflow": True}, "warning"),
        ({"kinds": (CRITICAL,), "clocks": ("02:58Z",), "hours_ago": (23.9,)}, "critical"),
        ({"kinds": (CRITICAL,), "clocks": ("02:58Z",), "hours_ago": (24.0,)}, "ok"),
        ({"kinds": (WARNING,), "clocks": ("02:58Z",), "hours_ago": (1.0,)}, "warning"),
    ],
)
def test_the_edges_of_the_event_log(change: dict[str, Any], status: str) -> None:
    assert chassis.judge(LOG._replace(**change), chassis.LIMITS).status == status


def test_a_healthy_machine_raises_no_alarm() -> None:
    items = found(machine())

    assert set(items) == {"chassis status", "event log", "voltages", "sensors", "Drive 0", "Drive 1"}
    assert {finding.status for finding in items.values()} == {"ok"}


@pytest.mark.parametrize(
    ("line", "status", "playbook"),
    [
        ("Drive Fault          : true", "critical", "failed-motherboard"),
        ("Cooling/Fan Fault    : true", "critical", "overheating"),
        ("Main Power Fault     : true", "critical", "lost-psu"),
        ("Power Overload       : true", "critical", "lost-psu"),
        ("Power Control Fault  : true", "warning", "lost-psu"),
        ("Chassis Intrusion    : active", "warning", ""),
        ("Front-Panel Lockout  : active", "ok", ""),
    ],
)
def test_true_is_a_fault_and_false_is_none(line: str, status: str, playbook: str) -> None:
    key = line.partition(":")[0]
    text = "\n".join(line if row.startswith(key) else row for row in CHASSIS.splitlines())
    finding = found(machine(chassis=text))["chassis status"]

    assert (finding.status, finding.verdict.playbook) == (status, playbook)


@pytest.mark.parametrize(("layout", "playbook"), [("jbod", "replace-jbod-disk"), ("raid10", "replace-raid10-disk")])
def test_a_drive_slot_with_a_fault_leads_to_the_playbook_of_the_layout(layout: str, playbook: str) -> None:
    host = machine(changed("Drive 1", "Drive Present, Drive Fault"), expected=Expected(layout=layout))
    items = found(host)

    assert items["Drive 1"].verdict == ("critical", "Drive 1: Drive Fault", playbook)
    assert items["Drive 0"].status == "ok"


@pytest.mark.parametrize(
    ("name", "text", "state", "item", "status"),
    [
        ("Drive 1", "Drive Present, Predictive Failure", "ok", "Drive 1", "warning"),
        ("P12V", "10.10 Volts", "lcr", "voltages", "critical"),
        ("P12V", "11.10 Volts", "lnc", "voltages", "warning"),
        ("Chassis Intru", "General Chassis intrusion", "ok", "sensors", "warning"),
        ("MEM CPU1 FAIL", "State Asserted", "ok", "sensors", "warning"),
    ],
)
def test_the_fault_of_one_sensor(name: str, text: str, state: str, item: str, status: str) -> None:
    items = found(machine(changed(name, text, state)))

    assert items[item].status == status
    assert name in items[item].verdict.reason
    assert {finding.status for other, finding in items.items() if other != item} == {"ok"}


def test_a_memory_sensor_leads_to_the_playbook_of_memory() -> None:
    items = found(machine(HEALTHY + "DIMM_A1          | D0h | ok  | 32.1 | Presence Detected, Uncorrectable ECC\n"))

    assert (items["sensors"].status, items["sensors"].verdict.playbook) == ("critical", "replace-dimm")


def test_critical_events_of_the_log_are_told_once_and_are_ok_again_a_day_later() -> None:
    first = machine(log=[OLD_ROW, IERR, PERR])
    told = found(first)["event log"]

    assert told.status == "critical"
    assert told.verdict.reason.startswith("event log 02:58Z: Processor #0x81: IERR; event log 03:58Z: Critical Int")
    assert found(later(first))["event log"].verdict == told.verdict
    assert found(later(later(first), 24 * 3600))["event log"].status == "ok"


def test_a_log_that_is_nearly_full_says_what_to_do() -> None:
    assert "save and clear it" in found(machine(percent="95%"))["event log"].verdict.reason


def test_a_log_or_a_status_that_cannot_be_read_hides_nothing_else() -> None:
    host = machine(changed("Drive 1", "Drive Present, Drive Fault"), chassis="")
    host.commands["ipmitool sel info"] = Stuck("ipmitool sel info", 15)
    items = found(host)

    assert items["event log"].verdict.reason == "the BMC (sel info) timed out after 15 s"
    assert items["chassis status"].status == items["event log"].status == "unknown"
    assert items["Drive 1"].status == "critical"


@given(st.one_of(st.text(max_size=200), st.integers(0, 500).map(lambda n: CHASSIS[n:])))
def test_rubbish_in_place_of_the_chassis_status_is_only_text(text: str) -> None:
    assert all(len(key) <= 60 and len(value) <= 60 for key, value in parse_chassis(text).items())
