"""Many hosts at once: each bad one gives its own reason in its own time, and the healthy ones are out before."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.report import FIELDS
from inventory.model import Host
from smoketests.remote import bundle, fanout, validation
from smoketests.remote.agent_output import AgentOutput
from smoketests.remote.bundle import Bundle, BundleError
from smoketests.remote.fanout import HostReport, Options
from smoketests.ssh.connect import Access, Deadlines
from tests.real.parts import bad_peers
from tests.real.parts.remote_agents import LAST, printing, record, stand_in
from tests.real.parts.sshd import Sshd, free_port, make_key, sshd

ROOT = pathlib.Path(__file__).parents[3]
GOOD = (json.dumps(record()), json.dumps(LAST))
DEADLINES = Deadlines(connect=1, banner=1, auth=1.5, channel=1)
QUICK = Options(run_s=1.0, grace_s=1.0)
NO_BUNDLE = Bundle(b"", "", "0")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd"), "MaxStartups=100", "MaxSessions=100") as running:
        yield running


@pytest.fixture
def fresh(tmp_path: pathlib.Path) -> Iterator[Sshd]:
    """A host where nothing else was started."""
    with sshd(tmp_path) as running:
        yield running


def saying(script: str) -> Callable[..., str]:
    """In place of the agent, a shell script on the far host."""
    return lambda *_: f"sh -c {shlex.quote(script)}"


def ask(server: Sshd, made: Bundle = NO_BUNDLE, options: Options = QUICK, **more: Any) -> HostReport:
    (heard,) = fanout.run([server.host()], options, made, server.access(deadlines=DEADLINES), "r1", **more)
    return heard


def printed(*records: Mapping[str, Any] | str) -> str:
    """A script that prints these, JSON or as they are."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    return "printf '%s\\n' " + " ".join(map(shlex.quote, lines))


# What goes wrong before the agent speaks


class Bad:
    """A fleet with one host for each thing that can go wrong on the way, and healthy ones among them."""

    def __init__(self, server: Sshd, folder: pathlib.Path, opened: contextlib.ExitStack) -> None:
        self._known: list[str] = [server.known_hosts.read_text()]
        other = make_key(folder / "other")
        stranger = opened.enter_context(bad_peers.listening(bad_peers.dropping(0, server.port)))
        self._known.append(f"[127.0.0.1]:{stranger} {other.with_name('other.pub').read_text()}")
        self.ports = {
            "refused": free_port(),
            "black-hole": opened.enter_context(bad_peers.black_hole()),
            "silent": opened.enter_context(bad_peers.listening(bad_peers.silent)),
            "silent after its banner": opened.enter_context(bad_peers.listening(bad_peers.only_banner)),
            "not-ssh": opened.enter_context(bad_peers.listening(bad_peers.another_service)),
            "dropped": opened.enter_context(bad_peers.listening(bad_peers.no_banner)),
            "key-changed": stranger,
            "key-unknown": opened.enter_context(bad_peers.listening(bad_peers.dropping(0, server.port))),
            "auth-timeout": self._frozen("auth", other, opened),
            "frozen": self._frozen("open", other, opened),
            "frozen at its command": self._frozen("exec", other, opened),
        }
        (folder / "known_hosts").write_text("".join(self._known))
        self.access = server.access(deadlines=DEADLINES, known_hosts=(str(folder / "known_hosts"),))
        self.hosts = [Host(kind, address="127.0.0.1", port=port) for kind, port in self.ports.items()]
        self.hosts.append(Host("auth", address="127.0.0.1", port=server.port, user="nobody-of-that-name"))
        self.hosts.append(Host("name", address="no-such-name.invalid"))

    def _frozen(self, step: str, key: pathlib.Path, opened: contextlib.ExitStack) -> int:
        port = opened.enter_context(bad_peers.frozen(step, key))
        self._known.append(f"[127.0.0.1]:{port} {key.with_name('other.pub').read_text()}")
        return port


@pytest.fixture
def bad(server: Sshd, tmp_path: pathlib.Path) -> Iterator[Bad]:
    with contextlib.ExitStack() as opened:
        yield Bad(server, tmp_path, opened)


