"""time_daemons: chronyd, ntpd and systemd-timesyncd in their own words."""

from __future__ import annotations

from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host import Answer, CannotTell, Process, ToolMissing
from agent.sources.system import time_daemons as source
from tests.machine import FakeHost

# recorded from chronyd 4.3: behind a time server by 3 s and not allowed to step; before its first answer; by `local`
CHRONY_3_S = (
    "7F000001,127.0.0.1,3,1795172961.373286818,3.000024080,-0.000004855,0.000008602,"
    "9.168,-0.298,9.222,0.000349080,0.000256392,0.5,Normal\n"
)
CHRONY_START = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n"  # noqa: E501
CHRONY_LOCAL = "7F7F0101,,10,1795172963.798282973,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n"  # noqa: E501

# hand-made after ntpq(1) and the variables of ntpd 4.2.8
NTPQ = """\
associd=0 status=0615 leap_none, sync_ntp, 1 event, clock_sync,
version="ntpd 4.2.8p15@1.3728-o Wed Sep 23 11:46:38 UTC 2020 (1)",
processor="x86_64", system="Linux/5.10.0-30-amd64", leap=00, stratum=3,
precision=-24, rootdelay=1.117, rootdisp=26.285, refid=192.0.2.1,
reftime=eea80540.2f1a9fbe  Wed, Nov 18 2026 11:06:40.183,
clock=eea80571.2f1a9fbe  Wed, Nov 18 2026 11:07:29.183, peer=4021, tc=10,
mintc=3, offset=-0.045, frequency=-8.126, sys_jitter=0.021,
clk_jitter=0.010, clk_wander=0.002
"""
NTPQ_LOST = (
    NTPQ.replace("leap=00, stratum=3", "leap=11, stratum=16")
    .replace("leap_none, sync_ntp", "leap_alarm, sync_unspec")
    .replace("refid=192.0.2.1", "refid=INIT")
    .replace("reftime=eea80540.2f1a9fbe  Wed, Nov 18 2026 11:06:40.183", "reftime=00000000.00000000")
    .replace("offset=-0.045", "offset=0.000000")
)

# hand-made after timedatectl(1), systemd 252
TIMESYNC = """\
       Server: 192.0.2.1 (ntp1.example.net)
Poll interval: 34min 8s (min: 32s; max 34min 8s)
         Leap: normal
      Version: 4
      Stratum: 2
    Reference: C0000201
    Precision: 1us (-23)
Root distance: 12.5ms (max: 5s)
       Offset: -1.234ms
        Delay: 20.1ms
       Jitter: 1.2ms
 Packet count: 102
    Frequency: -9.132ppm
"""
# its servers were taken away after a good while: systemd keeps the last packet's words
TIMESYNC_DROPPED = TIMESYNC.replace("192.0.2.1 (ntp1", "(null) (ntp1")
TIMESYNC_LOST = (
    "       Server: (null) (ntp1.example.net)\nPoll interval: 0 (min: 32s; max 34min 8s)\n Packet count: 0\n"
)


def test_chrony_normal_with_seconds_of_offset_keeps_its_seconds() -> None:
    said = source.parse_chronyc(CHRONY_3_S)

    assert said._replace(offset_ms=None) == source.Tracking(True, None, "127.0.0.1", False, 1795172961.373286818)
    assert said.offset_ms == pytest.approx(3000.02408)


def test_chrony_before_its_first_answer_is_not_synchronised() -> None:
    said = source.parse_chronyc(CHRONY_START)

    assert (said.synchronised, said.updated_at) == (False, 0.0)


def test_chrony_that_serves_its_own_clock_says_so() -> None:
    assert source.parse_chronyc(CHRONY_LOCAL).own_clock


@pytest.mark.parametrize("leap", ["Insert second", "Delete second"])
def test_a_leap_second_ahead_is_synchronised(leap: str) -> None:
    assert source.parse_chronyc(CHRONY_3_S.replace("Normal", leap)).synchronised


def test_ntpd_in_step() -> None:
    assert source.parse_ntpq(NTPQ) == source.Tracking(True, -0.045, "192.0.2.1", False, 1_795_000_000.0)


def test_ntpd_without_a_server_is_not_synchronised() -> None:
    said = source.parse_ntpq(NTPQ_LOST)

    assert (said.synchronised, said.reference, said.updated_at) == (False, "INIT", 0)


@pytest.mark.parametrize("change", [("leap=00", "leap=11"), ("stratum=3", "stratum=16")])
def test_ntpd_needs_both_a_leap_status_and_a_stratum(change: tuple[str, str]) -> None:
    assert not source.parse_ntpq(NTPQ.replace(*change)).synchronised


@pytest.mark.parametrize("refid", ["LOCAL(0)", "127.127.1.0", "LOCL"])
def test_ntpd_on_its_own_clock_says_so(refid: str) -> None:
    assert source.parse_ntpq(NTPQ.replace("192.0.2.1", refid)).own_clock


