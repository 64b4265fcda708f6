"""What the machines themselves say, for the rules that read host checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.status import CRITICAL, OK, UNKNOWN, WARNING, Verdict, critical, unknown, warning
from inventory.model import Host
from smoketests.cluster.view import NotAsked, findings, some
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.situation import Situation

NAMED = 3
LONGEST = 160
OF_STATUS = {CRITICAL: critical, UNKNOWN: unknown, WARNING: warning}
Row = Mapping[str, Any]


def rows(situation: Situation, checks: Sequence[str], hosts: Sequence[Host]) -> Iterator[tuple[Host, Row]]:
    """The findings of these checks on these hosts; what the inventory skips is skipped."""
    for check in checks:
        for host, row in findings(situation.view, check, hosts):
            if check not in host.skip:
                yield host, row


def answers(situation: Situation, host: Host) -> bool:
    """Whether this host told anything of itself."""
    report = situation.view.reports.get(host.name)
    return report is not None and bool(report.report.findings)


def why_silent(situation: Situation, host: Host) -> str:
    report = situation.view.reports.get(host.name)
    if report is None:
        return "it was not asked"
    return str(report.reach.reason)[:LONGEST] if report.reach.status != OK else "its report is empty"


def without_trouble(situation: Situation, checks: Sequence[str], what: str) -> RuleResult:
    """Failed for a critical finding of these checks on a host that must be well, cannot tell for an unknown one."""
    hosts = situation.must_be_well
    if not hosts:
        raise NotAsked("no other machine in the inventory's cluster")
    skipped = [host.name for host in hosts if set(checks) & set(host.skip)]
    if all(check in host.skip for host in hosts for check in checks):
        raise NotAsked(f"the inventory skips {', '.join(checks)} on all of these machines")
    found: dict[str, list[str]] = {}
    for host, row in rows(situation, checks, hosts):
        if row.get("status") in OF_STATUS:
            found.setdefault(str(row["status"]), []).append(_named(host, row))
    silent = [host.name for host in hosts if not answers(situation, host)]
    if silent:
        found.setdefault(UNKNOWN, []).append(f"{some(silent)} told nothing (see answers)")
    verdicts = [OF_STATUS[status](some(said, NAMED)) for status, said in found.items()]
    untold = _unasked(situation, checks, [host for host in hosts if host.name not in silent])
    whose = f"{len(hosts)} machines" if situation.is_back else f"{len(hosts)} other machines"
    evidence = {"problems": {status: said[:100] for status, said in found.items()}}
    said = f"; the inventory skips some of it on {some(skipped, NAMED)}" if skipped else ""
    return ruled([*verdicts, *untold], f"{what} of {whose} without trouble{said}", **evidence)


def _unasked(situation: Situation, checks: Sequence[str], hosts: Sequence[Host]) -> list[Verdict]:
    """A report that lacks a check is no healthy one."""
    told = {(host.name, row.get("check")) for host, row in rows(situation, checks, hosts)}
    lacking = {
        check: [host.name for host in hosts if (host.name, check) not in told and check not in host.skip]
        for check in checks
    }
    return [unknown(f"{some(names)} told nothing of {check}") for check, names in lacking.items() if names]


def _named(host: Host, row: Row) -> str:
    reason = str(row.get("reason", ""))
    short = reason if len(reason) <= LONGEST else reason[: LONGEST - 1] + "…"
    return f"{host.name}: {row.get('check')}: {short}"