WORDS = {
    "refused": "refuses connections: no sshd is listening",
    "black-hole": "does not answer: connection timed out",
    "silent": "accepts connections but sends no SSH banner",
    "silent after its banner": "sent its SSH banner, then no reply",
    "not-ssh": "is not an SSH server",
    "dropped": "closes connections before its SSH banner (MaxStartups or a ban)",
    "key-changed": "host key changed (known SHA256:",
    "key-unknown": "host key unknown (offered SHA256:",
    "auth-timeout": "authentication of root timed out",
    "frozen": "logged in, then no reply",
    "frozen at its command": "logged in, then no reply",
    "auth": "authentication failed for nobody-of-that-name",
    "name": "cannot resolve no-such-name.invalid",
}


@pytest.mark.root
@pytest.mark.slow
def test_each_bad_host_gives_its_own_reason_in_its_time_and_healthy_ones_are_out_before(bad: Bad, server: Sshd) -> None:
    healthy = [server.host(f"healthy-{number:02}") for number in range(20)]
    began = time.monotonic()
    heard = {one.host.name: (one, time.monotonic() - began) for one in fanout.run(
        [*bad.hosts, *healthy], dataclasses.replace(QUICK, jobs=20), NO_BUNDLE, bad.access, "r1",
        saying(printed(record(), LAST)))}  # fmt: skip

    assert set(heard) == {host.name for host in [*bad.hosts, *healthy]}
    for name, words in WORDS.items():
        one, _ = heard[name]
        assert (one.kind, one.reach.status) == (name.split()[0], "unknown"), one.reach
        assert words in one.reach.reason
        # dropped is tried again
        assert one.seconds < DEADLINES.connecting + DEADLINES.channel + 1.5
    slowest_healthy = max(heard[host.name][1] for host in healthy)
    hanging = [heard[name][1] for name in ("black-hole", "silent", "silent after its banner", "auth-timeout", "frozen")]
    assert slowest_healthy < min(hanging)


@pytest.mark.root
def test_a_host_frozen_before_its_banner_is_told_from_a_dead_one(tmp_path: pathlib.Path) -> None:
    with sshd(tmp_path) as server:
        server.stop_answering()

        assert ask(server).kind == "silent"


def test_a_peer_that_talks_without_end_before_its_banner_is_left_at_once() -> None:
    access = Access(Deadlines(connect=5, banner=60, auth=60), known_hosts=(), ssh_config="/dev/null", use_agent=False)
    before = psutil.Process().memory_info().rss
    with bad_peers.listening(bad_peers.endless_banner) as port:
        (heard,) = fanout.run([Host("h1", address="127.0.0.1", port=port)], QUICK, NO_BUNDLE, access, "r1")

    assert (heard.kind, heard.seconds < 30) == ("not-ssh", True)
    assert psutil.Process().memory_info().rss - before < 16 << 20


# What goes wrong after


@pytest.mark.root
@pytest.mark.slow
def test_a_command_that_never_ends_is_cut_off(server: Sshd) -> None:
    heard = ask(server, command=saying(printed(record()) + "; exec sleep 4711"))

    assert heard.kind == "cut"
    assert heard.reach.reason == "timed out after 2 s: kept the 1 findings received until then"
    assert len(heard.report.findings) == 1
    assert heard.seconds < 4


@pytest.mark.root
@pytest.mark.slow
def test_an_agent_that_never_ends_is_ended_there_too(fresh: Sshd) -> None:
    heard = ask(fresh, printing(GOOD[0], then="import time; time.sleep(4711)"))

    assert heard.kind == "cut"
    assert gone(fresh)


def gone(server: Sshd, within: float = 8.0) -> bool:
    """Whether nothing of ours runs on the host, soon."""
    deadline = time.monotonic() + within
    while server.running() and time.monotonic() < deadline:
        time.sleep(0.05)
    return server.running() == []


@pytest.mark.root
def test_a_child_in_the_background_that_holds_the_output_does_not_hold_us(server: Sshd) -> None:
    heard = ask(server, options=Options(run_s=20), command=saying("sleep 30 & " + printed(record(), LAST)))

    assert heard.kind == "answered"
    assert heard.seconds < 5


