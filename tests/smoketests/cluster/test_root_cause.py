"""shared_fate on one host: what several checks see of one failed disk is one cause, and one row of the table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.kafka import log_events as lines
from smoketests import cluster
from smoketests.cluster import root_cause as module
from smoketests.cluster.view import ClusterView
from smoketests.commands import explain
from smoketests.show.fold import fold
from tests.smoketests.cluster.checks.test_partitions import THREE, kafka, log_dir, part
from tests.smoketests.cluster.views import problems, said, view

WHERE = "/kafka/d2 on sdc (ST8000NM0055, serial ZA1BC2)"
Row = dict[str, Any]


def mount(status: str = "critical", where: str = WHERE, **facts: Any) -> Row:
    given_ = {"where": where, "read_only": [], "stat_error": "", "write_error": "EIO", "hung": "", **facts}
    row = said("mounts", "/kafka/d2", status, **given_)
    return {**row, "reason": f"{where}: create fails with EIO though mounted rw", "playbook": "hidden-readonly"}


def broker_log(*events: tuple[str, str]) -> Row:
    given_ = events or ((lines.LOG_DIR, "/kafka/d2/logs"), (lines.EXPAND, ""))
    facts = {"kinds": [kind for kind, _about in given_], "about": [about for _kind, about in given_]}
    return {**said("kafka_log", "broker", "critical", **facts), "reason": "log dir /kafka/d2/logs failed"}


KERNEL = said("disk_errors", "sdc", "warning")
SMART = said("smart", "ZA1BC2", "warning")


def with_kafka(*rows: Row) -> ClusterView:
    failed = log_dir(1, "/kafka/d2/logs", "KafkaStorageError")
    offline = [part("orders", number, 2, 1, 2, isr=(2,), offline=(1,)) for number in range(12)]
    dirs = (failed, log_dir(2), log_dir(3))
    return view({**THREE, 1: list(rows)}, kafka=kafka(*offline, log_dirs=dirs))


def causes(seen: ClusterView) -> list[Row]:
    return [row for row in problems(seen, "shared_fate") if row["host"]]


def test_a_failed_disk_is_one_cause_with_all_that_see_it_and_what_it_costs() -> None:
    (row,) = causes(with_kafka(mount(), broker_log(), KERNEL, SMART))

    assert (row["host"], row["item"], row["status"]) == ("kafka-a01", "/kafka/d2", "critical")
    assert row["playbook"] == "hidden-readonly"
    assert row["reason"].startswith(
        f"one cause, seen by mounts, kafka_log, partitions, disk_errors, smart: {WHERE}: create fails with EIO"
    )
    assert row["reason"].endswith("12 replicas are offline")
    assert row["facts"]["seen_by"] == [
        ["mounts", "/kafka/d2"], ["kafka_log", "broker"], ["partitions", "broker 1 /kafka/d2/logs"],
        ["disk_errors", "sdc"], ["smart", "ZA1BC2"],
    ]  # fmt: skip


def table(seen: ClusterView, *rows: Row) -> list[tuple[str, str]]:
    """Check and item of the rows about the first host that a person sees."""
    named = [{**row, "host": "kafka-a01"} for row in rows]
    bad = [row for row in [*named, *cluster.judge_all(seen)] if row["status"] not in ("ok", "skipped")]
    return [(row.check, row.items[0]) for row in fold(bad) if row.hosts == ("kafka-a01",)]


def test_in_the_table_it_is_one_row() -> None:
    rows = (mount(), broker_log(), KERNEL, SMART)

    assert table(with_kafka(*rows), *rows) == [("shared_fate", "/kafka/d2")]


def test_what_the_log_tells_besides_keeps_its_row() -> None:
    rows = (mount(), broker_log((lines.LOG_DIR, "/kafka/d2/logs"), (lines.UNCLEAN, "")))

    assert table(with_kafka(*rows), *rows) == [("kafka_log", "broker"), ("shared_fate", "/kafka/d2")]
    two = (mount(), broker_log((lines.LOG_DIR, "/kafka/d2/logs"), (lines.LOG_DIR, "/kafka/d3/logs")))
    assert ("kafka_log", "broker") in table(with_kafka(*two), *two)


def test_a_cause_hides_nothing_of_other_disks_or_hosts() -> None:
    rows = (mount(), broker_log(), said("disk_errors", "sdd", "warning"), said("smart", "ZA1BC", "critical"))

    assert table(with_kafka(*rows), *rows) == [
        ("shared_fate", "/kafka/d2"), ("smart", "ZA1BC"), ("disk_errors", "sdd"),
    ]  # fmt: skip
    other = {**mount(), "host": "kafka-a02"}
    bad = [other, *causes(with_kafka(*rows))]
    assert {row.check for row in fold(bad)} == {"mounts", "shared_fate"}


def test_a_log_dir_that_failed_on_a_mount_that_looks_well_again_is_told_with_kafka_alone() -> None:
    (row,) = causes(with_kafka(said("mounts", "/kafka/d2"), broker_log()))

    assert row["item"] == "/kafka/d2/logs" and "seen by kafka_log, partitions: log dir" in row["reason"]


@pytest.mark.parametrize(
    "rows",
    [
        [mount()],
        [KERNEL, SMART],
        [mount(write_error=""), SMART],  # another disk than should be: not a failure of this one
        [mount("warning", write_error=""), SMART],
        [mount(), said("disk_usage", "/kafka/d2", "warning")],
        [mount(), said("smart", "ZA1BC2", "unknown")],
        [broker_log((lines.UNCLEAN, "")), mount()],
    ],
)
def test_no_cause_is_made_up_of_what_need_not_belong_together(rows: list[Row]) -> None:
    assert causes(view({**THREE, 1: rows})) == []


def test_a_full_disk_is_one_cause_with_its_usage() -> None:
    full = {**mount(write_error="ENOSPC"), "reason": f"{WHERE}: full: create fails with ENOSPC, 0 MB free"}
    (row,) = causes(view({**THREE, 1: [full, said("disk_usage", "/kafka/d2", "critical")]}))

    assert "seen by mounts, disk_usage" in row["reason"]


@pytest.mark.parametrize(("check", "kind"), [("mounts", module.Mount), ("kafka_log", module.BrokerLog)])
def test_what_is_read_is_what_the_agent_tells(check: str, kind: Any) -> None:
    assert set(kind._fields) <= set(explain.facts(check))


ODD = st.one_of(st.none(), st.text(max_size=5), st.lists(st.one_of(st.text(max_size=3), st.lists(st.text(max_size=3)))))


@given(ODD, ODD, ODD)
def test_whatever_a_host_says_it_hides_nothing_that_is_worse(kinds: Any, where: Any, seen_by: Any) -> None:
    rows = [said("kafka_log", "broker", "critical", kinds=kinds, about=kinds), {**mount(), "facts": {"where": where}}]
    assert len(problems(view({**THREE, 1: rows}), "shared_fate")) <= 1

    forged = {**said("shared_fate", "x", "warning", seen_by=seen_by), "host": "kafka-a01"}
    worse = {**said("mounts", "/kafka/d2", "critical"), "host": "kafka-a01"}
    forged["facts"]["seen_by"] = [["mounts", "/kafka/d2"], seen_by]
    assert {row.check for row in fold([forged, worse])} == {"mounts", "shared_fate"}
