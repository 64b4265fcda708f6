"""clock: the offset that a daemon or the kernel tells, and whether anybody keeps the clock at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.system import clock
from agent.expected import Expected
from agent.host import Answer, CannotTell, KernelClock, Process, ToolMissing, Touched
from agent.status import Finding
from tests.agent.sources.system.test_time_daemons import (
    CHRONY_3_S,
    CHRONY_LOCAL,
    CHRONY_START,
    NTPQ,
    NTPQ_LOST,
    TIMESYNC,
    TIMESYNC_DROPPED,
    TIMESYNC_LOST,
    mutilated,
)
from tests.machine import NOW, FakeHost, next_run, run_checks

HEALTHY = clock.Facts(
    daemons=("chronyd",),
    source="chronyd",
    synchronised=True,
    offset_ms=0.02,
    reference="192.0.2.1",
    own_clock=False,
    unheard_s=60,
    daemon_age_s=86400,
    kernel_max_error_ms=5.0,
)
NOBODY = HEALTHY._replace(daemons=(), source=clock.KERNEL, unheard_s=None, daemon_age_s=None)


def status(facts: clock.Facts) -> str:
    return clock.judge(facts, clock.LIMITS).status


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("off", "expected"),
    [(0.0, "ok"), (49.9, "ok"), (50.0, "warning"), (499.9, "warning"), (500.0, "critical"), (9e9, "critical")],
)
def test_the_edges_of_the_offset(off: float, expected: str, sign: int) -> None:
    assert status(HEALTHY._replace(offset_ms=sign * off)) == expected


@pytest.mark.parametrize(("age", "expected"), [(0, "warning"), (299, "warning"), (300, "critical"), (None, "critical")])
def test_the_edges_of_the_time_that_a_daemon_has_to_find_its_servers(age: float, expected: str) -> None:
    assert status(HEALTHY._replace(synchronised=False, daemon_age_s=age)) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(14_399, "ok"), (14_400, "warning"), (10**7, "warning"), (None, "ok")]
)
def test_the_edges_of_silence_of_the_time_servers(seconds: float, expected: str) -> None:
    assert status(HEALTHY._replace(unheard_s=seconds)) == expected


@pytest.mark.parametrize(("error", "expected"), [(999.9, "ok"), (1000.0, "warning"), (15_000.0, "warning")])
def test_the_edges_of_a_kernel_clock_that_no_daemon_keeps(error: float, expected: str) -> None:
    assert status(NOBODY._replace(kernel_max_error_ms=error)) == expected


def test_no_daemon_and_no_synchronisation_is_critical() -> None:
    verdict = clock.judge(NOBODY._replace(synchronised=False), clock.LIMITS)

    assert (verdict.status, verdict.playbook) == ("critical", "clock")
    assert verdict.reason == "no time daemon is running and the kernel's clock is not synchronised"


def test_two_daemons_at_once_are_a_warning_however_well_the_clock_goes() -> None:
    verdict = clock.judge(HEALTHY._replace(daemons=("chronyd", "ntpd")), clock.LIMITS)

    assert (verdict.status, verdict.reason) == (
        "warning",
        "2 time daemons are running: chronyd, ntpd; stop all but one",
    )


KEPT = KernelClock(True, 0.01, 5.0)
UNKEPT = KernelClock(False, 0.0, 16_000.0)


def machine(
    daemon: str = "", kernel: KernelClock = KEPT, now: float = NOW, roles: str = "broker", **commands: Any
) -> FakeHost:
    running = [Process(77, daemon, (f"/usr/sbin/{daemon}",), "root", now - 86400)] if daemon else []
    named = {
        "chronyc": "chronyc -c -n tracking",
        "ntpq": "ntpq -n -c rv",
        "timedatectl": "timedatectl timesync-status --no-pager",
    }
    return FakeHost(
        commands={named[tool]: answer for tool, answer in commands.items()},
        answers={"processes": running, "kernel_clock": kernel},
        expected=Expected(roles=tuple(roles.split())),
        now=now,
    )


def look_at(host: FakeHost) -> Finding:
    (finding,) = run_checks(host, "clock")
    assert finding.item == "clock" and "check failed" not in finding.verdict.reason
    return finding


WELL = CHRONY_3_S.replace("3.000024080", "-0.000024080").replace("1795172961.373286818", f"{NOW - 30}")


@pytest.mark.parametrize(
    "host",
    [
        machine(
            "chronyd", UNKEPT, chronyc=Answer(0, WELL, "")
        ),  # chronyd without rtcsync leaves the kernel unsynchronised
        machine("ntpd", ntpq=Answer(0, NTPQ, "")),
        machine("systemd-timesyncd", timedatectl=Answer(0, TIMESYNC, "")),
        machine("systemd-timesyncd", timedatectl=Answer(1, "", "Unknown operation timesync-status")),
        machine("phc2sys"),
        machine(),
    ],
    ids=["chronyd", "ntpd", "timesyncd", "timesyncd-before-239", "ptp", "kernel"],
)
def test_a_clock_that_is_kept_is_ok(host: FakeHost) -> None:
    assert look_at(host).status == "ok"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (machine("chronyd", now=1795172962.0, chronyc=Answer(0, CHRONY_3_S, "")), "off by 3000 ms (chronyd)"),
        (
            machine("chronyd", chronyc=Answer(0, CHRONY_START, "")),
            "not synchronised: chronyd has no usable time server",
        ),
        (machine("ntpd", ntpq=Answer(0, NTPQ_LOST, "")), "not synchronised: ntpd"),
        (machine("ntpd", ntpq=Answer(0, NTPQ.replace("-0.045", "-1500.2"), "")), "off by 1500 ms (ntpd)"),
        (machine("systemd-timesyncd", timedatectl=Answer(0, TIMESYNC_LOST, "")), "not synchronised: systemd-timesyncd"),
        (machine("systemd-timesyncd", UNKEPT, timedatectl=Answer(1, "", "no")), "not synchronised: the kernel"),
        (machine(kernel=UNKEPT), "no time daemon is running"),
    ],
)
def test_a_clock_that_is_wrong_or_not_kept_is_critical_whatever_the_daemon_says_of_itself(
    host: FakeHost, words: str
) -> None:
    finding = look_at(host)

    assert (finding.status, finding.verdict.playbook) == ("critical", "clock")
    assert words in finding.verdict.reason


def timesyncd(said: str, kernel: KernelClock, hours_ago: float, **more: Any) -> FakeHost:
    """systemd-timesyncd that set the clock so long ago."""
    host = machine("systemd-timesyncd", kernel, timedatectl=Answer(0, said, ""), **more)
    host.answers["touch stat /run/systemd/timesync/synchronized"] = Touched("", {"mtime": NOW - hours_ago * 3600})
    return host


def test_timesyncd_whose_servers_are_silent_for_three_days_is_critical_whatever_its_last_offset_was() -> None:
    finding = look_at(timesyncd(TIMESYNC, KernelClock(False, 0.0, 16_000.0), 72))

    assert (finding.status, finding.verdict.playbook) == ("critical", "clock")
    assert finding.verdict.reason.endswith("(systemd-timesyncd is running); last synchronised 72 h ago")


def test_timesyncd_whose_servers_are_silent_for_five_hours_is_a_warning_while_the_kernel_still_trusts_its_clock() -> (
    None
):
    finding = look_at(timesyncd(TIMESYNC, KernelClock(True, 0.0, 9_000.0), 5))

    assert (finding.status, finding.verdict.reason) == (
        "warning", "systemd-timesyncd: no NTP reply for 5 h",
    )  # fmt: skip


def test_without_its_stamp_the_kernel_tells_how_long_timesyncd_has_set_nothing() -> None:
    host = machine("systemd-timesyncd", KernelClock(True, 0.0, 9_000.0), timedatectl=Answer(0, TIMESYNC, ""))

    assert "no NTP reply for 5 h" in look_at(host).verdict.reason


def test_phc2sys_that_has_not_set_the_clock_for_five_hours_is_a_warning_while_the_kernel_still_trusts_it() -> None:
    # phc2sys puts the kernel's maximum error to 0 at each step (linuxptp, sysclk_set_sync); it grows by 0.5 ms a second
    finding = look_at(machine("phc2sys", KernelClock(True, 0.0, 9_000.0)))

    assert (finding.status, finding.verdict.reason) == ("warning", "phc2sys: no NTP reply for 5 h")
    assert look_at(machine("phc2sys", KernelClock(True, 0.0, 7_000.0))).status == "ok"


def test_timesyncd_with_the_server_null_has_none() -> None:
    finding = look_at(timesyncd(TIMESYNC_DROPPED, KEPT, 0.2))

    assert (finding.status, finding.verdict.reason) == ("warning", "systemd-timesyncd has no time server")


def test_timesyncd_between_two_of_its_longest_polls_is_ok() -> None:
    assert look_at(timesyncd(TIMESYNC, KernelClock(True, 0.0, 1_030.0), 0.57)).status == "ok"


# of /etc/chrony/chrony.conf, Debian 12
CHRONY_CONF = "pool 2.debian.pool.ntp.org iburst\n# This directive enables kernel synchronisation\nrtcsync\n"


def test_the_word_of_chronyd_is_held_against_the_kernel_that_it_should_tell() -> None:
    host = machine("chronyd", UNKEPT, chronyc=Answer(0, WELL, ""))
    host.files["/etc/chrony/chrony.conf"] = CHRONY_CONF

    finding = look_at(host)
    said = "chronyd reports the clock synchronised, the kernel reports it unsynchronised"
    assert (finding.status, finding.verdict.reason) == ("warning", said)


def test_the_word_of_ntpd_is_held_against_the_kernel() -> None:
    assert look_at(machine("ntpd", UNKEPT, ntpq=Answer(0, NTPQ, ""))).status == "warning"


@pytest.mark.parametrize("daemon", ["", "systemd-timesyncd"])
def test_a_machine_without_kafka_whose_clock_nobody_keeps_is_no_more_than_a_warning(daemon: str) -> None:
    tools: dict[str, Any] = {"timedatectl": Answer(0, TIMESYNC_LOST, "")} if daemon else {}
    finding = look_at(machine(daemon, UNKEPT, roles="", **tools))

    assert finding.status == "warning" and "not synchronised" in finding.verdict.reason


def test_a_daemon_that_follows_its_own_clock_is_a_warning() -> None:
    finding = look_at(machine("chronyd", now=1795172964.0, chronyc=Answer(0, CHRONY_LOCAL, "")))

    assert (finding.status, finding.verdict.reason) == ("warning", "chronyd follows its local clock, no time server")


def test_a_daemon_that_lost_its_servers_days_ago_says_normal_and_is_a_warning() -> None:
    finding = look_at(
        machine("chronyd", now=1795172961.0 + 3 * 86400, chronyc=Answer(0, CHRONY_3_S.replace("3.0", "0.0"), ""))
    )

    assert (finding.status, finding.verdict.reason) == ("warning", "chronyd: no NTP reply for 72 h")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(1, "506 Cannot talk to daemon\n", ""),
        Answer(0, "", ""),
        ToolMissing("chronyc is not installed (package chrony)"),
        CannotTell("chronyc timed out after 8 s"),
    ],
)
def test_a_daemon_that_does_not_answer_is_unknown_and_never_ok(answer: Any) -> None:
    assert look_at(machine("chronyd", chronyc=answer)).status == "unknown"


def test_a_stopped_daemon_is_noticed_long_before_the_kernel_gives_up() -> None:
    finding = look_at(machine(kernel=KernelClock(True, 0.0, 1500.0)))

    assert finding.status == "warning" and "no time daemon is running" in finding.verdict.reason


def test_a_clock_set_right_is_ok_in_the_next_run() -> None:
    wrong = machine("chronyd", now=1795172962.0, chronyc=Answer(0, CHRONY_3_S, ""))
    assert look_at(wrong).status == "critical"

    right = CHRONY_3_S.replace("3.000024080", "0.000024080")
    assert look_at(next_run(wrong, commands={"chronyc -c -n tracking": Answer(0, right, "")})).status == "ok"


TOOLS = {
    "chronyd": ("chronyc", (CHRONY_3_S, CHRONY_START, CHRONY_LOCAL)),
    "ntpd": ("ntpq", (NTPQ, NTPQ_LOST)),
    "systemd-timesyncd": ("timedatectl", (TIMESYNC, TIMESYNC_LOST)),
}


@pytest.mark.parametrize("daemon", list(TOOLS))
@given(data=st.data())
def test_odd_output_never_breaks_the_check(daemon: str, data: st.DataObject) -> None:
    tool, texts = TOOLS[daemon]
    out = data.draw(mutilated(texts) | st.text())
    answer: Any = Answer(data.draw(st.sampled_from([0, 0, 0, 1])), out, "")
    finding = look_at(machine(daemon, UNKEPT, NOW, **{tool: answer}))

    assert finding.status != "ok" or len(out) > 20
    assert "\n" not in finding.verdict.reason


# vmware-toolbox-cmd(1): Enabled, or Disabled with a code that is not 0
@pytest.mark.parametrize(
    ("said", "kernel", "expected"),
    [
        ("Enabled\n", UNKEPT, "warning"),
        ("", UNKEPT, "warning"),
        ("Disabled\n", UNKEPT, "critical"),
        ("Enabled\n", KEPT, "ok"),
    ],
)
def test_vmware_tools_alone_are_judged_by_what_the_kernel_says(said: str, kernel: KernelClock, expected: str) -> None:
    host = machine("vmtoolsd", kernel)
    host.commands["vmware-toolbox-cmd timesync status"] = Answer(0, said, "")
    finding = look_at(host)

    assert finding.status == expected
    assert ("VMware Tools" in finding.verdict.reason) == (expected == "warning")


def test_vmware_tools_beside_a_daemon_are_not_asked() -> None:
    host = machine("vmtoolsd", UNKEPT)
    host.answers["processes"] += [Process(78, "phc2sys", ("phc2sys", "-a"), "root", NOW - 86400)]

    assert "VMware" not in look_at(host).verdict.reason