@pytest.mark.root
def test_a_hundred_megabytes_are_cut_off(server: Sshd) -> None:
    before = psutil.Process().memory_info().rss
    script = printed(record()) + f"; yes {'0123456789' * 100} | head -c 100000000; " + printed(LAST)
    heard = ask(server, options=Options(run_s=20), command=saying(script))

    assert heard.kind == "cut"
    assert heard.reach.reason == "more than 4 MB of output: kept the 1 findings received until then"
    assert psutil.Process().memory_info().rss - before < 64 << 20


@pytest.mark.root
def test_a_hundred_megabytes_without_a_line_end_are_cut_off_as_soon(server: Sshd) -> None:
    heard = ask(server, options=Options(run_s=20), command=saying("yes 0123456789 | tr -d '\\n' | head -c 100000000"))

    assert heard.kind == "cut"
    assert heard.seconds < 10


@pytest.mark.root
def test_text_beyond_ascii_comes_whole(server: Sshd) -> None:
    word = "€ü漢😀" * 100
    finding = json.dumps(record(facts={"word": word}, reason=word), ensure_ascii=False)
    heard = ask(server, command=saying(f"{printed(finding, LAST)}"))

    assert heard.kind == "answered"
    assert heard.report.findings[0]["facts"] == {"word": word}
    assert all(line.isascii() for line in heard.lines)


@pytest.mark.root
def test_bytes_that_are_no_text_spoil_only_their_line(server: Sshd) -> None:
    heard = ask(server, command=saying("printf '{\\377\\376}\\n'; " + printed(record(), LAST)))

    assert heard.kind == "schema"
    assert len(heard.report.findings) == 2


@pytest.mark.root
@pytest.mark.parametrize("cut", ["half a line", "no last line"])
def test_half_a_report_is_kept_and_said_to_be_half(cut: str, server: Sshd) -> None:
    half = f"; printf '%s' {shlex.quote(GOOD[1][:40])}" if cut == "half a line" else ""
    heard = ask(server, command=saying(printed(record()) + half))

    assert heard.kind == "cut"
    assert heard.reach.reason == "report truncated (exit 0): kept the 1 findings received until then"
    assert [finding["check"] for finding in heard.report.findings] == ["mounts"]


@pytest.mark.root
def test_an_agent_that_is_killed_is_said_to_be_killed(server: Sshd) -> None:
    heard = ask(server, printing(GOOD[0], then="import os; os.kill(os.getpid(), 9)"))

    assert heard.kind == "cut"
    assert "report truncated (killed" in heard.reach.reason
    assert len(heard.report.findings) == 1


@pytest.mark.root
def test_an_agent_that_fails_says_its_last_word(server: Sshd) -> None:
    heard = ask(server, stand_in("raise ValueError('odd')"))

    assert heard.reach.reason == "no report from the agent (exit 1): ValueError: odd"


@pytest.mark.root
def test_a_connection_that_is_lost_midway_keeps_what_came(tmp_path: pathlib.Path) -> None:
    with sshd(tmp_path) as server:
        killer = threading.Timer(1.0, os.kill, (server.pid, signal.SIGKILL))
        killer.start()
        heard = ask(server, printing(GOOD[0], then="import time; time.sleep(60)"), Options(run_s=10, grace_s=1))
        killer.join()

    assert heard.kind == "cut"
    assert "connection lost" in heard.reach.reason
    assert len(heard.report.findings) == 1
    assert heard.seconds < 8


@pytest.mark.root
def test_a_talkative_login_does_not_disturb(tmp_path: pathlib.Path) -> None:
    with sshd(tmp_path) as server:
        (tmp_path / "empty").write_text("echo Welcome to kafka-a01; echo '{ not JSON' | tr -d '{'\n")

        assert ask(server, printing(*GOOD)).kind == "answered"


# Hosts that lie


@pytest.mark.root
def test_a_host_speaks_only_for_itself(server: Sshd) -> None:
    liar = record(host="kafka-b07", cluster="other", run_id="another", rack="../../r9", status="critical")
    host = dataclasses.replace(server.host("kafka-a01"), cluster="prod-a", rack="r7")
    access = server.access(deadlines=DEADLINES)
    (heard,) = fanout.run([host], QUICK, NO_BUNDLE, access, "r1", saying(printed(liar, LAST)))

    assert heard.kind == "stranger"
    for finding in [*heard.report.findings, *map(json.loads, heard.lines)]:
        assert (finding["host"], finding["cluster"], finding["run_id"], finding["rack"]) == (
            "kafka-a01", "prod-a", "r1", "r7",
        )  # fmt: skip


