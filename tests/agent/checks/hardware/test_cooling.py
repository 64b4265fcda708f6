"""cooling: a fan slows down, a sensor is hot, a bay is empty."""

from __future__ import annotations

from typing import Any

import pytest

from agent.checks.hardware import cooling
from agent.status import CRITICAL, WARNING, Finding
from tests.agent.sources.bmc.handmade_bmc import HEALTHY, OLD_ROW, changed, commands, later, machine, without
from tests.machine import FakeHost, by_item, run_checks

WELL = cooling.Facts(
    part="FAN1", kind="fan", reading=5400.0, unit="RPM", threshold="", level="", critical_states=(), warning_states=(),
    states=(), is_silent=False, was_read=True, kinds=(), clocks=(), hours_ago=(), log_read=True,
)  # fmt: skip

HOT = "   2 | 11/18/26 | 02:58:10 UTC | Temperature #0x04 | Upper Critical going high | Asserted"
COOL = "   3 | 11/18/26 | 03:20:10 UTC | Temperature #0x04 | Upper Critical going high | Deasserted"


def found(host: FakeHost) -> dict[str, Finding]:
    return by_item(run_checks(host, "cooling"))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "ok"),
        ({"threshold": "lnc", "level": WARNING}, "warning"),
        ({"threshold": "nc", "level": WARNING}, "warning"),
        ({"threshold": "lcr", "level": CRITICAL}, "critical"),
        ({"threshold": "unr", "level": CRITICAL}, "critical"),
        ({"critical_states": ("Transition to Critical from less severe",)}, "critical"),
        ({"warning_states": ("Redundancy Lost",)}, "warning"),
        ({"is_silent": True, "reading": None}, "unknown"),
        ({"is_silent": True, "reading": None, "was_read": False}, "skipped"),
        ({"kinds": (CRITICAL,), "clocks": ("02:58Z",), "hours_ago": (23.9,)}, "warning"),
        ({"kinds": (CRITICAL,), "clocks": ("02:58Z",), "hours_ago": (24.0,)}, "ok"),
    ],
)
def test_the_edges_of_a_sensor(change: dict[str, Any], status: str) -> None:
    assert cooling.judge(WELL._replace(**change), cooling.LIMITS).status == status


def test_a_healthy_machine_raises_no_alarm_and_an_empty_bay_is_skipped() -> None:
    assert {item: finding.status for item, finding in found(machine()).items()} == {
        "FAN1": "ok",
        "FAN2": "ok",
        "FAN3": "skipped",
        "CPU1 Temp": "ok",
        "Inlet Temp": "ok",
    }


def test_a_slow_fan_and_a_hot_inlet_are_told_with_their_numbers() -> None:
    sensors = changed("FAN1", "800 RPM", "lcr")
    items = found(machine(changed("Inlet Temp", "44 degrees C", "unc", sensors)))

    assert items["FAN1"].verdict == (
        "critical",
        "fan FAN1: 800 RPM, past its lower critical threshold",
        "overheating",
    )
    assert items["Inlet Temp"].verdict.reason == (
        "temperature Inlet Temp: 44 degrees C, past its upper non-critical threshold"
    )
    assert items["FAN2"].status == "ok"


def test_a_fan_that_stops_answering_is_not_an_empty_bay() -> None:
    first = machine()
    found(first)
    silent = found(later(first, asked=commands(changed("FAN2", "No Reading", "ns"))))

    assert silent["FAN2"].status == "unknown" and silent["FAN3"].status == "skipped"


def test_a_fan_that_vanishes_from_the_listing_is_still_a_row() -> None:
    first = machine()
    found(first)

    assert found(later(first, asked=commands(without("FAN2"))))["FAN2"].status == "unknown"


def test_a_hot_night_is_a_warning_until_a_day_later() -> None:
    first = machine(log=[OLD_ROW, HOT, COOL])
    hot = found(first)["Inlet Temp"]

    assert hot.status == "warning" and "critical at 02:58Z" in hot.verdict.reason
    assert found(later(first))["Inlet Temp"].verdict == hot.verdict
    assert found(later(later(first), 24 * 3600))["Inlet Temp"].status == "ok"


def test_a_listing_without_fans_and_temperatures_cannot_be_told() -> None:
    (finding,) = found(machine("PS1 Status       | C8h | ok  | 10.1 | Presence detected\n")).values()

    assert finding.status == "unknown"


def test_fan_redundancy_is_a_row_of_its_own() -> None:
    items = found(machine(HEALTHY + "Fan Redundancy   | 78h | ok  |  7.1 | Redundancy Lost\n"))

    assert items["Fan Redundancy"].status == "warning"


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("FAN1", "-5400 RPM", "fan FAN1: implausible reading -5400 RPM"),
        ("FAN1", "999999999 RPM", "fan FAN1: implausible reading 999999999 RPM"),
        ("CPU1 Temp", "9999999 degrees C", "temperature CPU1 Temp: implausible reading 9999999 degrees C"),
    ],
)
def test_a_reading_that_cannot_be_is_unknown(name: str, said: str, words: str) -> None:
    finding = by_item(run_checks(machine(changed(name, said)), "cooling"))[name]

    assert (finding.status, finding.verdict.reason) == ("unknown", words)


def test_a_fan_that_gave_a_reading_and_is_only_called_ok_now_is_unknown() -> None:
    host = machine()
    run_checks(host, "cooling")

    after = later(host, asked=commands(changed("FAN1", "")))

    assert by_item(run_checks(after, "cooling"))["FAN1"].status == "unknown"
