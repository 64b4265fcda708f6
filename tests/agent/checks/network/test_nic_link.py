"""nic_link: a link that should be there, at its speed; a port that never had a cable is left alone."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.checks.network import nic_link
from agent.checks.network.nic_link import LIMITS, judge
from agent.expected import Expected, ExpectedInterface
from agent.host import Answer, Interface
from agent.status import Finding
from tests.agent.sources.kernel.test_line_patterns import QUIET
from tests.agent.sources.network.test_bonding import ACTIVE_BACKUP, LACP
from tests.agent.sources.network.test_ethtool import DRIVER, LINK
from tests.machine import FakeHost, by_item, next_run, run_checks

ROOT = pathlib.Path(__file__).parents[4]
ETH0 = Interface("eth0", "physical", "ixgbe", "02:00:00:00:00:01", "0000:05:00.0", "")
ETH1 = Interface("eth1", "physical", "ixgbe", "02:00:00:00:00:02", "0000:05:00.1", "")


def port(name: str, **changes: Any) -> dict[str, str]:
    """/sys/class/net of an interface with a link at 10 Gbit/s; a value of None is no such file."""
    values: dict[str, Any] = {
        "flags": "0x1003", "carrier": 1, "operstate": "up", "speed": 10000, "duplex": "full",
        "carrier_up_count": 1, "carrier_down_count": 1, "ifindex": 2,
        "statistics/rx_packets": 10**6, "statistics/rx_crc_errors": 0,
        "statistics/rx_missed_errors": 0, "statistics/rx_dropped": 0,
        "statistics/rx_bytes": 10**9, "statistics/tx_bytes": 10**9,
    }  # fmt: skip
    given = {**values, **{key.replace("__", "/"): value for key, value in changes.items()}}
    return {f"/sys/class/net/{name}/{key}": f"{value}\n" for key, value in given.items() if value is not None}


NO_LINK = {"carrier": 0, "operstate": "down", "speed": -1, "duplex": "unknown"}
NEVER = {**NO_LINK, "carrier_up_count": 0}
SET_DOWN = {"flags": "0x1002", "carrier": None, "operstate": "down", "speed": None, "duplex": None}


def machine(eth0: Any = None, eth1: Any = None, **options: Any) -> FakeHost:
    given: dict[str, Any] = {
        "files": {**port("eth0", **(eth0 or {})), **port("eth1", **(eth1 or {}))},
        "answers": {"interfaces": [ETH0, ETH1, Interface("lo", "virtual", "", "", "", "")]},
        **options,
    }
    return FakeHost(**given)


def look(host: FakeHost) -> dict[str, Finding]:
    """The findings of the host's one run."""
    return host.once("look", lambda: by_item(run_checks(host, "nic_link")))


def statuses(host: FakeHost) -> dict[str, str]:
    return {item: finding.status for item, finding in look(host).items()}


def later(host: FakeHost, eth0: Any, after_s: float = 600.0, **options: Any) -> FakeHost:
    """The machine `after_s` later, its eth0 changed; the run before is done."""
    look(host)
    run = next_run(host, after_s, **options)
    run.files = {path: text for path, text in host.files.items() if "/eth0/" not in path}
    run.files.update(port("eth0", **eth0))
    return run


def expecting(*interfaces: ExpectedInterface) -> Expected:
    return Expected(interfaces=interfaces)


def test_healthy_interfaces_are_ok() -> None:
    found = look(machine(answers={"interfaces": [ETH0, ETH1], "kernel_records": [
        f"6,{number},4000000000,-;{text}" for number, text in enumerate(QUIET)]}))  # fmt: skip

    assert {item: finding.verdict.reason for item, finding in found.items()} == {
        "eth0": "link up, 10000 Mbit/s full duplex",
        "eth1": "link up, 10000 Mbit/s full duplex",
    }


@pytest.mark.parametrize("speed", [-1, 4294967295, 65535, None, "", "fast"])
def test_a_virtual_machines_interface_tells_no_speed_and_is_ok(speed: Any) -> None:
    finding = look(machine({"speed": speed, "duplex": "unknown"}))["eth0"]

    assert (finding.status, finding.verdict.reason) == ("ok", "link up, speed unknown")


