"""open_files: each server against its own limit, and the system against its."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.kafka import open_files
from agent.host import CannotTell, Missing, NoPermission, ProcessUse
from agent.sources.kafka import processes as kafka
from tests.agent.servers import broker, machine, zookeeper
from tests.machine import by_item, next_run, run_checks

HEALTHY = open_files.Facts(pid=4242, open_files=2000, open_files_limit=200000)
FILE_NR = {"/proc/sys/fs/file-nr": "5000\t0\t2000000\n"}


@pytest.mark.parametrize(
    ("used", "status"),
    [(0, "ok"), (139_999, "ok"), (140_000, "warning"), (169_999, "warning"), (170_000, "critical")],
)
def test_the_edges_of_the_use(used: int, status: str) -> None:
    assert open_files.judge(HEALTHY._replace(open_files=used), open_files.LIMITS).status == status
    assert open_files.judge(HEALTHY._replace(open_files=used, pid=0), open_files.LIMITS).status == status


@pytest.mark.parametrize(("limit", "status"), [(100_000, "ok"), (99_999, "warning"), (4096, "warning"), (-1, "ok")])
def test_the_edges_of_the_limit_itself(limit: int, status: str) -> None:
    assert open_files.judge(HEALTHY._replace(open_files=10, open_files_limit=limit), open_files.LIMITS).status == status


def test_a_limit_of_nothing_is_full() -> None:
    assert open_files.judge(HEALTHY._replace(open_files_limit=0), open_files.LIMITS).status == "critical"


def test_a_small_limit_of_the_system_is_judged_by_its_use_alone() -> None:
    assert open_files.judge(open_files.Facts(0, 100, 4096), open_files.LIMITS).status == "ok"


def test_broker_zookeeper_and_system_are_an_item_each() -> None:
    host = machine(
        broker(),
        zookeeper(),
        roles=("broker", "zookeeper"),
        files=FILE_NR,
        answers={"process_use 2121": ProcessUse(3500, 4096, 100)},
    )

    found = by_item(run_checks(host, "open_files"))
    assert {item: finding.status for item, finding in found.items()} == {
        "system": "ok",
        "broker": "ok",
        "zookeeper": "critical",
    }
    assert "3500 of 4096 open files (85 %) of process 2121" in found["zookeeper"].verdict.reason
    assert "should be at least 100000" in found["zookeeper"].verdict.reason
    assert found["zookeeper"].verdict.playbook == "tune-os"


def test_an_unlimited_process_and_an_unlimited_system_are_well() -> None:
    unlimited = {"/proc/sys/fs/file-nr": "5000\t0\t9223372036854775807\n"}
    host = machine(broker(), files=unlimited, answers={"process_use 4242": ProcessUse(10**6, -1, 1)})

    found = by_item(run_checks(host, "open_files"))
    assert [finding.status for finding in found.values()] == ["ok", "ok"]
    assert all("no limit" in finding.verdict.reason for finding in found.values())


@pytest.mark.parametrize("error", [NoPermission("needs root: open files of process 4242"), Missing("process ended")])
def test_what_only_root_may_count_is_unknown(error: CannotTell) -> None:
    found = by_item(run_checks(machine(broker(), files=FILE_NR, answers={"process_use 4242": error}), "open_files"))

    assert (found["broker"].status, found["broker"].verdict.reason) == ("unknown", str(error))
    assert found["system"].status == "ok"


def test_a_stopped_broker_keeps_its_row() -> None:
    before = machine(broker(), files=FILE_NR)
    kafka.known_servers(before)

    found = by_item(run_checks(next_run(before, answers={"processes": []}), "open_files"))
    assert (found["broker"].status, found["broker"].verdict.reason[:21]) == ("skipped", "broker is not running")


def test_a_machine_that_shows_no_processes_still_tells_of_the_system() -> None:
    host = machine(files=FILE_NR, answers={"processes": CannotTell("/proc cannot be read")})

    found = by_item(run_checks(host, "open_files"))
    assert (found["system"].status, found["broker"].status) == ("ok", "unknown")


def test_without_kafka_only_the_system_is_asked() -> None:
    assert list(by_item(run_checks(machine(roles=(), files=FILE_NR), "open_files"))) == ["system"]


@given(st.text())
def test_rubbish_in_file_nr_is_unknown(text: str) -> None:
    (finding,) = run_checks(machine(roles=(), files={"/proc/sys/fs/file-nr": text}), "open_files")

    assert "check failed" not in finding.verdict.reason
    numbers = text.split()
    assert finding.status == "unknown" or (len(numbers) == 3 and all(word.isdigit() for word in numbers))


def test_each_of_two_brokers_is_counted_by_its_own_process() -> None:
    brokers = [broker(pid=1), broker(pid=2, config="/etc/kafka/b.properties")]
    host = machine(*brokers, files=FILE_NR, answers={"process_use 2": ProcessUse(190_000, 200_000, 1)})

    found = by_item(run_checks(host, "open_files"))
    assert found["broker /etc/kafka/b.properties"].status == "critical"
    assert found["broker /etc/kafka/server.properties"].status == "ok"
