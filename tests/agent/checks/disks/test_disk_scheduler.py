"""disk_scheduler: what stands in brackets, of every disk below a data mount."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checks.disks import disk_scheduler
from agent.expected import Expected, ExpectedMount
from agent.host import CannotTell, Disk
from agent.machine.live import LiveHost
from tests.machine import FakeHost, by_item, next_run, run_checks


def disk(name: str, **known: Any) -> Disk:
    given = {"name": name, "kind": "physical", "model": "", "serial": "", "wwn": "", "size_bytes": 1 << 40}
    return Disk(**{**given, "rotational": True, "bus": "", "slot": "", "dev": "", **known})


# hand-made: two disks in md0 below /kafka/d1; a third disk that carries no data; an empty card reader
FILES = {
    "/sys/block/sda/sda1/partition": "1",
    "/sys/block/sdb/sdb1/partition": "1",
    "/sys/block/sdc/size": "8",
    "/sys/block/md0/slaves/sda1": "",
    "/sys/block/md0/slaves/sdb1": "",
    "/sys/block/sda/queue/scheduler": "[none] mq-deadline kyber bfq\n",
    "/sys/block/sdb/queue/scheduler": "none mq-deadline kyber [bfq]\n",
    "/sys/block/sdc/queue/scheduler": "noop deadline [cfq]\n",
    "/proc/self/mountinfo": "30 1 9:0 / /kafka/d1 rw - xfs /dev/md0 rw\n",
}
ANSWERS = {
    "link /sys/dev/block/9:0": "/sys/devices/virtual/block/md0",
    "disks": [disk("sda"), disk("sdb", serial="ZA1BC2"), disk("sdc"), disk("sdd", size_bytes=0)],
}
MOUNTS = Expected(roles=("broker",), mounts=(ExpectedMount("/kafka/d1"),))


def machine(expected: Expected = MOUNTS) -> FakeHost:
    return FakeHost(files=FILES, answers=ANSWERS, expected=expected)


@pytest.mark.parametrize(
    ("scheduler", "status"),
    [
        *((name, "ok") for name in ("none", "noop", "deadline", "mq-deadline")),
        *((name, "warning") for name in ("bfq", "kyber", "cfq", "adios")),
    ],
)
def test_which_schedulers_are_good(scheduler: str, status: str) -> None:
    facts = disk_scheduler.Facts("sda", (), scheduler, ("mq-deadline", scheduler))

    assert disk_scheduler.judge(facts, disk_scheduler.LIMITS).status == status


def test_every_disk_below_a_data_mount_is_asked_also_through_md() -> None:
    findings = by_item(run_checks(machine(), "disk_scheduler"))

    assert {item: finding.status for item, finding in findings.items()} == {"sda": "ok", "sdb": "warning"}
    assert findings["sdb"].verdict.reason == ("sdb (serial ZA1BC2) below /kafka/d1: scheduler bfq, should be none")
    assert findings["sdb"].verdict.playbook == "tune-os"


def test_it_is_ok_again_once_the_setting_is_back() -> None:
    first = machine()
    run_checks(first, "disk_scheduler")
    mended = next_run(first, files={"/sys/block/sdb/queue/scheduler": "[mq-deadline] none\n"})

    assert {finding.status for finding in run_checks(mended, "disk_scheduler")} == {"ok"}


def test_without_known_mounts_all_disks_of_a_broker_are_asked_but_empty_slots() -> None:
    findings = by_item(run_checks(machine(Expected(roles=("broker",))), "disk_scheduler"))

    assert {item: finding.status for item, finding in findings.items()} == {
        "sda": "ok",
        "sdb": "warning",
        "sdc": "warning",
    }
    assert "should be noop" in findings["sdc"].verdict.reason


def test_a_machine_without_kafka_is_left_alone() -> None:
    (finding,) = run_checks(machine(Expected()), "disk_scheduler")

    assert finding.status == "skipped"


def test_data_mounts_that_are_not_there_are_unknown() -> None:
    (finding,) = run_checks(machine(Expected(mounts=(ExpectedMount("/kafka/d9"),))), "disk_scheduler")

    assert (finding.status, "nothing is mounted at /kafka/d9" in finding.verdict.reason) == ("unknown", True)


def test_a_device_with_a_single_scheduler_names_it_without_brackets() -> None:
    assert disk_scheduler.parse("none\n", "scheduler") == ("none", ("none",))


@given(st.one_of(st.text(), st.from_regex(r"\[?[\w-]{0,60}\]? ?\[?[a-z-]{0,9}\]?", fullmatch=True)))
def test_rubbish_names_a_scheduler_or_cannot_be_told(text: str) -> None:
    try:
        chosen, _ = disk_scheduler.parse(text, "scheduler")
    except CannotTell:
        return
    assert f"[{chosen}]" in text or text.split() == ["none"]


@given(st.text().filter(lambda text: "[" not in text and text.split() != ["none"]))
def test_rubbish_is_unknown_and_never_ok(text: str) -> None:
    host = next_run(machine(), files={"/sys/block/sdb/queue/scheduler": text})
    finding = by_item(run_checks(host, "disk_scheduler"))["sdb"]

    assert (finding.status, "no scheduler" in finding.verdict.reason) == ("unknown", True)


def test_the_scheduler_of_this_very_machine_is_read() -> None:
    host = LiveHost(Expected(roles=("broker",)))
    try:
        findings = run_checks(host, "disk_scheduler")
    finally:
        host.close()
    if findings[0].item == "-":
        pytest.skip(f"no physical disk here: {findings[0].verdict.reason}")

    assert all(finding.facts["scheduler"] in finding.facts["offered"] for finding in findings)
