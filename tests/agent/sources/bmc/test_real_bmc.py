"""The checks power, cooling and chassis against a real BMC over RMCP+: OpenIPMI's, asked by the real ipmitool."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from agent.checks.hardware import power
from agent.expected import Bmc, Expected
from agent.machine.live import LiveHost
from agent.recording.recorded_host import RecordingHost, ReplayHost
from agent.sources.bmc import event_log, ipmitool
from agent.state import State
from agent.status import Finding
from tests.machine import by_item, run_checks
from tests.real.parts import bmc as sim
from tests.real.parts.bmc import RealBmc, real_bmc

ROOT = pathlib.Path(__file__).parents[4]
AT_ONCE: Mapping[str, Any] = {name: {"clear_after_hours": 0} for name in ("power", "cooling", "chassis")}


@pytest.fixture()
def bmc(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealBmc]:
    monkeypatch.setenv("IPMI_PASSWORD", sim.PASSWORD)
    with real_bmc(tmp_path) as running:
        yield running


class Agent:
    """Runs of the agent, one after the other, with its memory between them."""

    def __init__(self, bmc: Bmc, **expected: Any) -> None:
        self.expected = Expected(bmc=bmc, **expected)
        self.memory = ""

    def run(self, *checks: str) -> dict[str, dict[str, Finding]]:
        host = LiveHost(self.expected)
        try:
            host.state = State(host.boot_id(), host.now(), self.memory)
            findings = run_checks(host, *checks, deadline_s=60)
            self.memory = host.state.dump()
        finally:
            host.close()
        return {check: by_item([found for found in findings if found.check == check]) for check in checks}


def statuses(items: Mapping[str, Finding]) -> dict[str, str]:
    return {name: finding.status for name, finding in items.items()}


def test_a_healthy_machine_raises_no_alarm(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected, psus=2)
    for _run in range(2):
        found = agent.run("power", "cooling", "chassis")

        assert statuses(found["power"]) == {"PS1": "ok", "PS2": "ok", "redundancy": "ok"}
        assert statuses(found["cooling"]) == {"FAN1": "ok", "Inlet Temp": "ok"}
        assert set(statuses(found["chassis"]).values()) == {"ok"}
        assert set(found["chassis"]) == {"chassis status", "event log", "voltages", "sensors", "Drive 0"}


@pytest.mark.parametrize(
    ("bit", "status", "words"),
    [
        (sim.FAILURE, "critical", "PS1 has failed"),
        (sim.AC_LOST, "critical", "PS1 lost AC"),
        (sim.PREDICTIVE, "warning", "PS1 predicts its own failure"),
    ],
)
def test_a_power_supply_that_fails_is_seen_and_is_ok_again_when_mended(
    bmc: RealBmc, bit: int, status: str, words: str
) -> None:
    agent = Agent(bmc.expected, limits=AT_ONCE)
    agent.run("power")
    bmc.set_bit(sim.PS1, bit, True)
    failed = agent.run("power")["power"]
    bmc.set_bit(sim.PS1, bit, False)
    mended = agent.run("power")["power"]

    assert failed["PS1"].status == status and failed["PS1"].verdict.reason.startswith(words)
    assert failed["PS2"].status == "ok"
    assert statuses(mended) == {"PS1": "ok", "PS2": "ok", "redundancy": "ok"}


def test_the_reason_says_that_the_other_one_is_ok_and_nothing_is_left_to_spare(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected)
    agent.run("power")
    bmc.set_bit(sim.PS2, sim.AC_LOST, True)
    bmc.only_bit(sim.REDUNDANCY, 1)
    found = agent.run("power")["power"]

    assert "PS1 ok: no redundancy" in found["PS2"].verdict.reason
    assert found["PS2"].verdict.playbook == "lost-psu"
    assert "Z, PS1 ok" in found["PS2"].verdict.reason, "the time of the event is told"
    assert found["redundancy"].status == "critical"


def test_a_power_supply_that_is_pulled_is_absent(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected)
    agent.run("power")
    bmc.set_bit(sim.PS2, sim.PRESENT, False)
    found = agent.run("power")["power"]

    assert found["PS2"].status == "critical"
    assert found["PS2"].verdict.reason.startswith("PS2 is absent")


def test_a_feed_that_was_lost_and_is_back_is_a_warning_that_is_not_told_anew(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected)
    agent.run("power")
    bmc.set_bit(sim.PS1, sim.AC_LOST, True)
    bmc.set_bit(sim.PS1, sim.AC_LOST, False)
    first, second = agent.run("power")["power"], agent.run("power")["power"]

    assert first["PS1"].status == second["PS1"].status == "warning"
    assert "lost AC" in first["PS1"].verdict.reason and "recovered since" in first["PS1"].verdict.reason
    assert second["PS1"].facts["clocks"] == first["PS1"].facts["clocks"]
    assert second["PS1"].first_seen == first["PS1"].first_seen


def test_what_the_log_held_before_the_first_run_and_has_no_date_is_old_news(bmc: RealBmc) -> None:
    bmc.set_bit(sim.PS1, sim.AC_LOST, True)
    bmc.set_bit(sim.PS1, sim.AC_LOST, False)

    assert Agent(bmc.expected).run("power")["power"]["PS1"].status == "ok"


def test_fans_temperatures_voltages_drives_and_intrusion(bmc: RealBmc) -> None:
    bmc.set_value(sim.FAN, 9)
    bmc.set_value(sim.INLET, 46)
    bmc.set_value(sim.VOLT, 10)
    bmc.set_bit(sim.DRIVE, 1, True)
    bmc.set_bit(sim.INTRUSION, 0, True)
    found = Agent(bmc.expected).run("cooling", "chassis")

    assert found["cooling"]["FAN1"].status == "critical"
    assert "900 RPM, past its lower critical threshold" in found["cooling"]["FAN1"].verdict.reason
    assert found["cooling"]["Inlet Temp"].status == "warning"
    assert found["chassis"]["voltages"].status == "critical"
    assert found["chassis"]["Drive 0"].status == "critical"
    assert found["chassis"]["Drive 0"].verdict.playbook == "replace-jbod-disk"
    assert found["chassis"]["sensors"].status == "warning"


def test_a_machine_that_ran_hot_and_cooled_down_is_a_warning(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected)
    agent.run("cooling")
    bmc.set_value(sim.INLET, 52)
    bmc.set_value(sim.INLET, 24)
    found = agent.run("cooling")["cooling"]

    assert found["Inlet Temp"].status == "warning"
    assert "critical at" in found["Inlet Temp"].verdict.reason


def test_events_of_processors_and_memory_are_told_once(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected)
    agent.run("chassis")
    bmc.add_event(0x07, 0x40, 0x6F, [0, 0xFF, 0xFF])  # processor IERR
    bmc.add_event(0x0C, 0x41, 0x6F, [1, 0xFF, 0xFF])  # uncorrectable ECC
    first = agent.run("chassis")["chassis"]["event log"]
    second = agent.run("chassis")["chassis"]["event log"]
    host = LiveHost(agent.expected)
    host.state = State(host.boot_id(), host.now(), agent.memory)
    memory = event_log.memory_incidents(host)
    host.close()

    assert first.status == "critical" and "IERR" in first.verdict.reason
    assert second.verdict.reason == first.verdict.reason
    assert [(item, incident.kind) for item, incident in memory] == [("Memory #0x41", "uncorrectable")]


def test_a_wrong_password_is_unknown_that_says_so_and_leaks_nothing(
    bmc: RealBmc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPMI_PASSWORD", "not-the-password")
    found = Agent(bmc.expected).run("power", "cooling", "chassis")

    for check in found:
        (finding,) = found[check].values()
        assert finding.status == "unknown"
        assert finding.verdict.reason == "the BMC at 127.0.0.1 refused the password of user admin"


def test_an_unknown_user_is_unknown_that_says_so(bmc: RealBmc) -> None:
    (finding,) = Agent(bmc.expected._replace(user="nobody")).run("power")["power"].values()

    assert (finding.status, "has no user nobody" in finding.verdict.reason) == ("unknown", True)


def test_a_password_variable_that_is_not_set_is_named(bmc: RealBmc) -> None:
    (finding,) = Agent(bmc.expected._replace(password_env="SMOKE_BMC_OF_RACK_7")).run("power")["power"].values()

    assert finding.status == "unknown"
    assert finding.verdict.reason == "the environment variable SMOKE_BMC_OF_RACK_7 is not set"


@pytest.mark.slow
def test_a_bmc_that_falls_silent_is_unknown_once_per_check_with_the_time_waited(bmc: RealBmc) -> None:
    agent = Agent(bmc.expected)
    agent.run("power", "cooling", "chassis")
    bmc.freeze()
    silent = agent.run("power", "cooling", "chassis")
    bmc.thaw()
    again = agent.run("power")["power"]

    for check in silent:
        (finding,) = silent[check].values()
        assert finding.status == "unknown"
        assert f"timed out after {ipmitool.FIRST_DEADLINE_S:.0f} s" in finding.verdict.reason
        assert finding.duration_ms < power.DEADLINE_S * 1000
    assert statuses(again) == {"PS1": "ok", "PS2": "ok", "redundancy": "ok"}


@pytest.mark.slow
def test_the_agent_itself_as_a_program_with_a_password_in_a_variable_of_another_name(
    bmc: RealBmc, tmp_path: pathlib.Path
) -> None:
    bmc.set_bit(sim.PS1, sim.FAILURE, True)
    expected = {"bmc": {"via": "lan", "address": "127.0.0.1", "port": bmc.port, "user": sim.USER}}
    expected["bmc"]["password_env"] = "SMOKE_BMC_PW"
    (tmp_path / "expected.json").write_text(json.dumps(expected))
    words = ["power", "--expected", str(tmp_path / "expected.json"), "--state", str(tmp_path / "memory" / "state.json")]
    environment = {name: value for name, value in os.environ.items() if name != "IPMI_PASSWORD"}
    ended = subprocess.run(
        [sys.executable, "-m", "agent", *words, "--record", str(tmp_path / "recorded")],
        cwd=ROOT,
        env={**environment, "SMOKE_BMC_PW": sim.PASSWORD},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    rows = [json.loads(line) for line in ended.stdout.splitlines()[1:]]
    written = "".join(
        f"{path}{path.read_text(errors='replace')}" for path in (tmp_path / "recorded").rglob("*") if path.is_file()
    )

    assert ended.returncode == 2, ended.stderr
    assert {row["item"]: row["status"] for row in rows if row["check"] == "power"}["PS1"] == "critical"
    assert "ipmitool" in written
    assert sim.PASSWORD not in ended.stdout + ended.stderr + written
    replayed = by_item(run_checks(ReplayHost(str(tmp_path / "recorded")), "power"))
    assert replayed["PS1"].status == "critical", "the recording can be replayed, without a BMC"


def test_the_password_is_on_no_command_line(bmc: RealBmc) -> None:
    asked: list[str] = []

    class Listening(RecordingHost):
        def run(self, *argv: str, **options: Any) -> Any:
            asked.append(" ".join(argv))
            return super().run(*argv, **options)

    machine = LiveHost(Expected(bmc=bmc.expected))
    host = Listening(machine)
    host.state = State(host.boot_id(), host.now())
    run_checks(host, "power", deadline_s=60)
    machine.close()

    assert len(asked) <= 5, "a refused cipher suite, chassis status, sensors, and the event log's size and end"
    assert not any(sim.PASSWORD in line for line in asked)
