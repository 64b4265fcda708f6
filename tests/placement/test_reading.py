"""A snapshot from Kafka and the agents. Facts made by hand; a real cluster: tests/real/test_kafka_cluster.py."""

from __future__ import annotations

from typing import Any

import pytest

from agent.report import Report
from agent.status import ok, unknown
from inventory.model import Cluster
from placement import reading
from placement.errors import PlacementError
from smoketests.readers.kafka.model import KafkaFacts, LogDir, Partition
from smoketests.readers.zookeeper.ensemble import Registered
from smoketests.remote.outcome import HostReport
from tests.smoketests.cluster.views import host

HOST = host(1)
CLUSTER = Cluster("prod-a", (HOST,))
HEALTHY: list[dict[str, Any]] = [
    {"check": check, "item": "/kafka/d1" if check == "mounts" else "-", "status": "ok", "reason": "", "facts": {}}
    for check in reading.HARDWARE
]


def of_host(rows: list[dict[str, Any]], reach: Any = None) -> reading.Hardware:
    report = HostReport(HOST, Report({}, [*rows], []), [], reach or ok("answered"), 1.0)
    return reading.hardware([report])[HOST.name]


def kafka(**fields: Any) -> KafkaFacts:
    row = Partition("orders", 0, 1, (1, 2), (1,))
    given: dict[str, Any] = {
        "brokers": (Registered(1, HOST.name, 9092),), "partitions": (row,),
        "log_dirs": (LogDir(1, "/kafka/d1/logs", "", 100, 50, 7, 1),),
        "replicas": {("orders", 0, 1): ("/kafka/d1/logs", 7)},
    }  # fmt: skip
    return KafkaFacts("id", 1, quorum=None, **{**given, **fields})


def test_a_healthy_host_has_no_trouble() -> None:
    assert of_host(HEALTHY) == reading.Hardware((), (), ("/kafka/d1",), 0)


def test_findings_are_kept_by_what_they_are() -> None:
    bad = [
        {**HEALTHY[1], "status": "critical", "reason": "failing"},
        {**HEALTHY[6], "status": "unknown", "reason": "slow"},
    ]
    found = of_host([*(row for row in HEALTHY if row["check"] not in ("smart", "power")), *bad])

    assert (found.critical, found.unknown) == (("smart -: failing",), ("power -: slow",))


def test_a_report_that_was_cut_is_unknown() -> None:
    assert of_host(HEALTHY[:1], unknown("connection lost")).unknown == ("incomplete report: connection lost",)
    assert of_host(HEALTHY[:1]).unknown == ("no report of smart, raid, disk_errors, memory_errors, nic_link, power",)


def test_a_broker_is_its_host_by_the_name_it_registered_with() -> None:
    seen = {HOST.name: reading.Hardware(("smart -: failing",), (), ("/kafka/d1",))}
    found = reading.snapshot_of(CLUSTER, kafka(), seen, "2026-01-01T00:00:00Z")

    one, two = found.brokers
    assert (one.host, one.trouble, one.log_dirs[0].file_system) == (HOST.name, ("smart -: failing",), "/kafka/d1")
    assert (two.id, two.live, two.unknown) == (2, False, reading.NOT_ASKED.unknown)
    assert found.partitions[0].sizes_bytes == (7, None)


def test_what_is_being_moved_must_be_known() -> None:
    with pytest.raises(PlacementError, match="reassignments under way are not known"):
        reading.snapshot_of(CLUSTER, kafka(tells_moves=False), {}, "2026-01-01T00:00:00Z")
    with pytest.raises(PlacementError, match="does not report the size"):
        old = (LogDir(1, "/kafka/d1/logs", "", None, None, 7, 1),)
        reading.snapshot_of(CLUSTER, kafka(log_dirs=old), {}, "2026-01-01T00:00:00Z")
