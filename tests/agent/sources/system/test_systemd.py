"""systemd: the unit of a process, and what systemctl says of units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Answer, Stuck
from agent.sources.system import systemd
from tests.machine import FakeHost


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0::/system.slice/kafka.service\n", "kafka.service"),
        ("12:pids:/x.service\n1:name=systemd:/system.slice/system-kafka.slice/kafka@1.service\n", "kafka@1.service"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", ""),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/kafka.service\n", ""),
        ("0::/system.slice/docker-0a1b.scope\n", ""),
        ("0::/\n", ""),
        ("", ""),
    ],
)
def test_the_unit_of_a_process(text: str, unit: str) -> None:
    assert systemd.unit_of(FakeHost(files={"/proc/7/cgroup": text}), 7) == unit


def test_a_process_that_is_gone_has_no_unit() -> None:
    assert systemd.unit_of(FakeHost(), 7) == ""


# hand-made after systemctl(1): systemd 252 of Debian 12, then 219 of RHEL 7 without NRestarts
SHOWN = """\
Id=kafka.service
LoadState=loaded
ActiveState=active
SubState=running
Result=success
NRestarts=2

Id=zookeeper.service
LoadState=loaded
ActiveState=failed
SubState=failed
Result=oom-kill

Id=confluent-kafka.service
LoadState=not-found
ActiveState=inactive
SubState=dead
Result=success
NRestarts=0
"""
COMMAND = f"systemctl show -p {systemd.PROPERTIES} --"


def test_units_that_exist_are_told_and_others_are_not() -> None:
    host = FakeHost(commands={f"{COMMAND} a.service b.service": Answer(0, SHOWN, "")})

    running, failed = systemd.units(host, "a.service", "b.service")
    assert running == systemd.Unit("kafka.service", True, "active", "active/running", "success", 2)
    assert (failed.state, failed.result, failed.restarts) == ("failed/failed", "oom-kill", -1)


@pytest.mark.parametrize(
    "answer", [Answer(1, "", "System has not been booted with systemd as init system (PID 1)."), Stuck("systemctl", 8)]
)
def test_without_systemd_there_are_no_units(answer: object) -> None:
    assert systemd.units(FakeHost(commands={f"{COMMAND} a.service": answer}), "a.service") == []
    assert systemd.units(FakeHost(), "a.service") == []


@given(st.text() | st.builds(lambda cut, more: SHOWN[:cut] + more, st.integers(0, len(SHOWN)), st.text()))
def test_rubbish_gives_units_or_none(text: str) -> None:
    for unit in systemd.parse_show(text):
        assert unit.name and len(unit.state) < 100 and unit.restarts >= -1
    assert isinstance(systemd.parse_cgroup(text), str)