def test_a_port_in_which_no_cable_ever_was_is_no_fault() -> None:
    assert statuses(machine(eth1=NEVER)) == {"eth0": "ok", "eth1": "ok"}


def test_a_port_that_is_set_down_is_no_fault() -> None:
    assert statuses(machine(eth1=SET_DOWN)) == {"eth0": "ok", "eth1": "ok"}


def test_a_link_that_an_earlier_run_saw_is_missed_even_after_a_reboot() -> None:
    lost = later(machine(), NO_LINK)
    rebooted = later(machine(), NEVER, boot_id="another")

    assert look(lost)["eth0"].status == look(rebooted)["eth0"].status == "critical"
    assert look(lost)["eth0"].verdict.reason.startswith("no link on eth0 (ixgbe): it had one in an earlier run")


def test_a_link_that_was_there_since_boot_is_a_warning() -> None:
    assert statuses(machine(NO_LINK))["eth0"] == "warning"


def test_setting_the_port_down_ends_the_alarm_for_good() -> None:
    down = later(later(machine(), NO_LINK), SET_DOWN)
    up_again = later(down, NEVER)

    assert statuses(down)["eth0"] == "ok"
    assert statuses(up_again)["eth0"] == "ok"


@pytest.mark.parametrize("eth0", [NEVER, NO_LINK, SET_DOWN])
def test_an_expected_interface_without_a_link_is_critical(eth0: Any) -> None:
    assert statuses(machine(eth0, expected=expecting(ExpectedInterface("eth0"))))["eth0"] == "critical"


def test_an_expected_interface_that_is_not_there_is_critical() -> None:
    finding = look(machine(expected=expecting(ExpectedInterface("eth7"))))["eth7"]

    assert (finding.status, finding.verdict.reason) == (
        "critical",
        "eth7 is expected, but the kernel has no such interface",
    )


@pytest.mark.parametrize(
    ("speed", "status"),
    [(25000, "ok"), (10000, "ok"), (9999, "warning"), (5000, "warning"), (4999, "critical"), (-1, "unknown")],
)
def test_the_speed_against_the_inventory(speed: int, status: str) -> None:
    host = machine({"speed": speed}, expected=expecting(ExpectedInterface("eth0", 10000)))

    assert statuses(host)["eth0"] == status


@pytest.mark.parametrize(
    ("duplex", "expected", "status"),
    [("half", "", "warning"), ("half", "full", "warning"), ("full", "half", "warning"), ("half", "half", "warning"),
     ("full", "Full", "ok"), ("unknown", "full", "unknown"), ("unknown", "", "ok")],
)  # fmt: skip
def test_the_duplex(duplex: str, expected: str, status: str) -> None:
    host = machine({"duplex": duplex}, expected=expecting(ExpectedInterface("eth0", 0, expected)))

    assert statuses(host)["eth0"] == status


def test_a_speed_below_that_of_earlier_runs_is_a_warning_for_a_day() -> None:
    slower = later(machine(), {"speed": 1000})
    next_day = later(slower, {"speed": 1000}, after_s=86_500)

    assert look(slower)["eth0"].verdict.reason == "1000 Mbit/s, was 10000 in an earlier run"
    assert statuses(later(slower, {}))["eth0"] == "ok"
    assert statuses(next_day)["eth0"] == "ok"


def test_a_flap_between_two_runs_is_a_warning_for_a_day_and_told_once() -> None:
    flapped = later(machine(), {"carrier_down_count": 3, "carrier_up_count": 3})
    same = later(flapped, {"carrier_down_count": 3, "carrier_up_count": 3})
    next_day = later(same, {"carrier_down_count": 3, "carrier_up_count": 3}, after_s=86_400)

    assert look(flapped)["eth0"].verdict.reason == "lost its link 2 times, at 11:16Z"
    assert look(same)["eth0"].facts["flaps"] == 2
    assert statuses(next_day)["eth0"] == "ok"


def test_a_kernel_that_counts_only_changes_and_one_that_counts_nothing() -> None:
    changes = {"carrier_up_count": None, "carrier_down_count": None}
    line = "3,7,86300000000,-;ixgbe 0000:05:00.0 eth0: NIC Link is Down"

    assert (
        statuses(later(machine({**changes, "carrier_changes": 2}), {**changes, "carrier_changes": 6}))["eth0"]
        == "warning"
    )
    assert statuses(later(machine(changes), changes, answers={"kernel_records": [line]}))["eth0"] == "warning"


