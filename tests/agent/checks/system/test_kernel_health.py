"""kernel_health: processors that stand still, servers that wait, heat and slow clocks; each is told, once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.system import kernel_health
from agent.checks.system.kernel_health import BLOCKED, CLOCK_SOURCE, STALLS, THROTTLING
from agent.expected import Expected
from agent.host import NoPermission
from agent.status import Finding
from tests.agent.servers import broker
from tests.agent.sources.kernel.test_line_patterns import QUIET, damaged
from tests.machine import FakeHost, by_item, next_run, run_checks

SOFT = "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [java:4242]"
HARD = "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3"
RCU = "rcu: INFO: rcu_sched self-detected stall on CPU"
HOT = "CPU4: Package temperature above threshold, cpu clock throttled (total events = 83)"
UNSTABLE = (
    "clocksource: timekeeping watchdog on CPU4: Marking clocksource 'tsc' as unstable because the skew is too large:"
)
SOURCES = {
    f"{kernel_health.SOURCES}/current_clocksource": "tsc\n",
    f"{kernel_health.SOURCES}/available_clocksource": "tsc hpet acpi_pm \n",
}


def counters(core: int = 0, package: int = 0) -> dict[str, Any]:
    return {f"/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{kind}_throttle_count": f"{count}\n"
            for cpu in (0, 1) for kind, count in (("core", core), ("package", package))}  # fmt: skip


def records(*texts: str, first: int = 100, at: float = 80_000.0, apart_s: float = 120.0) -> list[str]:
    return [f"4,{first + number},{int((at + number * apart_s) * 1e6)},-;{text}" for number, text in enumerate(texts)]


def machine(*lines: str, files: Any = None, **answers: Any) -> FakeHost:
    given = {"kernel_records": records(*lines), "processes": [broker()], **answers}
    own = {**SOURCES, **counters(), **(files or {})}
    return FakeHost(files=own, answers=given, expected=Expected(roles=("broker",)))


def look(host: FakeHost) -> dict[str, Finding]:
    found = by_item(run_checks(host, "kernel_health"))
    assert not [one for one in found.values() if "check failed" in one.verdict.reason], found
    return found


def test_a_machine_that_is_well_is_left_in_peace() -> None:
    assert {item: one.status for item, one in look(machine(*QUIET)).items()} == dict.fromkeys(kernel_health.ITEMS, "ok")


@pytest.mark.parametrize(
    ("lines", "status"),
    [([SOFT], "warning"), ([RCU], "warning"), ([SOFT] * 2, "warning"), ([SOFT] * 3, "critical"), ([HARD], "critical")],
)
def test_lockups_and_stalls_are_told_by_their_number(lines: list[str], status: str) -> None:
    finding = look(machine(*lines))[STALLS]

    assert (finding.status, finding.verdict.playbook) == (status, "kernel-stalls")


def test_a_stall_is_told_for_a_day_and_no_longer() -> None:
    first = machine(SOFT)
    assert look(first)[STALLS].status == "warning"

    assert look(next_run(first, after_s=20 * 3600))[STALLS].status == "warning"
    assert look(next_run(first, after_s=24 * 3600))[STALLS].status == "ok"


@pytest.mark.parametrize(
    ("text", "thread", "status"),
    [
        ("INFO: task java:4242 blocked for more than 120 seconds.", "", "critical"),
        ("INFO: task kafka-request-h:4301 blocked for more than 122 seconds.", "4301", "critical"),
        ("INFO: task SyncThread:1:4301 blocked in I/O wait for more than 122 seconds.", "4301", "critical"),
        ("INFO: task jbd2/sdd1-8:611 blocked for more than 120 seconds.", "", "ok"),
        ("INFO: task rsync:911 blocked for more than 120 seconds.", "", "ok"),
    ],
)
def test_a_blocked_task_counts_where_it_is_of_a_server(text: str, thread: str, status: str) -> None:
    files = {f"/proc/4242/task/{thread}/comm": "x"} if thread else {}
    finding = look(machine(text, files=files))[BLOCKED]

    assert finding.status == status
    assert status == "ok" or finding.verdict.playbook == "hung-disk"


@pytest.mark.parametrize(("events", "status"), [(59, "ok"), (60, "warning"), (99999, "warning")])
def test_throttling_is_judged_by_how_often_since_the_last_run(events: int, status: str) -> None:
    first = machine(files=counters(500, 500))
    assert look(first)[THROTTLING].status == "ok"

    finding = look(next_run(first, after_s=3600.0, files=counters(500, 500 + events)))[THROTTLING]
    assert finding.status == status
    assert status == "ok" or finding.verdict.playbook == "overheating"


def test_without_counters_the_lines_tell_of_throttling() -> None:
    bare = dict.fromkeys(counters())
    host = machine(HOT, HOT, HOT)
    host.files = {path: text for path, text in host.files.items() if path not in bare}
    quiet = machine()
    quiet.files = {path: text for path, text in quiet.files.items() if path not in bare}

    assert look(host)[THROTTLING].status == "warning"
    assert look(quiet)[THROTTLING].status == "skipped"


@pytest.mark.parametrize(
    ("current", "available", "lines", "status"),
    [
        ("hpet", "tsc hpet acpi_pm", [], "warning"),
        ("acpi_pm", "acpi_pm", [], "ok"),
        ("hpet", "hpet acpi_pm", [UNSTABLE], "warning"),
        ("kvm-clock", "kvm-clock tsc acpi_pm", [], "ok"),
        ("tsc", "tsc", [UNSTABLE], "ok"),
        ("arch_sys_counter", "arch_sys_counter", [], "ok"),
    ],
)
def test_a_slow_clock_source_is_a_warning_where_a_fast_one_was(
    current: str, available: str, lines: list[str], status: str
) -> None:
    files = {f"{kernel_health.SOURCES}/current_clocksource": f"{current}\n",
             f"{kernel_health.SOURCES}/available_clocksource": f"{available} \n"}  # fmt: skip

    assert look(machine(*lines, files=files))[CLOCK_SOURCE].status == status


def test_without_root_the_lines_are_unknown_and_the_rest_is_told() -> None:
    found = look(machine(kernel_records=NoPermission("needs root: /dev/kmsg")))

    assert {item: one.status for item, one in found.items()} == {
        STALLS: "unknown", BLOCKED: "unknown", THROTTLING: "ok", CLOCK_SOURCE: "ok",
    }  # fmt: skip


@given(
    st.lists(damaged() | st.sampled_from([SOFT, HARD, RCU, HOT, UNSTABLE]) | st.text(max_size=60), max_size=8),
    st.text(max_size=30),
)
def test_rubbish_never_fails_the_check(texts: list[str], word: str) -> None:
    files = {f"{kernel_health.SOURCES}/current_clocksource": word,
             "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": word}  # fmt: skip
    rows = [f"6,{number},1000000,-;{text}" for number, text in enumerate(texts)]

    assert len(look(machine(files=files, kernel_records=rows))) == 4
