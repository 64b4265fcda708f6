"""services: the broker and ZooKeeper run, listen, and were not restarted behind anybody's back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.kafka import services
from agent.expected import Expected
from agent.host import Answer, CannotTell, Touched
from agent.sources.system import systemd
from agent.status import Finding
from tests.agent.servers import BROKER_CONFIG, answers, broker, machine, tcp_table, zookeeper
from tests.machine import NOW, FakeHost, by_item, next_run, run_checks

HEALTHY = services.Facts(
    item="broker",
    pid=4242,
    up_s=86400,
    seen_at="2026-11-18T11:06Z",
    config_path=BROKER_CONFIG,
    unit="kafka.service",
    unit_state="active/running",
    unit_holds_process=True,
    ports=(9092,),
    closed_ports=(),
    restarted_hours_ago=(),
    restarted_times=(),
)


def status(**facts: Any) -> str:
    return services.judge(HEALTHY._replace(**facts), services.LIMITS).status


def test_a_healthy_broker_is_ok() -> None:
    assert status() == "ok"
    assert status(unit="", unit_state="") == "ok"


@pytest.mark.parametrize(
    ("up_s", "expected"), [(0, "warning"), (599, "warning"), (600, "critical"), (10**6, "critical")]
)
def test_the_edges_of_the_time_to_start(up_s: float, expected: str) -> None:
    assert status(closed_ports=(9092,), up_s=up_s) == expected


@pytest.mark.parametrize(("hours", "expected"), [(0.0, "warning"), (23.99, "warning"), (24.0, "ok"), (100.0, "ok")])
def test_the_edges_of_the_time_for_which_a_restart_is_told(hours: float, expected: str) -> None:
    assert status(restarted_hours_ago=(hours,), restarted_times=(1,)) == expected


@pytest.mark.parametrize("state", ["failed/failed", "inactive/dead", "deactivating/stop-sigterm", "activating/start"])
def test_a_unit_that_is_not_active_is_a_warning_while_the_process_runs(state: str) -> None:
    assert status(unit_state=state) == "warning"


def test_ports_that_nobody_knows_are_unknown() -> None:
    assert status(ports=()) == "unknown"


def look_at(host: FakeHost, item: str = "broker") -> Finding:
    found = by_item(run_checks(host, "services"))
    assert item in found, found
    assert "check failed" not in found[item].verdict.reason
    return found[item]


def test_a_running_listening_broker_is_ok() -> None:
    finding = look_at(machine(broker()))

    assert (finding.status, finding.verdict.reason) == (
        "ok",
        "broker is running (process 4242, up 24 h), listens on 9092",
    )


def test_a_broker_that_the_inventory_names_and_nobody_ever_saw_is_critical() -> None:
    finding = look_at(machine(zookeeper(), roles=("broker", "zookeeper")))

    assert (finding.status, finding.verdict.playbook) == ("critical", "broker-down")
    assert finding.verdict.reason == "no broker process"


def test_a_broker_that_stopped_is_critical_with_its_file_and_time_and_ok_again_when_it_runs() -> None:
    before = machine(broker())
    look_at(before)
    stopped = next_run(before, answers={"processes": []})
    finding = look_at(stopped)

    assert finding.status == "critical"
    assert finding.verdict.reason == f"no broker process ({BROKER_CONFIG}), last seen 2026-11-18T11:06Z"
    assert look_at(next_run(stopped, answers=answers([broker()]))).status == "ok"


def test_one_of_two_brokers_that_stopped_is_critical() -> None:
    second = broker(pid=2, config="/etc/kafka/b.properties")
    before = machine(broker(), second)
    look_at(before, f"broker {BROKER_CONFIG}")

    finding = look_at(next_run(before, answers=answers([broker()])), "broker /etc/kafka/b.properties")
    assert finding.status == "critical"


def test_a_closed_port_is_critical() -> None:
    finding = look_at(machine(broker(), files={"/proc/4242/net/tcp": tcp_table(2181)}))

    assert finding.status == "critical"
    assert "does not listen on port 9092" in finding.verdict.reason


def test_a_broker_whose_listeners_are_ipv6_listens() -> None:
    files = {"/proc/4242/net/tcp": tcp_table(), "/proc/4242/net/tcp6": tcp_table(9092)}

    assert look_at(machine(broker(), files=files)).status == "ok"


def test_ports_that_only_the_inventory_names_are_asked_of_the_first_server() -> None:
    expected = Expected(roles=("broker", "zookeeper"), ports=(9092, 2181, 9999))
    found = by_item(run_checks(machine(broker(), zookeeper(), expected=expected), "services"))

    assert found["broker"].facts["closed_ports"] == (9999,)
    assert found["zookeeper"].status == "ok"


def test_the_port_of_a_missing_server_is_not_asked_of_another() -> None:
    expected = Expected(roles=("broker", "zookeeper"), ports=(9092, 2181))
    found = by_item(run_checks(machine(zookeeper(), expected=expected), "services"))

    assert (found["zookeeper"].status, found["broker"].status) == ("ok", "critical")


def test_an_unreadable_configuration_is_unknown_unless_the_inventory_names_the_ports() -> None:
    unreadable = {f"touch read {BROKER_CONFIG}": Touched("EACCES", {"error": "Permission denied"})}
    host = machine(broker(), answers=unreadable)
    assert look_at(host).status == "unknown"

    named = machine(broker(), answers=unreadable, expected=Expected(roles=("broker",), ports=(9092,)))
    assert look_at(named).status == "ok"


def test_ports_that_cannot_be_told_are_unknown() -> None:
    host = machine(broker(), files={"/proc/4242/net/tcp": CannotTell("/proc/4242/net/tcp: Invalid argument")})

    assert look_at(host).status == "unknown"


def test_a_combined_server_is_the_controller_too() -> None:
    combined = {f"touch read {BROKER_CONFIG}": Touched("", {"text": "process.roles=broker,controller\n"})}
    found = by_item(run_checks(machine(broker(), roles=("broker", "controller"), answers=combined), "services"))

    assert {item: finding.status for item, finding in found.items()} == {"broker": "ok"}


def test_a_restart_between_runs_is_told_for_a_day_and_counted_once() -> None:
    before = machine(broker())
    look_at(before)
    again = [broker(pid=5000, started_at=NOW + 3000)]
    restarted = next_run(before, after_s=3600, answers=answers(again), files={"/proc/5000/net/tcp": tcp_table(9092)})

    finding = look_at(restarted)
    assert finding.status == "warning"
    assert finding.verdict.reason == "broker was restarted 10 min ago without a reboot of the machine"
    later = next_run(restarted, after_s=20 * 3600)
    assert look_at(later).facts["restarted_times"] == (1,)
    assert look_at(later).status == "warning"
    assert look_at(next_run(later, after_s=5 * 3600)).status == "ok"


def test_a_start_after_a_reboot_is_no_restart() -> None:
    before = machine(broker())
    look_at(before)
    other_boot = "00000000-0000-4000-8000-000000000002"
    after = next_run(before, answers=answers([broker(pid=900, started_at=NOW)]), boot_id=other_boot)
    after.files["/proc/900/net/tcp"] = tcp_table(9092)

    assert look_at(after).status == "ok"


# /proc/<pid>/stat: the 22nd field is when it began, in ticks since the boot
BEGAN = "4242 (java) S 1 4242 4242 0 -1 1077936384 1113 0 0 0 3 1 0 0 20 0 88 0 {} 12 4 18446744073709551615"


@pytest.mark.parametrize("step_s", [2, 8, -3600])
def test_a_start_time_that_moved_with_the_clock_is_no_restart(step_s: int) -> None:
    before = machine(broker(started_at=NOW - 9000), files={"/proc/4242/stat": BEGAN.format(8841)})
    look_at(before)

    assert look_at(next_run(before, answers=answers([broker(started_at=NOW - 9000 + step_s)]))).status == "ok"


def test_a_process_with_the_number_of_the_one_before_is_a_restart() -> None:
    before = machine(broker(), files={"/proc/4242/stat": BEGAN.format(8841)})
    look_at(before)

    told = answers([broker(started_at=NOW - 60)])
    again = next_run(before, answers=told, files={"/proc/4242/stat": BEGAN.format(990_000)})
    assert "was restarted" in look_at(again).verdict.reason


@pytest.mark.parametrize("noted", [[4242, NOW - 86400 + 60], [4242, ""], "rubbish", [4242]])
def test_what_an_older_agent_noted_of_a_start_is_not_compared(noted: Any) -> None:
    before = machine(broker(), files={"/proc/4242/stat": BEGAN.format(8841)})
    before.state.set_cursor("services/broker", noted)

    assert look_at(next_run(before)).status == "ok"


def systemd_says(names: str, **fields: str) -> dict[str, Any]:
    given = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success", **fields}
    text = "".join(f"{key}={value}\n" for key, value in {"Id": names.split(" ")[0], **given}.items())
    return {f"systemctl show -p {systemd.PROPERTIES} -- {names}": Answer(0, text, "")}


IN_UNIT = {"/proc/4242/cgroup": "0::/system.slice/kafka.service\n"}
BY_NAME = " ".join(services.UNITS["broker"])


def test_a_crash_loop_is_counted_by_systemd() -> None:
    before = machine(broker(), files=IN_UNIT, commands=systemd_says("kafka.service", NRestarts="0"))
    look_at(before)
    files = {"/proc/5000/cgroup": IN_UNIT["/proc/4242/cgroup"], "/proc/5000/net/tcp": tcp_table(9092)}
    after = next_run(
        before,
        answers=answers([broker(pid=5000, started_at=NOW + 590)]),
        files=files,
        commands=systemd_says("kafka.service", NRestarts="7"),
    )

    assert "restarted 7 times in 24 h" in look_at(after).verdict.reason


def test_a_broker_started_by_hand_beside_its_unit_is_a_warning() -> None:
    by_hand = {"/proc/4242/cgroup": "0::/user.slice/user-0.slice/session-3.scope\n"}
    stopped = systemd_says(BY_NAME, ActiveState="inactive", SubState="dead")

    finding = look_at(machine(broker(), files=by_hand, commands=stopped))
    assert finding.status == "warning"
    assert finding.verdict.reason.startswith("kafka.service is inactive/dead although broker is running")


def test_a_stopped_broker_is_told_with_what_its_unit_says() -> None:
    failed = systemd_says(BY_NAME, ActiveState="failed", SubState="failed", Result="oom-kill")

    finding = look_at(machine(commands=failed))
    assert finding.status == "critical"
    assert finding.verdict.reason == "no broker process; kafka.service is failed/failed, oom-kill"


def test_without_a_role_there_is_nothing_to_ask() -> None:
    (finding,) = run_checks(machine(roles=()), "services")

    assert finding.status == "skipped"


def test_a_machine_that_shows_no_processes_is_unknown() -> None:
    (finding,) = run_checks(machine(answers={"processes": CannotTell("/proc cannot be read")}), "services")

    assert (finding.status, finding.verdict.reason) == ("unknown", "/proc cannot be read")


@given(st.text(), st.text(), st.text())
def test_odd_words_of_the_machine_never_break_the_check(cgroup: str, table: str, config: str) -> None:
    host = machine(
        broker(),
        files={"/proc/4242/cgroup": cgroup, "/proc/4242/net/tcp": table},
        answers={f"touch read {BROKER_CONFIG}": Touched("", {"text": config})},
    )

    assert look_at(host).status in ("critical", "unknown")


# A process that is held while the kernel goes on accepting for it

# /proc/<pid>/stat of a stopped process
STAT = "4242 (java) {} 1 4242 4242 0 -1 1077936384 1113 0 0 0 3 1 0 0 20 0 88 0 8841 12 4 18446744073709551615"


@pytest.mark.parametrize(
    ("state", "expected"), [("T", "critical"), ("t", "warning"), ("S", "ok"), ("R", "ok"), ("D", "ok")]
)
def test_a_process_that_is_stopped_while_its_port_accepts_is_critical(state: str, expected: str) -> None:
    host = machine(broker(), files={"/proc/4242/stat": STAT.format(state)})
    (finding,) = run_checks(host, "services")

    assert finding.status == expected
    if state == "T":
        assert "(process 4242) is stopped (SIGSTOP): no reply to clients; kill -CONT 4242" in finding.verdict.reason


@pytest.mark.parametrize(
    ("events", "expected"), [("populated 1\nfrozen 1\n", "critical"), ("populated 1\nfrozen 0\n", "ok")]
)
def test_a_process_whose_cgroup_is_frozen_is_critical(events: str, expected: str) -> None:
    files = {"/proc/4242/cgroup": "0::/system.slice/kafka.service\n",
             "/sys/fs/cgroup/system.slice/kafka.service/cgroup.events": events}  # fmt: skip
    (finding,) = run_checks(machine(broker(), files=files), "services")

    assert finding.status == expected


@pytest.mark.parametrize(("state", "expected"), [("FROZEN", "critical"), ("FREEZING", "critical"), ("THAWED", "ok")])
def test_a_process_in_a_frozen_cgroup_of_version_1_is_critical(state: str, expected: str) -> None:
    """`docker pause` on a machine with cgroup v1: the process is in state D, and its port accepts."""
    files = {"/proc/4242/cgroup": "9:memory:/docker/0a1b\n7:freezer:/docker/0a1b\n0::/\n",
             "/sys/fs/cgroup/freezer/docker/0a1b/freezer.state": f"{state}\n"}  # fmt: skip
    (finding,) = run_checks(machine(broker(), files=files), "services")

    assert finding.status == expected
    assert (state == "THAWED") == ("docker unpause" not in finding.verdict.reason)


@given(st.text(max_size=80))
def test_rubbish_in_the_processs_state_never_fails(text: str) -> None:
    host = machine(broker(), files={"/proc/4242/stat": text, "/proc/4242/cgroup": text})
    (finding,) = run_checks(host, "services")

    assert "check failed" not in finding.verdict.reason
