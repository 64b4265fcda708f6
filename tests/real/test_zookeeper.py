"""zookeeper against a real server: healthy, full, closed words, read-only, without quorum, stopped."""

import contextlib
import pathlib
import socket
from collections.abc import Iterator

import pytest

from agent.expected import Expected
from agent.machine.live import LiveHost
from agent.state import State
from agent.status import Finding
from tests.machine import by_item, run_checks
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import ZooKeeper, ask, free_port

pytestmark = pytest.mark.slow


@pytest.fixture
def host() -> Iterator[LiveHost]:
    live = LiveHost(Expected(roles=("zookeeper",)))
    yield live
    live.close()


def finding(host: LiveHost, server: ZooKeeper) -> Finding:
    """What the agent says of this server, which it finds among the running processes."""
    fresh = LiveHost(host.expected)
    fresh.state = State("boot", fresh.now(), host.state.dump())
    try:
        return by_item(run_checks(fresh, "zookeeper"))[f"127.0.0.1:{server.port}"]
    finally:
        host.state = fresh.state
        fresh.close()


@contextlib.contextmanager
def held(port: int, number: int) -> Iterator[None]:
    """Connections from 127.0.0.1 that say nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=4))
        yield


def test_a_healthy_server_of_its_own_is_quiet(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with ZooKeeper(tmp_path) as server:
        first, second = finding(host, server), finding(host, server)

    assert (first.status, second.status) == ("ok", "ok"), (first.verdict, second.verdict)
    assert first.facts["mode"] == "standalone"
    assert first.facts["source_limit"] == 60
    assert first.facts["fullest_source"] == "127.0.0.1"
    assert first.facts["open_files_limit"] > first.facts["open_files"] > 0
    assert first.facts["latency_avg_ms"] is not None and first.facts["data_bytes"] is not None


def test_a_full_address_is_critical_and_well_again_when_there_is_room(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with ZooKeeper(tmp_path, maxClientCnxns=4) as server:
        with held(server.port, 4):
            wait_for("a full server", lambda: not ask(server.port, "srvr"))
            full = finding(host, server)
            # a closed connection shows as an end, a reset or a broken pipe, as the moment has it
            silence = {host.exchange("127.0.0.1", server.port, "srvr") for _ in range(200)}
        wait_for("room again", lambda: ask(server.port, "srvr"))
        after = finding(host, server)
        later = finding(host, server)

    assert silence == {""}
    assert (full.status, full.verdict.playbook) == ("critical", "zookeeper-connections")
    assert "maxClientCnxns reached (4)" in full.verdict.reason
    assert (after.status, later.status) == ("ok", "ok"), (after.verdict, later.verdict)


def test_an_address_that_is_nearly_full_is_told_before_it_is(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with ZooKeeper(tmp_path, maxClientCnxns=10) as server, held(server.port, 7):
        wait_for("the connections", lambda: ask(server.port, "cons").count("/127.0.0.1:") >= 8)
        nearly = finding(host, server)

    assert nearly.status == "warning", nearly.verdict
    assert "8 of 10 connections from 127.0.0.1" in nearly.verdict.reason


def test_a_server_with_the_default_whitelist_is_unknown_with_the_line_to_add(
    host: LiveHost, tmp_path: pathlib.Path
) -> None:
    with ZooKeeper(tmp_path, whitelist="") as server:
        shut = finding(host, server)

    assert shut.status == "unknown"
    assert "4lw.commands.whitelist=srvr,mntr,cons,conf,isro,ruok" in shut.verdict.reason
    assert shut.facts["mode"] == "standalone"


def test_a_server_without_a_quorum_is_critical(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with ZooKeeper(tmp_path, peers=lonely()) as server:
        alone = finding(host, server)

    assert alone.status == "critical" and "no quorum" in alone.verdict.reason


def test_a_server_that_serves_reading_only_is_critical(host: LiveHost, tmp_path: pathlib.Path) -> None:
    with ZooKeeper(tmp_path, peers=lonely(), java=("-Dreadonlymode.enabled=true",), tickTime=500) as server:
        wait_for("read-only mode", lambda: "read-only" in ask(server.port, "srvr"), 40.0)
        reading = finding(host, server)

    assert reading.status == "critical" and "read-only" in reading.verdict.reason


def lonely() -> tuple[str, ...]:
    """An ensemble of three of which the others never come."""
    return tuple(f"server.{number}=127.0.0.1:{free_port()}:{free_port()}" for number in (1, 2, 3))


def test_a_stopped_server_is_critical_where_it_should_run(tmp_path: pathlib.Path) -> None:
    with ZooKeeper(tmp_path) as server:
        server.stop()
        here = LiveHost(Expected(roles=("zookeeper",), ports=(server.port,)))
        (stopped,) = run_checks(here, "zookeeper")
        here.close()

    assert (stopped.item, stopped.status) == (f"127.0.0.1:{server.port}", "critical")
    assert "nothing listens" in stopped.verdict.reason
