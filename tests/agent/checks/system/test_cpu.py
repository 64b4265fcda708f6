"""cpu: held loads alarm, momentary ones do not."""

from __future__ import annotations

from typing import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.system import cpu
from agent.host import CpuTimes, Load
from agent.status import Finding
from tests.machine import FakeHost, by_item, next_run, run_checks

QUIET = cpu.Facts((600.0,), (10.0,), (5.0,), (1.0,), (0.5,))
PROCESSORS = 8


@pytest.mark.parametrize(("load", "status"), [(0.0, "ok"), (8.0, "ok"), (8.01, "warning"), (100.0, "warning")])
def test_the_edges_of_the_load(load: float, status: str) -> None:
    assert cpu.judge(cpu.LoadFacts(load, PROCESSORS), cpu.LIMITS).status == status


@pytest.mark.parametrize(("share", "highest"), [("user", 80.0), ("system", 20.0), ("iowait", 20.0), ("softirq", 5.0)])
def test_the_edges_of_each_share_of_time(share: str, highest: float) -> None:
    at, above = ({f"{share}_percent": (value,)} for value in (highest, highest + 0.1))

    assert cpu.judge(QUIET._replace(**at), cpu.LIMITS).status == "ok"
    assert cpu.judge(QUIET._replace(**above), cpu.LIMITS).status == "warning"


@pytest.mark.parametrize(
    ("intervals", "shares", "status"),
    [
        ((600.0,), (90.0,), "warning"),
        ((599.0,), (90.0,), "ok"),
        ((300.0, 300.0), (90.0, 90.0), "warning"),
        ((300.0, 300.0), (90.0, 70.0), "ok"),
        ((300.0, 300.0), (70.0, 90.0), "ok"),
        ((300.0, 200.0, 600.0), (90.0, 90.0, 90.0), "warning"),
        ((60.0, 60.0, 600.0), (90.0, 90.0, 10.0), "ok"),
        ((86_400.0,), (81.0,), "warning"),
    ],
)
def test_only_what_was_held_for_ten_minutes_without_a_break_alarms(
    intervals: Sequence[float], shares: Sequence[float], status: str
) -> None:
    none = (0.0,) * len(intervals)
    facts = cpu.Facts(tuple(intervals), tuple(shares), none, none, none)

    assert cpu.judge(facts, cpu.LIMITS).status == status


def machine(load: float = 1.0) -> FakeHost:
    return FakeHost(answers={"load": Load(99.0, 99.0, load, PROCESSORS), "cpu_times": CpuTimes(100, 50, 5, 1, 1000)})


def later(host: FakeHost, seconds: float, **percent: float) -> FakeHost:
    """The machine some seconds later, having spent these shares of its time."""
    before = host.answers["cpu_times"]
    spent = seconds * PROCESSORS
    spends = {name: spent * share / 100 for name, share in percent.items()}
    now = before._replace(total=before.total + spent, **{name: getattr(before, name) + spends[name] for name in spends})
    return next_run(host, after_s=seconds, answers={"cpu_times": now})


def look_at(host: FakeHost) -> Finding:
    found = by_item(run_checks(host, "cpu"))
    assert sorted(found) == ["cpu", "load"]
    return found["cpu"]


def test_the_first_run_of_a_boot_cannot_tell_and_says_so() -> None:
    finding = look_at(machine())

    assert finding.status == "skipped" and "needs an earlier run since boot" in finding.verdict.reason


def test_a_load_of_one_moment_is_no_alarm() -> None:
    found = by_item(run_checks(machine(load=7.0), "cpu"))

    assert found["load"].status == "ok" and found["load"].facts["load_15_minutes"] == 7.0


def test_a_load_of_fifteen_minutes_is() -> None:
    found = by_item(run_checks(machine(load=16.0), "cpu"))

    assert found["load"].status == "warning" and "(2.00/CPU), limit 1/CPU" in found["load"].verdict.reason


def test_a_share_held_between_two_runs_ten_minutes_apart_alarms_and_is_ok_again_when_it_ends() -> None:
    first = machine()
    look_at(first)
    busy = later(first, 600, iowait=35)

    finding = look_at(busy)
    assert (finding.status, finding.verdict.playbook) == ("warning", "hung-disk")
    assert finding.verdict.reason == "I/O wait 35 % for 10 min, limit 20 %"
    assert look_at(later(busy, 600, iowait=3)).status == "ok"


def test_runs_every_minute_alarm_only_when_ten_of_them_agree() -> None:
    host = machine()
    look_at(host)
    statuses = []
    for _minute in range(11):
        host = later(host, 60, user=95)
        statuses.append(look_at(host).status)

    assert statuses == ["ok"] * 9 + ["warning"] * 2


def test_two_runs_within_seconds_do_not_end_an_alarm() -> None:
    host = machine()
    look_at(host)
    busy = later(host, 700, user=95)
    assert look_at(busy).status == "warning"

    assert look_at(later(busy, 2, user=0)).status == "warning"


def test_runs_every_few_seconds_keep_a_memory_of_bounded_size() -> None:
    host = machine()
    for _run in range(200):
        look_at(host)
        host = later(host, 45, user=95)

    assert look_at(host).status == "warning"
    assert len(host.state.cursor("cpu")) <= cpu.KEPT_S / 45 + 3


def test_a_reboot_begins_anew() -> None:
    host = machine()
    look_at(host)

    assert look_at(next_run(host, boot_id="00000000-0000-4000-8000-000000000002")).status == "skipped"


def test_a_clock_that_was_set_back_does_not_make_nonsense() -> None:
    host = machine()
    look_at(host)

    assert look_at(next_run(host, after_s=-3600)).status == "skipped"


TIMES = st.floats(0, 1e9)


@given(st.lists(st.builds(CpuTimes, TIMES, TIMES, TIMES, TIMES, TIMES), min_size=2, max_size=5))
def test_odd_counters_never_break_the_check(times: list[CpuTimes]) -> None:
    host = machine()
    for seen in times:
        host = next_run(host, after_s=300, answers={"cpu_times": seen})
        finding = look_at(host)
        assert "check failed" not in finding.verdict.reason
        assert all(value >= 0 for row in finding.facts.values() for value in row)