def test_timesyncd_in_step() -> None:
    said = source.parse_timesync_status(TIMESYNC)

    assert (said.synchronised, said.offset_ms, said.reference) == (True, -1.234, "192.0.2.1 (ntp1.example.net)")


@pytest.mark.parametrize("text", [TIMESYNC_LOST, TIMESYNC.replace("Leap: normal", "Leap: not synchronized")])
def test_timesyncd_without_an_answer_is_not_synchronised(text: str) -> None:
    assert not source.parse_timesync_status(text).synchronised


def test_timesyncd_set_the_clock_right_by_its_first_packet() -> None:
    first = TIMESYNC.replace("Packet count: 102", "Packet count: 1").replace("-1.234ms", "+3min 2.5s")

    assert source.parse_timesync_status(first).offset_ms is None


@pytest.mark.parametrize(
    ("span", "ms"),
    [("+3min 2.5s", 182_500.0), ("-12us", -0.012), ("+0", 0.0), ("-1.5s", -1500.0), ("+1h", 3.6e6), ("0", 0.0)],
)
def test_time_spans_of_systemd(span: str, ms: float) -> None:
    assert source.parse_timesync_status(TIMESYNC.replace("-1.234ms", span)).offset_ms == pytest.approx(ms)


PARSERS: dict[Callable[[str], source.Tracking], tuple[str, ...]] = {
    source.parse_chronyc: (CHRONY_3_S, CHRONY_START, CHRONY_LOCAL),
    source.parse_ntpq: (NTPQ, NTPQ_LOST, "***Request timed out\n"),
    source.parse_timesync_status: (
        TIMESYNC,
        TIMESYNC_LOST,
        TIMESYNC_DROPPED,
        "Failed to connect to bus: Host is down\n",
    ),
}


@st.composite
def mutilated(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    text = draw(st.sampled_from(texts))
    start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    odd = (
        st.sampled_from(["", "\x00", ",,,,,", "nan", "1e999", "-", "٣", "²", "Offset: x", "leap=", "\n\n"]) | st.text()
    )
    return text[:start] + draw(odd) + text[end:]


@pytest.mark.parametrize("parse", list(PARSERS))
@given(data=st.data())
def test_odd_output_is_told_in_whole_numbers_or_not_at_all(
    parse: Callable[[str], source.Tracking], data: st.DataObject
) -> None:
    text = data.draw(mutilated(PARSERS[parse]) | st.text())
    try:
        said = parse(text)
    except CannotTell as error:
        assert len(str(error)) < 200 and "\n" not in str(error)
        return
    assert isinstance(said.synchronised, bool)
    assert said.offset_ms is None or abs(said.offset_ms) < float("inf")
    assert 0 <= abs(said.updated_at) < float("inf") and len(said.reference) <= 60


@pytest.mark.parametrize("parse", list(PARSERS))
def test_empty_output_tells_nothing(parse: Callable[[str], source.Tracking]) -> None:
    with pytest.raises(CannotTell):
        parse("")


def test_a_daemon_that_does_not_answer_cannot_be_told() -> None:
    silent = Answer(1, "506 Cannot talk to daemon\n", "")
    host = FakeHost(
        commands={
            "chronyc -c -n tracking": silent,
            "ntpq -n -c rv": Answer(0, "", "***Request timed out\n\n***Request timed out\n"),
        }
    )

    with pytest.raises(CannotTell, match="506 Cannot talk to daemon"):
        source.ask(host, "chronyd")
    with pytest.raises(CannotTell, match="Request timed out"):
        source.ask(host, "ntpd")
    with pytest.raises(ToolMissing):
        source.ask(FakeHost(), "chronyd")


def test_daemons_that_cannot_say_leave_it_to_the_kernel() -> None:
    old = FakeHost(commands={"timedatectl timesync-status --no-pager": Answer(1, "", "Unknown operation")})

    assert source.ask(old, "systemd-timesyncd") is None
    assert source.ask(FakeHost(), "systemd-timesyncd") is None
    assert source.ask(FakeHost(), "phc2sys") is None


def process(name: str, pid: int, *argv: str) -> Process:
    return Process(pid, name, (name, *argv), "root", float(pid))


def test_each_daemon_counts_once_and_one_that_feeds_another_does_not() -> None:
    names = [process("ntpd", 5), process("chronyd", 9), process("chronyd", 8), process("bash", 1)]
    feeder = process("phc2sys", 7, "-E", "ntpshm", "-a")

    found = source.running(FakeHost(answers={"processes": [*names, feeder]}))
    assert [(name, at.pid) for name, at in found.items()] == [("chronyd", 8), ("ntpd", 5)]
    alone = source.running(FakeHost(answers={"processes": [process("phc2sys", 7, "-a", "-r")]}))
    assert list(alone) == ["phc2sys"]
