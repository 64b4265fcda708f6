"""What is larger than a usual report is read at one pace for all, waits outside of memory, and comes whole."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import threading
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import paramiko
import pytest

from inventory.model import Host
from smoketests.remote import fanout, large_reports
from smoketests.remote.agent_output import CHUNK, Hearing, Options
from smoketests.remote.bundle import Bundle
from smoketests.remote.large_reports import USUAL_BYTES, LargeReports, Lines
from smoketests.ssh.connect import Access
from smoketests.ssh.transport import WINDOW
from tests.real.parts import bad_peers
from tests.real.parts.remote_agents import LAST, record
from tests.real.parts.sshd import Sshd, make_key, sshd

NO_BUNDLE = Bundle(b"", "", "0")
ROW = json.dumps(record(reason="x" * 400))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd"), "MaxStartups=100", "MaxSessions=100") as running:
        yield running


def kept(rows: list[str], shared: LargeReports) -> Lines:
    lines = Lines(shared)
    for row in rows:
        lines.append(row)
    return lines


ROWS = {
    "none": [],
    "one": ["{}"],
    "a usual report": [f"{number} é" for number in range(150)],
    "many short ones": [f"{number}" for number in range(19_000)],
    "a few long ones, and empty ones": ["", "x" * 65_000, "", "\u2028\r"] * 30,
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_lines_come_back_as_they_went(rows: list[str]) -> None:
    shared = LargeReports()
    both = [kept(rows, shared), kept(rows[::-1], shared)]

    assert [list(lines) for lines in both] == [rows, rows[::-1]]
    assert list(both[0]) == rows  # and once more
    assert len(both[0]) == len(rows)
    assert not rows or rows[-1] in both[0]


def test_many_hosts_lines_from_many_threads_are_not_mixed_up() -> None:
    shared = LargeReports()
    made: dict[int, Lines] = {}

    def work(number: int) -> None:
        made[number] = kept([f"{number} {row} ".ljust(200, "x") for row in range(6000)], shared)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for number, lines in made.items():
        assert [line.split()[:2] for line in lines] == [[str(number), str(row)] for row in range(6000)]


def test_floods_wait_outside_of_memory() -> None:
    shared = LargeReports()
    tracemalloc.start()
    floods = [kept(["x" * 400] * 10_000, shared) for _ in range(20)]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert held < 20 * 2 * USUAL_BYTES  # of 80 MB
    assert all(len(list(lines)) == 10_000 for lines in floods)


def test_where_no_room_is_left_for_the_file_lines_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_reports, "MOST_IN_FILE_BYTES", 400_000)
    rows = [f"{number}".ljust(1000, "x") for number in range(1500)]

    assert list(kept(rows, LargeReports())) == rows


def test_all_hosts_together_are_held_to_the_pace() -> None:
    shared = LargeReports(bytes_per_s=1 << 20)
    began = time.monotonic()
    until = began + 60
    threads = [threading.Thread(target=shared.wait, args=(1 << 18, until)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 0.9 < time.monotonic() - began < 5


def test_nobody_waits_beyond_his_own_end() -> None:
    shared = LargeReports(bytes_per_s=1)
    began = time.monotonic()
    shared.wait(1000, began + 0.2)

    assert time.monotonic() - began < 2


@pytest.mark.root
def test_a_flood_sends_no_more_than_it_is_given_room_for(server: Sshd) -> None:
    """Neither does its sshd encrypt it, nor do we take it, while the pace does not allow it."""
    host = server.host()
    connection = server.access().connect(host, time.monotonic() + 20)
    try:
        channel = connection.transport.open_session(timeout=10)
        channel.exec_command(f"yes '{ROW}'")
        options = Options(run_s=3, grace_s=0)
        heard = Hearing(channel, options, NO_BUNDLE, host, large=LargeReports(bytes_per_s=1 << 16))
        result = heard.to_the_end(time.monotonic() + 3)
        came = result.size + len(channel.in_buffer)
    finally:
        connection.close()

    assert result.cut == "timed out after 3 s"
    assert USUAL_BYTES < came <= USUAL_BYTES + CHUNK + WINDOW + (3 << 16)


@pytest.mark.root
def test_a_large_report_comes_whole_among_floods(server: Sshd) -> None:
    """1 MB among four floods, and a usual one before all of them."""
    large = [*[ROW] * 1500, json.dumps(LAST)]
    script = {
        "flood": f"yes '{ROW}'",
        "large": f"yes '{ROW}' | head -n 1500; echo '{large[-1]}'",
        "usual": f"sleep 0.5; echo '{ROW}'; echo '{large[-1]}'",
    }

    def command(host: Host, *_: Any) -> str:
        return script[host.name.partition("-")[0]]

    floods = [server.host(f"flood-{number}") for number in range(4)]
    hosts = [*floods, server.host("large"), server.host("usual")]
    heard = list(fanout.run(hosts, Options(run_s=40), NO_BUNDLE, server.access(), "r1", command))
    by_name = {one.host.name: one for one in heard}

    assert heard[0].host.name == "usual"
    assert len(by_name["large"].lines) == 1501
    assert {by_name[host.name].kind for host in floods} == {"cut"}
    assert "more than 4 MB of output" in by_name["flood-1"].reach.reason


@pytest.mark.root
def test_a_peer_that_sends_beyond_its_window_is_left(server: Sshd, tmp_path: pathlib.Path) -> None:
    """paramiko takes and keeps all of it: nobody reads meanwhile, and the pace would not hold it back."""
    key = make_key(tmp_path / "other")
    with bad_peers.frozen("flood", key) as port:
        known = tmp_path / "known_hosts"
        known.write_text(f"[127.0.0.1]:{port} {key.with_name('other.pub').read_text()}")
        access: Access = server.access(known_hosts=(str(known),))
        connection = access.connect(dataclasses.replace(server.host(), port=port), time.monotonic() + 20)
        try:
            channel = connection.transport.open_session(timeout=10)
            with contextlib.suppress(paramiko.SSHException):  # it may be left before we were told that it begins
                channel.exec_command("anything")
            until = time.monotonic() + 20
            while connection.transport.is_active() and time.monotonic() < until:
                time.sleep(0.01)
            assert not connection.transport.is_active()
            assert len(channel.in_buffer) <= 2 * WINDOW + (1 << 16)
        finally:
            connection.close()