def test_a_lost_link_in_line_and_counter_counts_once() -> None:
    line = "3,7,86300000000,-;ixgbe 0000:05:00.0 eth0: NIC Link is Down"
    flapped = later(machine(), {"carrier_down_count": 2}, answers={"kernel_records": [line]})

    assert look(flapped)["eth0"].facts["flaps"] == 1


@pytest.mark.parametrize(
    ("counter", "count", "status"),
    [
        ("rx_crc_errors", 9, "ok"), ("rx_crc_errors", 10, "warning"), ("rx_crc_errors", 2000, "critical"),
        ("rx_missed_errors", 99, "ok"), ("rx_missed_errors", 2000, "warning"),
        ("rx_dropped", 999, "ok"), ("rx_dropped", 5000, "ok"), ("rx_dropped", 20000, "warning"),
    ],
)  # fmt: skip
def test_bad_frames_since_the_last_run(counter: str, count: int, status: str) -> None:
    changes = {"statistics__rx_packets": 2 * 10**6, f"statistics__{counter}": count}
    worse = later(machine(), changes)
    steady = later(worse, changes)

    assert statuses(worse)["eth0"] == status
    assert statuses(steady)["eth0"] == "ok"


def test_what_an_interface_carries_is_its_mean_since_the_last_run() -> None:
    first = machine()
    busy = later(first, {"statistics__rx_bytes": 10**9 + 6_000_000, "statistics__tx_bytes": 10**9 + 600})
    uncounted = later(machine(), {"statistics__rx_bytes": None, "statistics__tx_bytes": 7})

    def load(host: FakeHost) -> tuple[Any, Any]:
        facts = look(host)["eth0"].facts
        return facts["rx_bytes_per_s"], facts["tx_bytes_per_s"]

    assert load(first) == (None, None)
    assert load(busy) == (10_000.0, 1.0)
    assert load(uncounted) == (None, 0.0), "a counter that fell was reset"


def test_bad_frames_of_the_first_look_are_old() -> None:
    assert statuses(machine({"statistics__rx_crc_errors": 10**6}))["eth0"] == "ok"


def test_bad_frames_that_only_the_driver_counts() -> None:
    def tools(count: int) -> dict[str, Any]:
        of_each = [
            {
                f"ethtool -i {name}": Answer(0, DRIVER, ""),
                f"ethtool {name}": Answer(0, LINK, ""),
                f"ethtool -S {name}": Answer(0, f" rx_crc_errors_phy: {count}\n", ""),
            }
            for name in ("eth0", "eth1")
        ]
        return {**of_each[0], **of_each[1]}  # fmt: skip

    finding = look(later(machine(commands=tools(5)), {"statistics__rx_packets": 2 * 10**6}, commands=tools(500)))[
        "eth0"
    ]

    assert (finding.status, finding.facts["crc_errors"]) == ("warning", 495)
    assert (finding.facts["firmware"], finding.facts["best_mbps"]) == ("0x800007b0, 18.3.6", 10000)


def test_a_cable_error_told_by_the_card() -> None:
    line = "3,7,86300000000,-;mlx5_core 0000:05:00.0: Port module event[error]: module 0, Cable error, Bus stuck"
    finding = look(machine(answers={"interfaces": [ETH0], "kernel_records": [line]}))["eth0"]

    assert (finding.status, finding.verdict.reason[:60]) == (
        "warning",
        "mlx5_core 0000:05:00.0: Port module event[error]: module 0, ",
    )


def bonded(description: str, eth1: Any = None) -> FakeHost:
    members = [ETH0._replace(bond="bond0"), ETH1._replace(bond="bond0"), Interface("bond0", "bond", "", "", "", "")]
    files = {**port("eth0"), **port("eth1", **(eth1 or {})), **port("bond0"), "/proc/net/bonding/bond0": description}
    return FakeHost(files=files, answers={"interfaces": members})


def test_a_healthy_bond() -> None:
    healthy = ACTIVE_BACKUP.replace("MII Status: down", "MII Status: up")

    assert statuses(bonded(healthy)) == {"bond0": "ok", "eth0": "ok", "eth1": "ok"}


