"""Checks across many hosts: one pure module each; the folder's listing is their registry."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent import engine, report
from agent.host import CannotTell, NotApplicable
from agent.status import FINE, skipped, unknown
from inventory.model import Host
from smoketests.cluster import checks
from smoketests.cluster.view import NO_ITEM, ClusterFinding, ClusterView, verdict_of

PREFIX = "cluster_"


class Judge(Protocol):
    """A module of this folder. `READS`: agent check -> NamedTuple of the facts that it reads of it."""

    LIMITS: Mapping[str, Any]
    READS: Mapping[str, Any]

    def judge(self, view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]: ...


def names() -> list[str]:
    """The cluster checks there are; one whose name a host check has already is told apart by `cluster_`."""
    files = sorted(module.name for module in pkgutil.iter_modules(checks.__path__))
    taken = set(engine.names())
    return [PREFIX + name if name in taken else name for name in files]


def load(name: str) -> Judge:
    file = name.removeprefix(PREFIX) if name.removeprefix(PREFIX) in engine.names() else name
    module: Any = importlib.import_module(f"{checks.__name__}.{file}")
    return module  # type: ignore[no-any-return]


def asks(name: str) -> list[str]:
    """The host checks whose findings it judges."""
    check: Any = load(name)
    return [*check.READS, *getattr(check, "ALSO_ASKS", ())]


def judge_all(
    view: ClusterView, names_wanted: Sequence[str] | None = None, run_id: str = "", at: str = ""
) -> list[dict[str, Any]]:
    """Every cluster check of one cluster, as records of agent.report.FIELDS. `at`: ISO 8601, UTC; now if not given."""
    at = at or report.timestamp(time.time())
    hosts = {host.name: host for host in view.cluster.hosts}
    records = []
    for name in names() if names_wanted is None else names_wanted:
        started = time.monotonic()
        found = judged(view, name)
        took_ms = round((time.monotonic() - started) * 1000)
        records += [_record(view, hosts.get(finding.host), name, finding, run_id, at, took_ms) for finding in found]
    return records


def judged(view: ClusterView, name: str) -> Sequence[ClusterFinding]:
    """One check's findings; at least one, and never an exception: one broken check never hides another."""
    try:
        check = load(name)
        limits = {**check.LIMITS, **view.cluster.limits.get(name, {})}
        found = check.judge(view, limits)
    except (NotApplicable, CannotTell) as problem:
        return [ClusterFinding(NO_ITEM, verdict_of(problem))]
    except Exception as error:
        return [ClusterFinding(NO_ITEM, unknown(f"the check failed: {type(error).__name__}: {error}"[:300]))]
    return found or [ClusterFinding(NO_ITEM, unknown("nothing found to check, though something was expected"))]


def _record(
    view: ClusterView, host: Host | None, name: str, finding: ClusterFinding, run_id: str, at: str, took_ms: int
) -> dict[str, Any]:
    verdict = finding.verdict
    if host and name in host.skip and verdict.status not in FINE:
        verdict = skipped(host.skip[name])
    return {
        "schema": report.SCHEMA,
        "run_id": run_id,
        "at": at,
        "cluster": view.cluster.name,
        "host": finding.host,
        "role": ",".join(host.roles) if host else "",
        "layout": host.layout if host else "",
        "rack": host.rack if host else "",
        "check": name,
        "item": finding.item,
        "status": verdict.status,
        "reason": verdict.reason,
        "playbook": verdict.playbook,
        "facts": dict(finding.facts),
        "duration_ms": took_ms,
        "first_seen": at,
    }
