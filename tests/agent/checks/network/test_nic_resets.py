"""nic_resets: a reset is news once, whether a line or a counter tells it, and counts once if both do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.checks.network import nic_resets
from agent.checks.network.nic_resets import LIMITS, judge
from agent.expected import Expected, ExpectedInterface
from agent.host import Answer, Interface, NoPermission
from agent.status import Finding
from tests.agent.sources.kernel.test_line_patterns import QUIET, damaged
from tests.machine import FakeHost, by_item, next_run, run_checks

ETH0 = Interface("eth0", "physical", "ixgbe", "02:00:00:00:00:01", "0000:05:00.0", "")
ETH1 = Interface("eth1", "physical", "ixgbe", "02:00:00:00:00:02", "0000:05:00.1", "")
OTHERS = [
    Interface("lo", "virtual", "", "", "", ""),
    Interface("docker0", "virtual", "", "", "", ""),
    Interface("veth12", "virtual", "veth", "", "", "docker0"),
    Interface("idrac", "physical", "cdc_ether", "", "1-14:1.0", ""),
]
WATCHDOG = "ixgbe 0000:05:00.0 eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 5 timed out 5120 ms"
OLD_WATCHDOG = "NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 5 timed out"
ONE_RESET = [
    "ixgbe 0000:05:00.0 eth0: Detected Tx Unit Hang\\x0a  Tx Queue             <5>",
    "ixgbe 0000:05:00.0 eth0: tx hang 1 detected on queue 5, resetting adapter",
    "ixgbe 0000:05:00.0 eth0: initiating reset due to tx timeout",
    "ixgbe 0000:05:00.0 eth0: Reset adapter",
    "ixgbe 0000:05:00.0 eth0: NIC Link is Down",
    "ixgbe 0000:05:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
]


def files(timeouts: Any = 0) -> dict[str, Any]:
    return {
        f"/sys/class/net/{name}/{attribute}": text
        for name, index in (("eth0", 2), ("eth1", 3))
        for attribute, text in {
            "ifindex": f"{index}\n",
            "queues/rx-0/rps_cpus": "0\n",
            "queues/tx-0/tx_timeout": "0\n",
            "queues/tx-1/tx_timeout": f"{timeouts if name == 'eth0' else 0}\n",
        }.items()
    }


def ethtool(count: Any = 0) -> dict[str, Any]:
    return {
        f"ethtool -S {name}": Answer(
            0, f"NIC statistics:\n     tx_timeout_count: {count if name == 'eth0' else 0}\n", ""
        )
        for name in ("eth0", "eth1")
    }


def records(*texts: str, first: int = 100, at: float = 86_000.0, step: float = 1.0) -> list[str]:
    return [f"3,{first + number},{int((at + number * step) * 1e6)},-;{text}" for number, text in enumerate(texts)]


def machine(*lines: str, **options: Any) -> FakeHost:
    given: dict[str, Any] = {
        "files": files(),
        "commands": ethtool(),
        "answers": {"interfaces": [ETH0, ETH1, *OTHERS], "kernel_records": list(lines)},
    }
    return FakeHost(**{**given, **options})


def look(host: FakeHost) -> dict[str, Finding]:
    return by_item(run_checks(host, "nic_resets"))


def statuses(host: FakeHost) -> dict[str, str]:
    return {item: finding.status for item, finding in look(host).items()}


def test_healthy_cards_are_ok_and_virtual_ones_are_none() -> None:
    found = look(machine(*records(*QUIET)))

    assert {item: finding.verdict.reason for item, finding in found.items()} == {
        "eth0": "no new reset",
        "eth1": "no new reset",
    }


def test_counters_of_the_first_look_are_old() -> None:
    finding = look(machine(files=files(7), commands=ethtool(7)))["eth0"]

    assert (finding.status, finding.facts["transmit_timeouts"], finding.facts["driver_resets"]) == ("ok", 7, 7)


@pytest.mark.parametrize("text", [WATCHDOG, OLD_WATCHDOG, ONE_RESET[3]])
def test_a_line_is_a_warning(text: str) -> None:
    assert statuses(machine(*records(text))) == {"eth0": "warning", "eth1": "ok"}


def test_one_reset_in_many_lines_is_one() -> None:
    finding = look(machine(*records(OLD_WATCHDOG, *ONE_RESET)))["eth0"]

    assert (finding.status, finding.facts["resets"]) == ("warning", 1)
    assert finding.verdict.reason == ("ixgbe 0000:05:00: 1 reset at 11:00Z: ixgbe 0000:05:00.0 eth0: Reset adapter")
    assert finding.verdict.playbook == "nic-resets"


@pytest.mark.parametrize(("apart_s", "status"), [(1700.0, "critical"), (1900.0, "warning")])
def test_three_within_an_hour_are_critical(apart_s: float, status: str) -> None:
    lines = records(WATCHDOG, WATCHDOG, WATCHDOG, at=80_000.0, step=apart_s)

    assert statuses(machine(*lines))["eth0"] == status


def test_a_counter_that_grew_is_a_warning_where_no_line_told() -> None:
    first = machine()
    look(first)

    finding = look(next_run(first, files=files(1)))["eth0"]

    assert (finding.status, finding.facts["resets"]) == ("warning", 1)
    assert "transmit timeouts of all queues grew by 1" in finding.verdict.reason


def test_a_reset_in_line_queue_and_driver_counter_counts_once() -> None:
    first = machine()
    look(first)
    second = next_run(
        first,
        files=files(2),
        commands=ethtool(2),
        answers={"kernel_records": records(*ONE_RESET), "uptime_s": 87_000.0},
    )

    assert look(second)["eth0"].facts["resets"] == 2
    assert look(next_run(second))["eth0"].facts["resets"] == 2


def test_a_days_resets_are_not_those_of_an_hour() -> None:
    first = machine()
    look(first)

    finding = look(next_run(first, after_s=86_400, files=files(4)))["eth0"]

    assert (finding.status, finding.facts["resets"], finding.facts["resets_in_an_hour"]) == ("warning", 4, 1)


def test_it_is_ok_again_a_day_after_the_last_reset() -> None:
    first = machine(*records(WATCHDOG))
    look(first)
    second = next_run(first, after_s=23 * 3600, answers={"uptime_s": 86_400 + 23 * 3600.0})
    before = look(second)["eth0"]
    after = look(next_run(second, after_s=3600, answers={"uptime_s": 2 * 86_400.0}))["eth0"]

    assert (before.status, after.status) == ("warning", "ok")
    assert after.verdict.reason.startswith("no new reset; 1 reset")


@pytest.mark.parametrize(
    "text",
    [
        "i40e 0000:05:00.0 eth0: tx_timeout recovery unsuccessful, device is in non-recoverable state.",
        "ixgbe 0000:05:00.0: Adapter removed",
        "bnxt_en 0000:05:00.0 eth0: Firmware not responding, status: 0xffffffff",
        "mlx5_core 0000:05:00.0: poll_health:815:(pid 0): device's health compromised - reached miss count",
    ],
)
def test_a_card_that_failed_for_good_is_critical(text: str) -> None:
    assert statuses(machine(*records(text))) == {"eth0": "critical", "eth1": "ok"}


def test_a_line_finds_its_interface_by_address_and_by_index_after_a_rename() -> None:
    by_bus = "ixgbe 0000:05:00.1 p1p2: Reset adapter"
    by_index = [records("ixgbe: p9p9: Reset adapter")[0] + "\n SUBSYSTEM=net\n DEVICE=n3"]

    assert statuses(machine(*records(by_bus)))["eth1"] == "warning"
    assert statuses(machine(*by_index))["eth1"] == "warning"


def test_a_card_that_is_gone_is_still_told() -> None:
    lines = records("igb 0000:07:00.0 eno9: PCIe link lost")

    assert statuses(machine(*lines)) == {"eth0": "ok", "eth1": "ok", "eno9": "critical"}


def test_without_ethtool_lines_and_queues_are_judged_and_it_is_told() -> None:
    first = machine(commands={})
    found = look(first)["eth0"]

    assert (found.status, found.facts["driver_resets"]) == ("ok", None)
    assert found.verdict.reason == ("no new reset; driver counters not read: ethtool is not installed")
    assert statuses(next_run(first, files=files(1)))["eth0"] == "warning"


def test_user_space_cannot_forge_a_reset() -> None:
    forged = [line.replace("3,", "11,", 1) for line in records(WATCHDOG, OLD_WATCHDOG)]

    assert set(statuses(machine(*forged)).values()) == {"ok"}


def test_members_of_a_bond_are_items_and_a_named_interface_too() -> None:
    team = [Interface("bond0", "bond", "", "", "", ""), Interface("dummy1", "virtual", "dummy", "", "", "bond0")]
    host = machine(
        answers={"interfaces": [ETH0, *team, *OTHERS], "kernel_records": []},
        expected=Expected(interfaces=(ExpectedInterface("veth12"), ExpectedInterface("eth7"))),
        commands={},
    )

    assert statuses(host) == {"bond0": "ok", "dummy1": "ok", "eth0": "ok", "veth12": "ok", "eth7": "unknown"}


def test_a_machine_without_cards_is_skipped() -> None:
    assert statuses(machine(answers={"interfaces": OTHERS, "kernel_records": []})) == {"-": "skipped"}


FACTS = nic_resets.Facts("ixgbe", "", 0, 0, None, "", "", 0, None, "", "", 0, 0, "", 0)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "ok"),
        ({"resets": 1, "resets_in_an_hour": 1, "reset_hours_ago": 23.9}, "warning"),
        ({"resets": 1, "resets_in_an_hour": 1, "reset_hours_ago": 24.0}, "ok"),
        ({"resets": 2, "resets_in_an_hour": 2, "reset_hours_ago": 0.0}, "warning"),
        ({"resets": 3, "resets_in_an_hour": 3, "reset_hours_ago": 0.0}, "critical"),
        ({"resets": 3, "resets_in_an_hour": 3, "reset_hours_ago": 24.0}, "ok"),
        ({"faults": 1, "fault_hours_ago": 23.9}, "critical"),
        ({"faults": 1, "fault_hours_ago": 24.0}, "ok"),
    ],
)
def test_the_edges_of_the_limits(changes: dict[str, Any], status: str) -> None:
    assert judge(FACTS._replace(**changes), LIMITS).status == status


@given(st.text(max_size=20), st.text(max_size=60), st.lists(damaged(), max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=30)
def test_rubbish_never_fails_the_check(count: str, output: str, texts: list[str]) -> None:
    first = machine(*records(*texts), files=files(count), commands={
        f"ethtool -S {name}": Answer(0, output, "") for name in ("eth0", "eth1")})  # fmt: skip

    for host in (first, next_run(first, files=files(count + "1"))):
        for finding in run_checks(host, "nic_resets"):
            assert "the check failed" not in finding.verdict.reason


def without_log(timeouts: int) -> FakeHost:
    answers = {"interfaces": [ETH0], "kernel_records": NoPermission("needs root: /dev/kmsg")}
    return FakeHost(files=files(timeouts), commands=ethtool(), answers=answers)


def test_without_the_kernels_log_the_counters_still_tell_and_the_gap_is_said() -> None:
    before = without_log(0)
    well = look(before)["eth0"]
    reset = look(next_run(before, files=files(1)))["eth0"]

    assert well.status == "ok"
    assert "kernel log not read: needs root: /dev/kmsg" in well.verdict.reason
    assert reset.status == "warning"


# PCI Express, and what was not read


@pytest.mark.parametrize(
    "line",
    [
        "pcieport 0000:00:1c.0: AER: Uncorrectable (Fatal) error message received from 0000:05:00.0",
        "pcieport 0000:00:1c.0: AER: Uncorrected (Non-Fatal) error received: 0000:05:00.0",
        "ixgbe 0000:05:00.0: Firmware recovery mode detected. Limiting functionality. Refer to the Intel(R) Ethernet",
        "ixgbe 0000:05:00.0: probe with driver ixgbe failed with error -5",
    ],
)
def test_a_card_that_the_bus_or_its_firmware_gave_up_is_critical(line: str) -> None:
    assert statuses(machine(*records(line))) == {"eth0": "critical", "eth1": "ok"}


def test_a_slot_that_lost_its_card_is_told_of_all_its_ports() -> None:
    host = machine(*records("pcieport 0000:00:1c.0: pciehp: Slot(1): Link Down"))
    for function in "01":
        host.answers[f"link /sys/bus/pci/devices/0000:05:00.{function}"] = (
            f"/sys/devices/pci0000:00/0000:00:1c.0/0000:05:00.{function}"
        )

    assert statuses(host) == {"eth0": "critical", "eth1": "critical"}


def test_a_pcie_line_of_another_device_is_of_no_card() -> None:
    line = "pcieport 0000:00:1d.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0"

    assert statuses(machine(*records(line))) == {"eth0": "ok", "eth1": "ok"}


@pytest.mark.parametrize(("times", "status"), [(99, "ok"), (100, "warning")])
def test_a_storm_of_corrected_pcie_errors_is_a_warning(times: int, status: str) -> None:
    line = "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:05:00.0"

    assert statuses(machine(*records(*[line] * times)))["eth0"] == status


# use.md 14: `ok` without root and without ethtool, though the kernel's lines were not read
def test_without_the_kernels_lines_and_the_drivers_counters_it_cannot_be_told() -> None:
    unread = {"interfaces": [ETH0], "kernel_records": NoPermission("needs root: /dev/kmsg")}
    (finding,) = look(machine(commands={}, answers=unread)).values()

    assert finding.status == "unknown"
    assert "not read (needs root: /dev/kmsg), ethtool is not installed" in finding.verdict.reason


def test_without_the_kernels_lines_the_drivers_counters_tell() -> None:
    host = machine(answers={"interfaces": [ETH0], "kernel_records": NoPermission("needs root: /dev/kmsg")})
    (finding,) = look(host).values()

    assert finding.status == "ok" and "kernel log not read" in finding.verdict.reason