def test_a_bond_member_that_is_down_or_idle() -> None:
    assert statuses(bonded(ACTIVE_BACKUP, NEVER)) == {"bond0": "ok", "eth0": "ok", "eth1": "warning"}
    assert statuses(bonded(ACTIVE_BACKUP, SET_DOWN))["eth1"] == "warning"
    found = look(bonded(LACP))["eth1"]
    assert (found.status, found.verdict.reason) == (
        "warning",
        "not active in bond0: 1 of 2 members of bond0 active",
    )


def test_a_bond_without_any_member_up_is_critical() -> None:
    assert statuses(bonded(ACTIVE_BACKUP.replace("MII Status: up", "MII Status: down")))["bond0"] == "critical"


def test_a_bond_that_cannot_be_read_is_unknown() -> None:
    assert statuses(bonded("rubbish")) == {"bond0": "unknown", "eth0": "unknown", "eth1": "unknown"}


def test_two_expected_interfaces_on_one_card_are_a_warning_once() -> None:
    both = expecting(ExpectedInterface("eth0"), ExpectedInterface("eth1"))
    apart = [ETH0, ETH1._replace(pci="0000:81:00.0")]

    assert statuses(machine(expected=both)) == {"eth0": "ok", "eth1": "ok", "cards": "warning"}
    assert statuses(machine(expected=both, answers={"interfaces": apart}))["cards"] == "ok"
    assert "cards" not in statuses(machine(expected=expecting(ExpectedInterface("eth0"))))


def test_a_machine_without_cards_is_skipped() -> None:
    assert statuses(machine(answers={"interfaces": [Interface("lo", "virtual", "", "", "", "")]})) == {"-": "skipped"}


def test_a_sysfs_of_another_namespace_is_unknown() -> None:
    host = FakeHost(answers={"interfaces": [ETH0]})

    assert look(host)["eth0"].status == "unknown"


FACTS = nic_link.Facts("eth0", (), present=True, admin_up=True, carrier=True, speed_mbps=10000, duplex="full")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"flaps": 1, "flap_hours_ago": 23.9}, "warning"),
        ({"flaps": 1, "flap_hours_ago": 24.0}, "ok"),
        ({"flaps": 9, "flap_hours_ago": 0.0}, "warning"),
        ({"flaps": 10, "flap_hours_ago": 0.0}, "critical"),
        ({"cable_errors": 1, "cable_hours_ago": 23.9}, "warning"),
        ({"cable_errors": 1, "cable_hours_ago": 24.0}, "ok"),
        ({"slower_from": 25000, "slower_hours": 23.9}, "warning"),
        ({"slower_from": 25000, "slower_hours": 24.0}, "ok"),
        ({"frames": 10**7 - 10, "crc_errors": 10}, "warning"),
        ({"frames": 10**7 + 10, "crc_errors": 10}, "ok"),
        ({"frames": 99900, "crc_errors": 100}, "critical"),
        ({"frames": 0, "crc_errors": 9}, "ok"),
        ({"frames": 99900, "missed": 100}, "warning"),
        ({"frames": 99901, "missed": 99}, "ok"),
        ({"frames": 99000, "dropped": 1000}, "warning"),
        ({"frames": 99010, "dropped": 990}, "ok"),
        ({"carrier": None}, "unknown"),
    ],
)
def test_the_edges_of_the_limits(changes: dict[str, Any], status: str) -> None:
    assert judge(FACTS._replace(**changes), LIMITS).status == status


@given(st.dictionaries(st.sampled_from(sorted(port("eth0"))), st.one_of(st.text(max_size=9), st.integers().map(str))),
       st.text(max_size=50), st.text(max_size=50))  # fmt: skip
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40)
def test_rubbish_never_fails_the_check(changes: dict[str, str], output: str, bond: str) -> None:
    host = bonded(bond)
    host.files.update(changes)
    host.commands = {f"ethtool{option} {name}": Answer(0, output, "") for name in ("eth0", "eth1", "bond0")
                     for option in ("", " -i", " -S")}  # fmt: skip

    for run in (host, next_run(host)):
        for finding in run_checks(run, "nic_link"):
            assert "the check failed" not in finding.verdict.reason