@pytest.mark.root
def test_a_million_findings_are_cut_off(server: Sshd) -> None:
    script = f"yes {shlex.quote(json.dumps(record()))} | head -n 1000000"
    began = time.process_time()
    heard = ask(server, options=Options(run_s=20), command=saying(script))

    assert heard.kind == "cut"
    assert len(heard.report.findings) <= validation.MOST_FINDINGS
    assert time.process_time() - began < 10


@pytest.mark.root
def test_two_million_lines_of_nothing_are_cut_off_before_they_fill_the_memory(server: Sshd) -> None:
    before = psutil.Process().memory_info().rss
    heard = ask(server, options=Options(run_s=20), command=saying("yes '{' | head -n 2000000"))

    assert heard.kind == "cut"
    assert heard.reach.reason == "more than 20000 lines of output: kept the 0 findings received until then"
    assert len(heard.report.bad_lines) == validation.MOST_BAD_LINES
    assert psutil.Process().memory_info().rss - before < 32 << 20


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "another schema": ({"schema": 2}, "schema"),
    "unknown status": ({"status": "splendid"}, "schema"),
    "a check like a path": ({"check": "../../etc/passwd"}, "schema"),
    "a playbook like a path": ({"playbook": "../evil"}, "schema"),
    "facts that are no object": ({"facts": [1]}, "schema"),
    "a time like a path": ({"at": "../../2026", "first_seen": "../../2026"}, "answered"),
    "half a surrogate pair": ({"reason": "\ud800", "facts": {"\udfff": "\ud83d"}, "item": "\udc00"}, "answered"),
    "a very long reason": ({"reason": "x" * 60_000}, "answered"),
    "a field of its own": ({"evil": "x" * 100}, "answered"),
    "no number": ({"facts": {"speed": float("nan")}}, "schema"),
}


@pytest.mark.parametrize(("changed", "kind"), LIES.values(), ids=LIES)
def test_a_record_is_bounded_or_refused(changed: dict[str, Any], kind: str) -> None:
    line = json.dumps({**record(), **changed})
    believed = validation.believed(Host("kafka-a01"), [line, GOOD[1]], "r1", "2026-11-20T03:12:00Z")

    text = "\n".join(believed.lines)
    assert "../" not in text and "NaN" not in text and "evil" not in text
    assert all(len(line) < 3000 for line in believed.lines)
    for finding in believed.report.findings:
        assert set(finding) == set(FIELDS)
        json.dumps(finding, ensure_ascii=False).encode()
    assert validation.reach(AgentOutput([], []), believed, 1.0)[0] == kind
    assert len(believed.report.findings) + len(believed.report.bad_lines) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
HEADER = ("schema", "kind", "at", "agent", "clock", "guessed", "root", "python", "role")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*FIELDS, *HEADER], JSON)), st.booleans(), st.text())
def test_whatever_a_host_says_becomes_bounded_records(fields: dict[str, Any], header: bool, words: str) -> None:
    started = {"schema": 1, "kind": "header"} if header else {}
    line = json.dumps({**(started or record()), **fields, **started})
    believed = validation.believed(Host("kafka-a01"), [line, words], "r1", "2026-11-20T03:12:00Z")

    for one in map(json.loads, believed.lines):
        assert one["host"] == "kafka-a01" and one["run_id"] == "r1"
        assert validation.TIME.fullmatch(one["at"])
    assert isinstance(believed.report.header.get("clock", 0), (int, float))
    json.dumps([believed.report.header, believed.report.findings], ensure_ascii=False, allow_nan=False).encode()
    assert validation.reach(AgentOutput([line], [words], 0), believed, 1.0)[1].status in ("ok", "unknown")


# Deadlines of the fleet, and its end


@pytest.mark.root
def test_when_the_time_for_the_fleet_is_over_every_host_still_gives_one_report(server: Sshd) -> None:
    def command(host: Host, *_: object) -> str:
        return "sleep 30" if host.name.startswith("slow") else saying(printed(record(host=host.name), LAST))()

    hosts = [server.host(name) for name in ("slow-1", "slow-2", "fast", "slow-3", "waiting-1", "waiting-2")]
    options = Options(jobs=4, run_s=20, overall_s=2)
    began = time.monotonic()
    heard = list(fanout.run(hosts, options, NO_BUNDLE, server.access(), "r1", command))

    assert time.monotonic() - began < 5
    assert sorted(one.host.name for one in heard) == sorted(host.name for host in hosts)
    assert {one.host.name for one in heard if one.kind == "overall"} >= {"slow-1", "slow-2", "slow-3"}
    assert "timed out after 2 s (fleet limit)" in heard[-1].reach.reason


