"""swappiness: 60 is what a fresh install has; it is advice, and without swap it changes nothing."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.kafka import memory_maps
from agent.checks.system import swappiness
from agent.expected import Expected
from agent.host import Memory, NoPermission
from agent.status import Finding
from tests.machine import FakeHost, by_item, run_checks

SWAP = Memory(64 << 30, 32 << 30, 8 << 30, 20 << 20)
NO_SWAP = Memory(64 << 30, 32 << 30, 0, 0)
HEALTHY = swappiness.Facts(swappiness=1, swap_total_bytes=8 << 30, swap_used_bytes=0)


def machine(
    value: str, memory: Memory = SWAP, files: Optional[Mapping[str, Any]] = None, roles: str = "broker"
) -> FakeHost:
    return FakeHost(
        files={"/proc/sys/vm/swappiness": value, "/proc/sys/vm/max_map_count": "262144\n", **(files or {})},
        answers={"memory": memory, "processes": []},
        expected=Expected(roles=tuple(roles.split())),
    )


def look_at(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "swappiness")
    return finding


@pytest.mark.parametrize(
    ("value", "status"), [(0, "ok"), (1, "ok"), (2, "warning"), (30, "warning"), (60, "warning"), (200, "warning")]
)
def test_a_machine_with_swap_is_warned_above_the_limit_and_never_more(value: int, status: str) -> None:
    assert swappiness.judge(HEALTHY._replace(swappiness=value), swappiness.LIMITS).status == status


def test_the_default_of_a_fresh_install_with_swap_is_a_warning() -> None:
    finding = look_at(machine("60\n"))

    assert (finding.item, finding.status, finding.facts["swappiness"]) == ("vm.swappiness", "warning", 60)
    assert finding.verdict.reason == "vm.swappiness is 60, limit 1; 20 of 8192 MB of swap in use"
    assert finding.verdict.playbook == "tune-os"


def test_the_default_of_a_fresh_install_without_swap_is_a_note() -> None:
    finding = look_at(machine("60\n", NO_SWAP))

    assert (finding.status, finding.verdict.reason) == (
        "ok", "vm.swappiness is 60; no swap, so the setting has no effect",
    )  # fmt: skip


@pytest.mark.parametrize("memory", [SWAP, NO_SWAP])
def test_a_file_that_sets_another_value_at_the_next_boot_is_seen(memory: Memory) -> None:
    finding = look_at(machine("1\n", memory, {"/etc/sysctl.d/99-vendor.conf": "vm.swappiness = 60\n"}))

    assert (finding.status, finding.verdict.playbook) == ("warning", "tune-os")
    assert finding.verdict.reason == "vm.swappiness is 1 now, /etc/sysctl.d/99-vendor.conf sets 60 at the next boot"


@pytest.mark.parametrize(
    "files",
    [
        {"/etc/sysctl.d/60-kafka.conf": "vm.swappiness = 1\n"},
        # the later name wins, whichever folder it is in
        {"/usr/lib/sysctl.d/10-default.conf": "vm.swappiness=60\n", "/etc/sysctl.d/60-kafka.conf": "vm.swappiness=1"},
        # a file of the same name in /etc hides that of the distribution
        {"/usr/lib/sysctl.d/99-x.conf": "vm.swappiness=60\n", "/etc/sysctl.d/99-x.conf": "# emptied\n"},
        {"/etc/sysctl.d/99-x.conf": "#vm.swappiness=60\n;vm.swappiness=60\nvm.swappiness\n"},
        {"/etc/sysctl.d/99-x.conf.bak": "vm.swappiness=60\n"},
        # systemd does not read /etc/sysctl.conf
        {"/etc/sysctl.conf": "vm.swappiness=60\n", "/run/systemd/system/x": ""},
        {"/etc/sysctl.d/a.conf": "vm.swappiness=60\n", "/etc/sysctl.conf": "-vm/swappiness = 1\n"},
        # a pattern does not override what names the setting
        {"/etc/sysctl.d/a.conf": "vm.swappiness=1\n", "/etc/sysctl.d/b.conf": "vm.swap* = 60\n"},
    ],
)
def test_files_that_set_the_same_value_or_are_not_read_are_silent(files: dict[str, str]) -> None:
    assert look_at(machine("1\n", files=files)).status == "ok"


@pytest.mark.parametrize(
    ("files", "value"),
    [
        (
            {"/etc/sysctl.d/a.conf": "vm.swappiness=1\n", "/usr/lib/sysctl.d/b.conf": "  - vm/swappiness  =  10 \n"},
            "10",
        ),
        ({"/etc/sysctl.conf": "vm.swappiness=60\n"}, "60"),
        ({"/run/sysctl.d/a.conf": "vm.swap* = 30\n"}, "30"),
    ],
)
def test_files_are_applied_in_the_order_of_sysctl_d(files: dict[str, str], value: str) -> None:
    assert look_at(machine("1\n", files=files)).facts["at_boot"] == value


def test_a_file_that_only_root_may_read_is_unknown() -> None:
    finding = look_at(machine("1\n", files={"/etc/sysctl.d/secret.conf": NoPermission("needs root: secret.conf")}))

    assert finding.status == "unknown" and "needs root" in finding.verdict.reason


def test_a_lower_limit_of_mappings_at_the_next_boot_is_seen() -> None:
    host = machine("1\n", files={"/etc/sysctl.d/z.conf": "vm.max_map_count=65530\n"})
    finding = by_item(run_checks(host, "memory_maps"))[memory_maps.SETTING]

    assert (finding.status, finding.verdict.reason) == (
        "warning", "vm.max_map_count is 262144 now, /etc/sysctl.d/z.conf sets 65530 at the next boot",
    )  # fmt: skip


def test_a_machine_without_kafka_is_left_alone() -> None:
    assert look_at(machine("60\n", roles="")).status == "skipped"


@pytest.mark.parametrize("rubbish", ["", "sixty", "\x00", "1 2"])
def test_rubbish_in_the_setting_is_unknown(rubbish: str) -> None:
    assert look_at(machine(rubbish)).status == "unknown"


@given(st.text(max_size=200))
def test_rubbish_in_sysctl_d_never_fails(text: str) -> None:
    host = machine("1\n", files={"/etc/sysctl.d/x.conf": text})
    findings = run_checks(host, "swappiness", "memory_maps")

    assert not [one for one in findings if "check failed" in one.verdict.reason or one.status == "critical"]
