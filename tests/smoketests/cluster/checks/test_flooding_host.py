"""One host that reports a thousand disks decides neither what is usual in its cluster, nor how long judging takes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from agent import status
from smoketests import cluster
from smoketests.cluster import shared_components
from smoketests.cluster.checks import slow_disk
from tests.smoketests.cluster.checks.test_hosts import PEERS, disks, drives, latency
from tests.smoketests.cluster.views import problems, said, view

MANY = 1000


def flood(ms: float, count: int = MANY) -> list[dict[str, Any]]:
    return [latency(ms, f"x{number}") for number in range(count)]


def test_a_thousand_quick_disks_of_one_host_do_not_make_the_other_hosts_disks_slow() -> None:
    assert not problems(view({**PEERS, 3: disks(10, 11, 9, 10), 4: flood(0.5)}), "slow_disk")


def test_a_thousand_slow_disks_of_one_host_do_not_hide_the_slow_disk_of_another() -> None:
    seen = view({**PEERS, 3: disks(200, 10, 10, 10), 4: flood(150)})

    found = problems(seen, "slow_disk")
    assert [(row["host"], row["item"]) for row in found] == [("kafka-a04", "disks of kafka-a04"), ("kafka-a03", "sda")]


def bad_batch(others: dict[int, Any]) -> Any:
    """Firmware SN01 fails on the first host, SN02 works everywhere."""
    bad = [*drives("SN01", "warning", 3), *drives("SN02", "ok")]
    return view({1: bad, 2: drives("SN02", "ok"), 3: drives("SN02", "ok"), **others})


@pytest.mark.parametrize("condition", ["ok", "warning"])
def test_a_thousand_drives_of_one_host_do_not_hide_that_a_batch_fails(condition: str) -> None:
    liar = [*drives("SN01", condition, MANY), *drives("SN02", "critical", MANY)]

    assert [row["item"] for row in problems(bad_batch({4: liar}), "shared_fate")] == ["drives ST8000 firmware SN01"]


def test_a_thousand_drives_of_one_host_accuse_no_model_of_the_others() -> None:
    well = {number: drives("SN02", "ok") for number in (1, 2, 3)}

    assert not problems(
        view({**well, 4: [*drives("SN02", "critical", MANY), *drives("SN09", "ok", MANY)]}), "shared_fate"
    )


def test_brokers_with_many_drives_count_beside_more_zookeeper_machines_with_two() -> None:
    ensemble = {number: {"roles": ("zookeeper",), "layout": "raid10"} for number in range(4, 9)}
    rows = {1: [*drives("SN01", "warning", 3), *drives("SN02", "ok", 9)], 2: drives("SN02", "ok", 12),
            **{number: drives("SN02", "ok", 2) for number in ensemble}}  # fmt: skip
    seen = view(rows, host_fields=ensemble)

    assert [row["item"] for row in problems(seen, "shared_fate")] == ["drives ST8000 firmware SN01"]
    assert len(shared_components.of_drives(seen)) == 12 + 12 + 5 * 2


def test_the_only_host_that_has_drives_is_judged_by_itself() -> None:
    assert len(shared_components.of_drives(view({1: drives("SN01", "ok", 12), 2: [said("swappiness")]}))) == 12
    assert shared_components.of_drives(view({1: [said("swappiness")]})) == {}


def work(count: int) -> int:
    """How many lines of its own slow_disk goes through: what a judge costs on however busy a machine."""
    lines = 0

    def count_lines(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count_lines if frame.f_code.co_filename == slow_disk.__file__ else None

    half = [row for number in range(count // 2) for row in (latency(500, f"x{number}"), latency(10, f"y{number}"))]
    seen = view({**PEERS, 3: half})
    before = sys.gettrace()
    sys.settrace(count_lines)
    try:
        found = cluster.judge_all(seen, ["slow_disk"], "r1", "2026-11-20T03:12:00Z")
    finally:
        sys.settrace(before)
    assert sum(row["status"] == status.WARNING for row in found) == count // 2
    return lines


def test_judging_five_times_the_disks_is_five_times_the_work() -> None:
    assert work(2000) < 6 * work(400)
