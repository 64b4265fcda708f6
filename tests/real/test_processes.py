"""Real processes, real kernel settings, a real clock: what the checks of the operating system see of this machine.

The broker is a stand-in (stand_in_broker.py); everything that is measured of it is real.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Iterator

import pytest

from agent import report
from agent.checks.system import clock
from agent.machine import kernel_clock
from agent.machine.live import LiveHost
from tests.machine import run_checks
from tests.real.parts.stand_in_broker import StandInBroker, as_broker
from tests.real.parts.time_server import chronyd_behind

ROOT = pathlib.Path(__file__).parents[2]
Found = dict[str, dict[str, Any]]


class Agent:
    """`python -m agent` as a program, with a memory of its own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    def __call__(self, *checks: str, limits: dict[str, Any] | None = None, roles: tuple[str, ...] = ()) -> Found:
        """The findings by `check/item`; without roles the agent guesses them."""
        expected = {**({"roles": roles} if roles else {}), "limits": limits or {}}
        (self._folder / "expected.json").write_text(json.dumps(expected))
        options = ["--state", str(self._folder / "state.json"), "--expected", str(self._folder / "expected.json")]
        ended = subprocess.run(
            [sys.executable, "-m", "agent", *checks, *options], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        read = report.read(ended.stdout.splitlines())
        assert not read.bad_lines and not ended.stderr, (read.bad_lines, ended.stderr)
        found = {f"{finding['check']}/{finding['item']}": dict(finding) for finding in read.findings}
        assert not any("check failed" in finding["reason"] for finding in found.values()), found
        return found


@pytest.fixture()
def agent(tmp_path: pathlib.Path) -> Agent:
    return Agent(tmp_path)


@pytest.fixture()
def broker(tmp_path: pathlib.Path) -> Iterator[StandInBroker]:
    with StandInBroker(tmp_path / "kafka") as running:
        yield running


NO_LOWER_LIMIT = {"open_files": {"limit_warning": 0}}


def test_a_running_broker_is_guessed_and_well(agent: Agent, broker: StandInBroker) -> None:
    found = agent("services", "open_files", "out_of_memory", limits=NO_LOWER_LIMIT)

    assert {name: finding["status"] for name, finding in found.items() if "/broker" in name} == {
        "services/broker": "ok",
        "open_files/broker": "ok",
        "out_of_memory/broker": "ok",
    }
    facts = found["services/broker"]["facts"]
    assert (facts["pid"], facts["ports"], facts["closed_ports"]) == (broker.pid, [broker.port], [])
    assert str(broker.error_log) in found["out_of_memory/broker"]["facts"]["searched"]


def test_a_broker_near_its_own_limit_of_open_files(agent: Agent, tmp_path: pathlib.Path) -> None:
    with StandInBroker(tmp_path / "kafka", files_limit=1000) as broker:
        statuses = []
        for count in (100, 720, 880, 100):
            broker.open_files(count)
            found = agent("open_files", limits=NO_LOWER_LIMIT)["open_files/broker"]
            statuses.append(found["status"])
            seen = found["facts"]
            assert seen["open_files_limit"] == 1000 and seen["open_files"] == len(os.listdir(f"/proc/{broker.pid}/fd"))

        assert statuses == ["ok", "warning", "critical", "ok"]
        assert agent("open_files")["open_files/broker"]["status"] == "warning", (
            "a limit of 1000 is too low for a broker"
        )


def max_map_count() -> int:
    return int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())


