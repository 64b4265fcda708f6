"""Clusters for tests: hosts with the facts that a test gives them, everything else as on a healthy machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from agent.report import Report
from agent.status import OK, ok, unknown
from inventory.model import Cluster, Host
from smoketests import cluster
from smoketests.cluster.view import ClusterView
from tests.records import finding

GB = 1 << 30


def host(number: int, **fields: Any) -> Host:
    given: dict[str, Any] = {"cluster": "prod-a", "roles": ("broker",), "layout": "jbod", "broker_id": number, **fields}
    return Host(f"kafka-a{number:02d}", **given)


def said(check: str, item: str = "-", status: str = OK, **facts: Any) -> dict[str, Any]:
    """One finding of a host."""
    return finding(status, check=check, item=item, facts=facts, reason=f"{check} says {status}")


def answered(*rows: dict[str, Any], seconds: float = 2.0, **header: Any) -> Any:
    """What came of a host that answered: stands in for remote.fanout.HostReport, whose module needs fabric."""
    report = Report({"kind": "header", "kernel": "6.1.0-22", "clock": 0.0, **header}, list(rows), [])
    return SimpleNamespace(report=report, reach=ok("answered in 2.0 s"), seconds=seconds)


def unreached(why: str = "connection refused") -> Any:
    return SimpleNamespace(report=Report({}, [], []), reach=unknown(why), seconds=0.1)


def view(
    rows: Mapping[int, Sequence[dict[str, Any]]], silent: Sequence[int] = (), host_fields: Mapping[int, Any] = {},
    headers: Mapping[int, Any] = {}, limits: Any = None, zookeeper: Any = None, kafka: Any = None, **fields: Any,
) -> ClusterView:  # fmt: skip
    """A cluster of these hosts by number with these findings each; `silent` did not answer."""
    numbers = sorted({*rows, *silent})
    hosts = tuple(host(number, **host_fields.get(number, {})) for number in numbers)
    reports = {
        one.name: unreached() if number in silent else answered(*rows[number], **headers.get(number, {}))
        for number, one in zip(numbers, hosts)
    }
    given = Cluster("prod-a", hosts, limits=limits or {})
    return ClusterView(given, reports, zookeeper=zookeeper, kafka=kafka, **fields)


def judged(seen: ClusterView, name: str) -> dict[str, dict[str, Any]]:
    """The records of one check, by item (with the host where several hosts have it)."""
    records: dict[str, dict[str, Any]] = {}
    for record in cluster.judge_all(seen, [name], "r1", "2026-11-20T03:12:00Z"):
        key = record["item"] if record["item"] not in records else f"{record['host']} {record['item']}"
        assert key not in records, key
        records[key] = record
    return records


def problems(seen: ClusterView, name: str) -> list[dict[str, Any]]:
    return [record for record in judged(seen, name).values() if record["status"] not in ("ok", "skipped")]