@pytest.fixture
def namespace() -> Iterator[Any]:
    """Runs a command in a fresh network namespace, with a /sys that shows it; gives its output."""
    for tool, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux")):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool} (package {package})")
    process = subprocess.Popen(
        ["unshare", "-nm", "sh", "-c", "mount -t sysfs sysfs /sys && echo ready && exec sleep 600"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        if process.stdout.readline() != "ready\n":
            pytest.skip("no network namespace can be made here")

        def run(*argv: str) -> str:
            inside = ["nsenter", "-t", str(process.pid), "-n", "-m", *argv]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            return subprocess.run(inside, capture_output=True, text=True, timeout=60, env=environment).stdout

        yield run
    finally:
        process.kill()
        process.wait()


def agent(run: Any, state: pathlib.Path, interfaces: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    given = state.with_suffix(".expected")
    given.write_text(json.dumps({"interfaces": interfaces}))
    out = run(sys.executable, "-m", "agent", "nic_link", "nic_resets", "--state", str(state), "--expected", str(given))
    rows = [json.loads(line) for line in out.splitlines()]
    return {row["item"]: row for row in rows if row.get("check") == "nic_link"}


@pytest.mark.root
@pytest.mark.slow
def test_real_links_that_go_down_and_up(namespace: Any, tmp_path: pathlib.Path) -> None:
    state, named = tmp_path / "state.json", [{"name": "kafka0", "speed_mbps": 10000, "duplex": "full"}]
    namespace("ip", "link", "add", "kafka0", "type", "veth", "peer", "name", "switch0")
    namespace("ip", "link", "set", "kafka0", "up")
    namespace("ip", "link", "set", "switch0", "up")

    well = agent(namespace, state, named)
    for change in ("down", "up", "down", "up"):
        namespace("ip", "link", "set", "switch0", change)
    flapped = agent(namespace, state, named)
    namespace("ip", "link", "set", "switch0", "down")
    lost = agent(namespace, state, named)
    namespace("ip", "link", "set", "kafka0", "down")
    set_down = agent(namespace, state, named)
    namespace("ip", "link", "del", "kafka0")
    gone = agent(namespace, state, named)

    assert (set(well), well["kafka0"]["status"]) == ({"kafka0"}, "ok")
    assert (flapped["kafka0"]["status"], flapped["kafka0"]["facts"]["flaps"]) == ("warning", 2)
    assert lost["kafka0"]["status"] == "critical" and "the inventory expects one" in lost["kafka0"]["reason"]
    assert set_down["kafka0"]["status"] == "critical" and "administratively down" in set_down["kafka0"]["reason"]
    assert gone["kafka0"]["status"] == "critical" and "the kernel has no such interface" in gone["kafka0"]["reason"]


@pytest.mark.root
@pytest.mark.slow
def test_a_real_bond_loses_a_member(namespace: Any, tmp_path: pathlib.Path) -> None:
    namespace("ip", "link", "add", "bond7", "type", "bond", "mode", "active-backup", "miimon", "50")
    if "bond7" not in namespace("ip", "-o", "link"):
        pytest.skip("this kernel has no bonding")
    for number in "12":
        namespace("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", f"switch{number}")
        namespace("ip", "link", "set", f"port{number}", "master", "bond7")
        namespace("ip", "link", "set", f"switch{number}", "up")
    namespace("ip", "link", "set", "bond7", "up")
    namespace("sleep", "1")

    well = agent(namespace, tmp_path / "state.json", [])
    namespace("ip", "link", "set", "switch1", "down")
    namespace("sleep", "1")
    degraded = agent(namespace, tmp_path / "state.json", [])

    assert {item: row["status"] for item, row in well.items()} == {"bond7": "ok", "port1": "ok", "port2": "ok"}
    assert degraded["port1"]["status"] == "critical"
    assert "1 of 2 members of bond7 active" in degraded["port1"]["reason"]
    assert (degraded["bond7"]["status"], degraded["port2"]["status"]) == ("ok", "ok")


@pytest.mark.skipif(not os.path.exists("/sys/class/net/lo"), reason="needs /sys/class/net")
def test_this_very_machine_names_no_virtual_interface() -> None:
    from agent.machine.live import LiveHost

    host = LiveHost()
    items = {finding.item for finding in run_checks(host, "nic_link")}
    host.close()

    assert not items & {"lo", "ifb0", "ifb1", "docker0"}