@pytest.mark.slow
def test_a_broker_near_the_kernels_limit_of_memory_mappings(agent: Agent, broker: StandInBroker) -> None:
    most = max_map_count()
    if most > 300_000:
        pytest.skip(f"vm.max_map_count is {most} here: so many mappings would take too much of a test machine")
    statuses = []
    for percent in (10, 72, 87, 10):
        broker.map_memory(most * percent // 100)
        found = agent("memory_maps")["memory_maps/broker"]
        statuses.append(found["status"])
        assert found["facts"]["maps"] >= most * percent // 100

    assert statuses == ["ok", "warning", "critical", "ok"]


def test_kernel_settings_are_told_as_they_are(agent: Agent) -> None:
    found = agent("memory_maps", "swappiness", "memory", roles=("broker",))
    swappiness = int(pathlib.Path("/proc/sys/vm/swappiness").read_text())
    total_kb = int(pathlib.Path("/proc/meminfo").read_text().split()[1])

    setting = found["memory_maps/vm.max_map_count"]
    assert setting["facts"]["max_map_count"] == max_map_count()
    assert setting["status"] == ("ok" if max_map_count() >= 262_144 else "warning")
    told = found["swappiness/vm.swappiness"]
    matters = swappiness > 1 and told["facts"]["swap_total_bytes"] > 0
    changes = told["facts"]["at_boot"] not in ("", str(swappiness))
    assert told["facts"]["swappiness"] == swappiness
    assert (told["status"] == "ok") == (not matters and not changes)
    assert found["memory/memory"]["facts"]["total_gb"] == pytest.approx(total_kb * 1024 / 1e9, abs=0.1)


def test_a_broker_that_stopped_is_missed_even_without_an_inventory(agent: Agent, broker: StandInBroker) -> None:
    for _run in range(2):  # what one run alone saw, moments after its start, is nobody's loss
        assert agent("services")["services/broker"]["status"] == "ok"
    broker.stop()

    found = agent("services", "open_files")
    assert found["services/broker"]["status"] == "critical"
    assert "config/server.properties" in found["services/broker"]["reason"]
    assert found["open_files/broker"]["status"] == "skipped"
    broker.start()
    assert agent("services")["services/broker"]["facts"]["pid"] == broker.pid


def test_configurations_that_are_pipes_or_large_neither_hang_nor_fill_the_agent(
    agent: Agent, broker: StandInBroker, tmp_path: pathlib.Path
) -> None:
    """Four programs with the looks of a broker, each with a pipe or 8 MB for its configuration."""
    (tmp_path / "sleeper.py").write_text("import time; time.sleep(120)")
    command = as_broker(tmp_path, str(tmp_path / "sleeper.py"))
    (tmp_path / "large").write_bytes(b"x=y\n" * (2 << 20))
    os.mkfifo(tmp_path / "pipe")
    names = ["pipe", "large", "/dev/zero", "pipe"]
    others = [subprocess.Popen([*command, name], cwd=tmp_path) for name in names]
    try:
        began = time.monotonic()
        found = agent("services", "mounts")
        assert time.monotonic() - began < 20
        assert found[f"services/broker {broker.config.relative_to(broker.folder)}"]["status"] == "ok"
        assert sum("cannot be read" in finding["reason"] for finding in found.values()) == len(names)
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_broker_that_runs_but_does_not_listen(agent: Agent, broker: StandInBroker) -> None:
    broker.stop_listening()
    starting = agent("services")["services/broker"]
    started = agent("services", limits={"services": {"starting_minutes": 0}})["services/broker"]

    assert (starting["status"], started["status"]) == ("warning", "critical")
    assert f"does not listen on port {broker.port}" in started["reason"]


def test_a_broker_that_is_stopped_while_the_kernel_accepts_for_it(agent: Agent, broker: StandInBroker) -> None:
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        with socket.create_connection(("127.0.0.1", broker.port), 10):  # the kernel accepts
            stopped = agent("services")["services/broker"]
    finally:
        os.kill(broker.pid, signal.SIGCONT)

    assert stopped["status"] == "critical" and f"kill -CONT {broker.pid}" in stopped["reason"]
    assert agent("services")["services/broker"]["status"] == "ok"


def test_a_restart_between_two_runs_is_told(agent: Agent, broker: StandInBroker) -> None:
    agent("services")
    broker.restart()

    for _run in range(2):
        found = agent("services")["services/broker"]
        assert (found["status"], found["facts"]["restarted_times"]) == ("warning", [1])
    assert agent("services", limits={"services": {"clear_after_hours": 0}})["services/broker"]["status"] == "ok"


HEAP = "java.lang.OutOfMemoryError: Java heap space"


def test_an_out_of_memory_error_is_told_once_and_ends_by_its_clear_rule(agent: Agent, broker: StandInBroker) -> None:
    def look(**limits: float) -> dict[str, Any]:
        return agent("out_of_memory", limits={"out_of_memory": limits})["out_of_memory/broker"]

    broker.write(broker.error_log, f"{HEAP}, from before the agent came\n")
    assert look()["status"] == "ok"
    broker.write(broker.error_log, f"{HEAP}\n\tat kafka.Kafka.main\n")

    first, again = look(), look()
    assert first["status"] == again["status"] == "critical"
    assert f"{HEAP} in {broker.error_log}" in first["reason"]
    assert first["facts"]["times"] == again["facts"]["times"] == [1]
    assert first["first_seen"] == again["first_seen"]
    assert look(clear_after_hours=0)["status"] == "ok"


def test_an_out_of_memory_error_in_a_log_that_was_rotated_since_is_not_missed(
    agent: Agent, broker: StandInBroker
) -> None:
    broker.write(broker.server_log, "[2026-11-18 10:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    assert agent("out_of_memory")["out_of_memory/broker"]["status"] == "ok"
    broker.write(broker.server_log, f"[2026-11-18 10:30:00,000] ERROR (kafka.Kafka)\n{HEAP}\n")
    broker.server_log.rename(f"{broker.server_log}.2026-11-18-10")
    broker.server_log.write_text("[2026-11-18 11:00:00,000] INFO all is well\n")

    assert agent("out_of_memory")["out_of_memory/broker"]["facts"]["times"] == [1]


@pytest.mark.slow
def test_processor_time_is_judged_between_real_runs(agent: Agent) -> None:
    held = {"cpu": {"held_minutes": 0.01, "user_percent_warning": 0, "system_percent_warning": 0}}
    assert agent("cpu", limits=held)["cpu/cpu"]["status"] == "skipped"
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        sum(range(1000))

    found = agent("cpu", limits=held)["cpu/cpu"]
    assert found["status"] == "warning" and "user time" in found["reason"]
    assert 0 < found["facts"]["user_percent"][0] <= 100
    load = float(pathlib.Path("/proc/loadavg").read_text().split()[2])
    assert agent("cpu")["cpu/load"]["facts"]["load_15_minutes"] == pytest.approx(load, abs=0.5)


# modes, padding, offset, freq, maxerror, esterror, status of struct timex, asked without changing anything
PERL = "my $b = pack('x208'); my $r = syscall(159, $b); print join(' ', $r, unpack('x8 q x8 q x8 l', $b));"


def test_the_kernels_clock_is_read_as_another_program_reads_it() -> None:
    if platform.machine() != "x86_64" or not shutil.which("perl"):
        pytest.skip("needs perl on x86_64 (package perl)")
    printed = subprocess.run(["perl", "-e", PERL], capture_output=True, text=True, check=True).stdout
    code, offset, max_error_us, flags = (int(word) for word in printed.split())
    seen = LiveHost().kernel_clock()

    assert seen.synchronised == (code != kernel_clock.TIME_ERROR and not flags & kernel_clock.STA_UNSYNC)
    assert seen.max_error_ms == pytest.approx(max_error_us / 1000, abs=5)
    assert seen.offset_ms == pytest.approx(offset / (1e6 if flags & kernel_clock.STA_NANO else 1e3), abs=1)


def time_daemon_runs() -> bool:
    return any(
        process.name in ("chronyd", "ntpd", "systemd-timesyncd", "phc2sys") for process in LiveHost().processes()
    )


ADJ_MAXERROR, ADJ_STATUS = 0x04, 0x10


def set_kernel_clock(flags: int, max_error_us: int) -> None:
    """Only what the kernel says of its clock; the time itself is not touched."""
    timex = kernel_clock.Timex(modes=ADJ_MAXERROR | ADJ_STATUS, status=flags, maxerror=max_error_us)
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
        pytest.skip(f"the kernel's clock cannot be set here: {os.strerror(ctypes.get_errno())}")


@pytest.fixture()
def kernel_clock_restored() -> Iterator[None]:
    if time_daemon_runs():
        pytest.skip("a time daemon keeps the clock of this machine")
    before = kernel_clock.Timex()
    ctypes.CDLL(None).adjtimex(ctypes.byref(before))
    yield
    set_kernel_clock(before.status, before.maxerror)


@pytest.mark.root
@pytest.mark.usefixtures("kernel_clock_restored")
def test_a_kernel_clock_is_ok_while_it_is_kept_then_a_warning_then_critical(agent: Agent) -> None:
    for flags, max_error_us, status in (
        (0, 5_000, "ok"),
        (0, 3_000_000, "warning"),
        (kernel_clock.STA_UNSYNC, 16_000_000, "critical"),
    ):
        set_kernel_clock(flags, max_error_us)
        assert agent("clock", roles=("broker",))["clock/clock"]["status"] == status


@pytest.fixture()
def chronyd_behind_by_3_s(tmp_path: pathlib.Path) -> Iterator[None]:
    if time_daemon_runs():
        pytest.skip("a time daemon keeps the clock of this machine")
    with chronyd_behind(tmp_path, 3.0):
        yield


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.usefixtures("chronyd_behind_by_3_s")
def test_a_real_chronyd_that_says_normal_while_the_clock_is_seconds_off_is_critical() -> None:
    until = time.monotonic() + 30
    (finding,) = run_checks(LiveHost(), "clock")
    while not finding.facts.get("synchronised") and time.monotonic() < until:
        time.sleep(0.5)
        (finding,) = run_checks(LiveHost(), "clock")

    assert finding.facts["synchronised"] and finding.facts["daemons"] == ("chronyd",)
    assert finding.facts["offset_ms"] == pytest.approx(3000, abs=200)
    assert (finding.status, finding.verdict.playbook) == ("critical", clock.PLAYBOOK)
    assert "(chronyd)" in finding.verdict.reason


def test_a_megabyte_in_one_line_of_a_log_does_not_hold_the_agent(agent: Agent, broker: StandInBroker) -> None:
    """What any user can do who may start a program with the looks of a broker: the agent has 60 s, and needs a few."""
    agent("kafka_log")
    broker.write(broker.server_log, "ERROR x " + "/a" * (1 << 19) + ": No space left on device\n")
    broker.write(broker.server_log, "ERROR " * (1 << 18) + "LogDirFailureChannel)\n")
    began = time.monotonic()

    assert any(name.startswith("kafka_log/broker") for name in agent("kafka_log"))
    assert time.monotonic() - began < 45
