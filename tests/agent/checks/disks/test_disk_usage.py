"""disk_usage: a disk that fills up is told in time, in df's percent; a hung one is unknown and costs one wait."""

from __future__ import annotations

from typing import Any

import pytest

from agent.checks.disks import disk_usage
from agent.expected import Expected, ExpectedMount
from agent.host import Stuck, Touched
from tests.agent.jbod import EXPECTED, MOUNTINFO, TB, broker, rows, usage
from tests.machine import by_item, next_run, run_checks

HEALTHY = disk_usage.Facts("/kafka/d1", True, 50.0, 4 * TB, 4 * TB, 8 * TB, 1.0, 1000, 990)


@pytest.mark.parametrize(
    ("data", "percent", "status"),
    [
        (True, 74.99, "ok"),
        (True, 75.0, "warning"),
        (True, 84.99, "warning"),
        (True, 85.0, "critical"),
        (True, 100.0, "critical"),
        (False, 79.99, "ok"),
        (False, 80.0, "warning"),
        (False, 89.99, "warning"),
        (False, 90.0, "critical"),
    ],
)
def test_the_edges_of_space_and_of_inodes(data: bool, percent: float, status: str) -> None:
    for changes in ({"used_percent": percent}, {"inodes_used_percent": percent}):
        facts = HEALTHY._replace(data=data, **changes)  # type: ignore[arg-type]
        assert disk_usage.judge(facts, disk_usage.LIMITS).status == status


def test_healthy_mounts_and_the_root_disk_give_no_alarm() -> None:
    found = by_item(run_checks(broker(), "disk_usage"))

    assert {item: finding.status for item, finding in found.items()} == dict.fromkeys(
        ("/kafka/d1", "/kafka/d2", "/"), "ok"
    )


def test_a_full_data_mount_tells_numbers_and_playbook_and_is_ok_again_with_room() -> None:
    host = broker(answers={"touch usage /kafka/d1": usage(87)})
    finding = by_item(run_checks(host, "disk_usage"))["/kafka/d1"]

    assert (finding.status, finding.verdict.playbook) == ("critical", "full-disk")
    assert finding.verdict.reason == "/kafka/d1: 87.0 % used, 1040 of 8000 GB free, limit 85 %"

    freed = next_run(host, answers={"touch usage /kafka/d1": usage(60)})
    assert by_item(run_checks(freed, "disk_usage"))["/kafka/d1"].status == "ok"


def test_blocks_reserved_for_root_do_not_count_as_room() -> None:
    # 8 TB, 5 % reserved: 7.2 TB used, 0.4 TB left to Kafka.
    given = {"total_bytes": 8 * TB, "used_bytes": 72 * TB // 10, "free_bytes": 4 * TB // 10}
    host = broker(answers={"touch usage /kafka/d1": Touched("", {**given, "inodes": 9, "inodes_free": 9})})

    finding = by_item(run_checks(host, "disk_usage"))["/kafka/d1"]

    assert finding.facts["used_percent"] == pytest.approx(100 * 7.2 / 7.6)
    assert finding.status == "critical"


def test_a_file_system_out_of_inodes_is_critical_with_space_left() -> None:
    host = broker(answers={"touch usage /kafka/d1": usage(10, inodes_free=0)})

    finding = by_item(run_checks(host, "disk_usage"))["/kafka/d1"]

    assert finding.status == "critical"
    assert "100.0 % of inodes used, 0 free" in finding.verdict.reason


def test_a_file_system_that_counts_no_inodes_is_judged_by_its_space() -> None:
    host = broker(answers={"touch usage /kafka/d1": usage(10, inodes=0, inodes_free=0)})

    assert by_item(run_checks(host, "disk_usage"))["/kafka/d1"].status == "ok"


def test_only_mounts_of_their_own_are_asked_beside_the_data_mounts() -> None:
    var = MOUNTINFO["/"].replace(" / / ", " / /var ") + "\n"
    answers = {"touch stat /var": Touched("", {}), "touch usage /var": usage(91)}
    host = broker({"/proc/self/mountinfo": rows(MOUNTINFO) + var}, answers, expected=Expected())

    found = by_item(run_checks(host, "disk_usage"))

    assert {item: finding.status for item, finding in found.items()} == {"/": "ok", "/var": "critical"}


def test_a_hung_mount_is_unknown_and_touched_once_by_all_checks_together() -> None:
    host = broker(answers={"touch stat /kafka/d1": Stuck("stat of /kafka/d1", 4.0)})
    touches: list[str] = []
    touch = host.touch

    def counted(kind: str, path: str, *arguments: Any, deadline_s: float = 5.0, named_by: int = 0) -> Touched:
        touches.append(f"{kind} {path}")
        return touch(kind, path, *arguments, deadline_s=deadline_s, named_by=named_by)

    host.touch = counted  # type: ignore[method-assign]
    found = {(row.check, row.item): row for row in run_checks(host, "disk_usage", "mounts", "disk_balance")}

    assert found["disk_usage", "/kafka/d1"].status == "unknown"
    assert found["disk_usage", "/kafka/d1"].verdict.reason == "/kafka/d1 does not respond (see mounts)"
    assert found["mounts", "/kafka/d1"].status == "critical"
    assert [name for name in touches if "/kafka/d1" in name] == ["stat /kafka/d1"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"files": {"/proc/self/mountinfo": rows(MOUNTINFO, d1="")}}, "nothing is mounted at /kafka/d1"),
        ({"answers": {"touch usage /kafka/d1": Touched("EIO", {})}}, "fails with EIO"),
        ({"answers": {"touch usage /kafka/d1": Touched("", {})}}, "returned no numbers"),
        ({"answers": {"touch usage /kafka/d1": usage(0, 0)}}, "returned size 0"),
        ({"answers": {"touch usage /kafka/d1": Touched("", {"total_bytes": "8"})}}, "returned no numbers"),
    ],
)
def test_what_does_not_tell_its_size_is_unknown(changes: Any, words: str) -> None:
    finding = by_item(run_checks(broker(**changes), "disk_usage"))["/kafka/d1"]

    assert finding.status == "unknown"
    assert words in finding.verdict.reason


def test_an_item_may_have_limits_of_its_own() -> None:
    limits = {"disk_usage": {"items": {"/kafka/d1": {"data_percent_warning": 45}}}}

    found = by_item(run_checks(broker(expected=EXPECTED._replace(limits=limits)), "disk_usage"))

    assert (found["/kafka/d1"].status, found["/kafka/d2"].status) == ("warning", "ok")


def test_the_root_file_system_as_a_data_mount_has_the_limits_of_one() -> None:
    expected = Expected(roles=("broker",), mounts=(ExpectedMount("/"),))

    (finding,) = run_checks(broker(answers={"touch usage /": usage(76, TB)}, expected=expected), "disk_usage")

    assert (finding.item, finding.status) == ("/", "warning")
