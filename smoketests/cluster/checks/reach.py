"""Did each host answer, and with a whole report?

A host that does not answer is a row of its own, with the reason: refused, black hole, host key changed or unknown,
wrong user or key, sudo requires a password, no Python 3.9, no room, report truncated, and so on.

Unknown: the host could not be asked or heard out, or was not asked at all.

Warning: it answered, but it took most of its time: the next run may not hear it.

Ok again: as soon as it answers whole and in time.
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
        raise NotApplicable("no host of this cluster was to be asked")
    return [_of_host(view, host, limits) for host in view.hosts]


def _of_host(view: ClusterView, host: Host, limits: Mapping[str, Any]) -> ClusterFinding:
    report = view.reports.get(host.name)
    if report is None:
        return ClusterFinding(host.name, unknown("it was not asked, or the run ended before its answer"), {}, host.name)
    verdict = report.reach
    if verdict.status == OK and report.seconds >= limits["answer_s_warning"]:
        verdict = warning(f"answered in {report.seconds:.0f} s, should be below {limits['answer_s_warning']} s")
    facts = {"seconds": round(report.seconds, 2), "findings": len(report.report.findings)}
    return ClusterFinding(host.name, verdict, facts, host.name)
