"""Did each host reply with a complete report?

An unreachable host has a row of its own, with the reason: connection refused or timed out, host key changed or unknown,
wrong user or key, sudo requires a password, no Python 3.9, no room, report truncated, and so on.

Unknown: no reply from the host, an incomplete report, or the run ended before the host was contacted.

Warning: it replied, but needed most of its time limit: the next run may time out.

Ok again: as soon as it sends a complete report in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.host import NotApplicable
from agent.status import OK, unknown, warning
from inventory.model import Host
from smoketests.cluster.view import ClusterFinding, ClusterView

LIMITS = {"answer_s_warning": 45}
READS: Mapping[str, Any] = {}


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    if not view.hosts:
        raise NotApplicable("no host of this cluster is in this run")
    return [_of_host(view, host, limits) for host in view.hosts]


def _of_host(view: ClusterView, host: Host, limits: Mapping[str, Any]) -> ClusterFinding:
    report = view.reports.get(host.name)
    if report is None:
        return ClusterFinding(host.name, unknown("no reply before the run ended"), {}, host.name)
    verdict = report.reach
    if verdict.status == OK and report.seconds >= limits["answer_s_warning"]:
        verdict = warning(f"answered in {report.seconds:.0f} s, limit {limits['answer_s_warning']} s")
    facts = {"seconds": round(report.seconds, 2), "findings": len(report.report.findings)}
    return ClusterFinding(host.name, verdict, facts, host.name)
