"""disk_latency: slow is a warning, silent is critical, and neither is told of the past."""

import json
from typing import Optional

import pytest

from agent.checks.disks import disk_latency
from agent.host import Disk
from agent.machine.live import LiveHost
from agent.state import State
from agent.status import Finding
from tests.machine import FakeHost, next_run, run_checks

LIMITS = disk_latency.LIMITS
BUSY = disk_latency.Facts("sda", True, "the last run", 600.0, 5000, 5000, 10000, 4.0, 6.0, 40.0, 2, 2)


def row(reads: int = 1000, read_ms: int = 5000, writes: int = 1000, write_ms: int = 5000, in_flight: int = 0) -> str:
    return f"   8       0 sda {reads} 0 8000 {read_ms} {writes} 0 8000 {write_ms} {in_flight} 9000 10000\n"


def machine(diskstats: str, rotational: bool = True) -> FakeHost:
    disk = Disk("sda", "physical", "ST8000NM0055", "ZA1BC2", "", 8 << 40, rotational, "ata", "", "8:0")
    return FakeHost(files={"/proc/diskstats": diskstats}, answers={"disks": [disk]})


def later(host: FakeHost, diskstats: str, after_s: float = 600.0) -> FakeHost:
    return next_run(host, after_s, files={"/proc/diskstats": diskstats})


def judged(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "disk_latency")
    return finding


@pytest.mark.parametrize(
    ("rotational", "r_await_ms", "w_await_ms", "status"),
    [
        (True, 199.9, 199.9, "ok"),
        (True, 200.0, 5.0, "warning"),
        (True, 5.0, 200.0, "warning"),
        (False, 49.9, 49.9, "ok"),
        (False, 50.0, 1.0, "warning"),
        (True, None, None, "ok"),
    ],
)
def test_the_edges_of_slowness(
    rotational: bool, r_await_ms: Optional[float], w_await_ms: Optional[float], status: str
) -> None:
    facts = BUSY._replace(rotational=rotational, r_await_ms=r_await_ms, w_await_ms=w_await_ms)

    assert disk_latency.judge(facts, LIMITS).status == status


@pytest.mark.parametrize(("reads", "status"), [(99, "ok"), (100, "warning")])
def test_a_few_slow_requests_are_no_sign(reads: int, status: str) -> None:
    assert disk_latency.judge(BUSY._replace(reads=reads, r_await_ms=900.0), LIMITS).status == status


@pytest.mark.parametrize(
    ("before", "now", "answered", "seconds", "status"),
    [
        (1, 1, 0, 10.0, "critical"),
        (1, 1, 0, 9.9, "ok"),
        (1, 1, 1, 600.0, "ok"),
        (0, 1, 0, 600.0, "ok"),
        (1, 0, 0, 600.0, "ok"),
    ],
)
def test_a_disk_hangs_when_requests_wait_and_none_is_answered(
    before: int, now: int, answered: int, seconds: float, status: str
) -> None:
    facts = BUSY._replace(waited_before=before, in_flight=now, answered=answered, seconds=seconds)

    assert disk_latency.judge(facts, LIMITS).status == status


def test_the_first_run_says_that_it_speaks_of_the_time_since_boot() -> None:
    finding = judged(machine(row(in_flight=3)))

    assert finding.status == "ok"
    assert "since boot" in finding.verdict.reason and "3 in flight" in finding.verdict.reason
    assert "no earlier run" in finding.verdict.reason


def test_a_disk_that_answers_nothing_between_two_runs_hangs_and_is_well_when_it_answers() -> None:
    first = machine(row(in_flight=5))
    judged(first)
    second = later(first, row(in_flight=7))
    hanging = judged(second)
    answering = judged(later(second, row(reads=1007, in_flight=0)))

    assert hanging.status == "critical" and hanging.verdict.playbook == "hung-disk"
    assert "sda (ST8000NM0055, serial ZA1BC2) hangs: 7 requests in flight" in hanging.verdict.reason
    assert answering.status == "ok"


def test_old_slowness_is_not_told_again() -> None:
    first = machine(row(reads=1000, read_ms=900_000))
    before = judged(first)
    after = judged(later(first, row(reads=2000, read_ms=905_000)))

    assert before.status == "warning"
    assert (after.status, after.facts["r_await_ms"], after.facts["seconds"]) == ("ok", 5.0, 600.0)


def test_new_slowness_is_told_with_the_disk_and_the_numbers() -> None:
    first = machine(row(), rotational=False)
    judged(first)
    finding = judged(later(first, row(writes=1500, write_ms=5000 + 500 * 80)))

    assert finding.status == "warning"
    assert "writes took 80 ms on average since the last run, limit 50 ms" in finding.verdict.reason


def test_counters_that_fell_belong_to_another_disk() -> None:
    first = machine(row(reads=5000, in_flight=4))
    judged(first)
    finding = judged(later(first, row(reads=10, in_flight=4)))

    assert finding.facts["since"] == "boot"


def test_a_reboot_starts_anew() -> None:
    first = machine(row(in_flight=4))
    judged(first)
    finding = judged(next_run(first, boot_id="00000000-0000-4000-8000-000000000002"))

    assert (finding.status, finding.facts["since"]) == ("ok", "boot")


@pytest.mark.parametrize("rubbish", ["", "\0\0", "8 0 sda", row().replace("sda", "sdb")])
def test_a_disk_that_the_kernel_does_not_count_is_unknown(rubbish: str) -> None:
    assert judged(machine(rubbish)).status == "unknown"


def test_a_machine_without_disks_is_unknown() -> None:
    host = FakeHost(files={"/proc/diskstats": row()}, answers={"disks": []})

    assert judged(host).status == "unknown"


@pytest.mark.parametrize("noted", ['"x"', "[]", "[1,2]", '[1,2,3,4,5,6,7,"a"]', "{}"])
def test_an_odd_memory_is_no_memory(noted: str) -> None:
    first = machine(row())
    judged(first)
    memory = json.loads(first.state.dump())
    memory["cursors"]["disk_latency/sda"] = json.loads(noted)
    host = machine(row())
    host.state = State(host.boot_id(), host.now(), json.dumps(memory))

    assert judged(host).facts["since"] == "boot"


def test_the_disks_of_this_very_machine_answer() -> None:
    host = LiveHost()
    try:
        findings = run_checks(host, "disk_latency")
    finally:
        host.close()
    if findings[0].item == "-":
        pytest.skip(f"no physical disk here: {findings[0].verdict.reason}")

    assert all(finding.status in ("ok", "warning") and finding.facts["seconds"] > 0 for finding in findings)
