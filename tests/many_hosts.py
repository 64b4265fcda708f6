"""Runs over many hosts for tests, without any host: what the fan-out would have given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.report import Report
from agent.state import State
from agent.status import Verdict, ok
from inventory.model import Cluster, Host
from smoketests.remote.fanout import HostReport
from smoketests.results.run_results import Survey
from smoketests.results.store import Keeping
from tests.records import AT, finding

NOW = 1_795_144_320.0  # AT, as seconds


def host_report(host: Host | str, *findings: Mapping[str, Any], reach: Verdict | None = None) -> HostReport:
    """A whole report of these findings, each made to be about this host."""
    who = host if isinstance(host, Host) else Host(host, cluster="prod-a")
    identity = {"host": who.name, "cluster": who.cluster, "run_id": "r1"}
    header = {"schema": 1, "kind": "header", "at": AT, "guessed": [], "previous_at": "", **identity}
    rows: list[Mapping[str, Any]] = [{**row, **identity} for row in findings]
    lines = [json.dumps(row) for row in [header, *rows]] if findings else []
    verdict = reach or ok("answered in 0.1 s")
    return HostReport(who, Report(header if findings else {}, rows, []), lines, verdict, 0.1)


def survey(
    reports: Iterable[HostReport], wanted: Sequence[str] = ("reach",), memory: State | None = None,
    keeper: Keeping | None = None, silent: Sequence[Host] = (),
) -> Survey:  # fmt: skip
    """What came of a run in which these were heard, and `silent` never were."""
    heard = list(reports)
    hosts = [*(one.host for one in heard), *silent]
    clusters = [
        Cluster(name, tuple(host for host in hosts if host.cluster == name))
        for name in dict.fromkeys(host.cluster for host in hosts)
    ]
    seen = Survey(clusters, hosts, "r1", AT, wanted, memory or State("", NOW), keeper=keeper, whole=True)
    for one in heard:
        seen.hear(one)
    return seen


def swappiness(status: str = "warning", reason: str = "vm.swappiness is 60, limit 1", **fields: Any) -> Any:
    return finding(status, check="swappiness", item="-", reason=reason, playbook="tune-os", **fields)