class Hanging(Access):
    """Hangs where no deadline of ours reaches: in the resolver, say."""

    def connect(self, host: Host, until: float, jump: str = "", through: tuple[str, ...] = ()) -> Any:
        if host.name.startswith("hanging"):
            threading.Event().wait(60)
        return super().connect(host, until, jump, through)


@pytest.mark.root
@pytest.mark.slow
def test_a_thread_that_hangs_beyond_all_deadlines_is_given_up_and_replaced(server: Sshd) -> None:
    access = Hanging(DEADLINES, (str(server.known_hosts),), (str(server.key),), "/dev/null", use_agent=False)
    hosts = [server.host(name) for name in ("hanging-1", "hanging-2", "fine-1", "fine-2")]
    began = time.monotonic()
    running = fanout.run(
        hosts, dataclasses.replace(QUICK, jobs=2), NO_BUNDLE, access, "r1", saying(printed(record(), LAST))
    )
    heard = {one.host.name: one.kind for one in running}

    assert heard == {"hanging-1": "stuck", "hanging-2": "stuck", "fine-1": "stranger", "fine-2": "stranger"}
    assert time.monotonic() - began < DEADLINES.connecting + 6


# what keeps us waiting: before its banner, after its login, or with a word now and then
KEEPS_WAITING = {
    "before its banner": "",
    "after its login": "sleep 60",
    "with a word now and then": "while sleep 0.3; do echo wait; done",
}


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("script", KEEPS_WAITING.values(), ids=KEEPS_WAITING)
def test_hosts_that_keep_us_waiting_do_not_take_the_place_of_good_ones(script: str, server: Sshd) -> None:
    """Twelve of them, asked first, four at once: nobody gives up on them for a long time, and the good ones are out."""

    def command(host: Host, *_: object) -> str:
        return saying(script if host.name.startswith("bad") else printed(record(host=host.name), LAST))()

    patient = Deadlines(connect=60, banner=60, auth=60, channel=60)
    with bad_peers.listening(bad_peers.silent) as silent:
        bad = [server.host(f"bad-{number}") for number in range(12)]
        bad = bad if script else [dataclasses.replace(host, port=silent) for host in bad]
        good = [server.host(f"good-{number}") for number in range(6)]
        options = Options(jobs=4, run_s=100)
        running = fanout.run([*bad, *good], options, NO_BUNDLE, server.access(deadlines=patient), "r1", command)
        first = [next(running).host.name for _ in good]
        running.close()  # type: ignore[attr-defined]  # it is a generator

    assert sorted(first) == [host.name for host in good]


@pytest.mark.root
def test_no_more_hosts_are_asked_than_there_are_jobs_while_they_answer(server: Sshd) -> None:
    """Each counts who runs beside it; sixteen hosts, three at once, each done before our patience is over."""
    hosts = [server.host(f"h{number}") for number in range(16)]
    asking = fanout._Asking(hosts, Options(jobs=3), NO_BUNDLE, server.access(), "r1", saying(""))
    asking._fill()
    most = len(asking._busy)
    for _ in hosts:
        assert asking.next(None)
        most = max(most, sum(asked.counts_until > time.monotonic() for asked in asking._busy))
    asking.stop()

    assert most == 3


@pytest.mark.root
def test_where_threads_are_short_those_that_there_are_ask_all_hosts(
    server: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, start = [3], threading.Thread.start

    def starts(thread: threading.Thread) -> None:
        if "_work" in thread.name and not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= "_work" in thread.name
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)
    hosts = [server.host(f"h{number}") for number in range(8)]
    command = saying(printed(record(), LAST))
    heard = [one.host.name for one in fanout.run(hosts, QUICK, NO_BUNDLE, server.access(), "r1", command)]

    assert sorted(heard) == [host.name for host in hosts]


@pytest.mark.root
def test_two_hosts_of_one_name_give_a_report_each(server: Sshd) -> None:
    heard = fanout.run(
        [server.host(), server.host()], QUICK, NO_BUNDLE, server.access(), "r1", saying(printed(record(), LAST))
    )

    assert [one.kind for one in heard] == ["answered", "answered"]


def test_no_hosts_are_no_reports() -> None:
    assert list(fanout.run([], QUICK, NO_BUNDLE, Access(known_hosts=(), ssh_config="/dev/null"), "r1")) == []


@pytest.mark.root
def test_closing_the_run_ends_every_agent_and_its_tools(fresh: Sshd) -> None:
    tool = "import subprocess, signal, os, time\n"
    tool += "child = subprocess.Popen(['sleep', '4711'], start_new_session=True)\n"
    tool += "signal.signal(signal.SIGTERM, lambda *_: (child.kill(), os._exit(143)))\ntime.sleep(4711)\n"

    def command(host: Host, *arguments: Any) -> str:
        from smoketests.remote.agent_output import far_command

        return far_command(host, *arguments) if host.name == "slow" else saying(printed(record(), LAST))()

    running = fanout.run(
        [fresh.host("slow"), fresh.host()], Options(run_s=60), stand_in(tool), fresh.access(), "r1", command
    )
    next(running)
    deadline = time.monotonic() + 10
    while "sleep 4711" not in fresh.running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "sleep 4711" in fresh.running()
    running.close()  # type: ignore[attr-defined]

    assert gone(fresh)


@pytest.fixture(scope="module")
def real() -> Bundle:
    try:
        return bundle.build()
    except BundleError as error:
        pytest.skip(str(error))


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_when_the_asker_goes_nothing_is_left_on_the_host(
    ending: signal.Signals, real: Bundle, tmp_path: pathlib.Path
) -> None:
    """The real agent, with a tool that hangs: `smartctl` in its PATH never ends."""
    (tmp_path / "bin").mkdir()
    for name in ("smartctl", "ipmitool", "ethtool"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\nexec sleep 4711\n")
        (tmp_path / "bin" / name).chmod(0o755)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from smoketests.remote import bundle, fanout; from smoketests.ssh.connect import Access\n"
        "from inventory.model import Host\n"
        "access = Access(known_hosts=(sys.argv[3],), key_files=(sys.argv[4],), ssh_config='/dev/null')\n"
        "host = Host('kafka-a01', address='127.0.0.1', port=int(sys.argv[2]))\n"
        "for one in fanout.run([host], fanout.Options(run_s=60), bundle.build(), access, 'r1'): print(one.kind)\n"
    )
    with sshd(tmp_path, binds={tmp_path / "bin": "/usr/local/sbin"}) as server:
        asker = subprocess.Popen(
            [sys.executable, "-c", program, str(ROOT), str(server.port), str(server.known_hosts), str(server.key)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 20
        while "sleep 4711" not in server.running() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "sleep 4711" in server.running(), "a tool hangs"
        asker.send_signal(ending)
        asker.wait(timeout=10)

        assert gone(server), server.running()


@pytest.mark.root
@pytest.mark.slow
def test_a_hundred_hosts_at_once_with_a_few_jobs_and_a_sshd_at_its_limit(tmp_path: pathlib.Path) -> None:
    """MaxStartups 10:30:100 drops some of 40 at once: they are tried again, and all answer."""
    with sshd(tmp_path) as server:
        hosts = [server.host(f"kafka-{number:03}") for number in range(100)]
        options = Options(jobs=40, run_s=20)
        access = server.access(deadlines=Deadlines())
        heard = list(fanout.run(hosts, options, NO_BUNDLE, access, "r1", saying(printed(record(), LAST))))

    assert len({one.host.name for one in heard}) == 100
    assert {one.kind for one in heard} == {"stranger"}


def test_sockets_are_closed_after_a_refusal() -> None:
    access = Access(known_hosts=(), ssh_config="/dev/null")
    before = psutil.Process().num_fds()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        hosts = [Host("kafka-a01", address="127.0.0.1", port=closed.getsockname()[1])] * 50
        assert {one.kind for one in fanout.run(hosts, QUICK, NO_BUNDLE, access, "r1")} == {"refused"}

    assert psutil.Process().num_fds() <= before + 2
