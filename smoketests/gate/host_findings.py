"""What the machines themselves report, for the rules that read host checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agent.host import NotApplicable
from agent.status import CRITICAL, OK, UNKNOWN, WARNING, Verdict, critical, unknown, warning
from inventory.model import Host
from inventory.names import some
from smoketests.cluster.view import findings
from smoketests.gate import locality
from smoketests.gate.context import GateContext
from smoketests.gate.decision import OF_VERDICT, Finding, RuleResult, ruled

NAMED = 3
LONGEST = 160
OF_STATUS = {CRITICAL: critical, UNKNOWN: unknown, WARNING: warning}
Row = Mapping[str, Any]
# what the rules of `rule` have in common, for their explanation
VERDICTS = """\
Failed: a finding of these checks is critical on a machine that something of these hosts depends on: without it too, a
partition here would have too few replicas in sync, or the quorum no majority, or what moves would go there. Afterwards,
also on the hosts themselves.

Warned: one is a warning, or critical on a machine that shares nothing of that.

Cannot tell: one is unknown on a machine that counts, or it did not answer. What a site cannot measure belongs in its
inventory (skip)."""
# a number by itself; 252:3, nvme0n1 and ZA1BC2 are names
FIGURE = re.compile(r"(?<![^\s(])[-+]?\d[\d.,]*(?=[\s%);,]|$)")


def rows(situation: GateContext, checks: Sequence[str], hosts: Sequence[Host]) -> Iterator[tuple[Host, Row]]:
    """The findings of these checks on these hosts; what the inventory skips is skipped."""
    for check in checks:
        for host, row in findings(situation.view, check, hosts):
            if check not in host.skip:
                yield host, row


def answers(situation: GateContext, host: Host) -> bool:
    """Whether this host told anything of itself."""
    report = situation.view.reports.get(host.name)
    return report is not None and bool(report.report.findings)


def why_silent(situation: GateContext, host: Host) -> str:
    report = situation.view.reports.get(host.name)
    if report is None:
        return "the check did not run"
    return str(report.reach.reason)[:LONGEST] if report.reach.status != OK else "its report is empty"


def rule(what: str, checks: Sequence[str]) -> Callable[[GateContext, Mapping[str, Any]], RuleResult]:
    """The whole of a rule that asks whether these checks find all machines that must carry the load well."""

    def judge(situation: GateContext, _limits: Mapping[str, Any]) -> RuleResult:
        return without_trouble(situation, checks, what)

    return judge


def without_trouble(
    situation: GateContext, checks: Sequence[str], what: str, more: Sequence[Trouble] = ()
) -> RuleResult:
    """Failed for a critical finding of these checks on a host that counts (see locality), cannot tell for an unknown.

    What is critical elsewhere is warned of, with why it does not count; what is unknown there is evidence only.
    """
    hosts = situation.must_be_well
    if not hosts:
        raise NotApplicable("no other machine in the inventory's cluster")
    skipped = [host.name for host in hosts if set(checks) & set(host.skip)]
    if all(check in host.skip for host in hosts for check in checks):
        raise NotApplicable(f"the inventory skips {', '.join(checks)} on all of these machines")
    whose = f"{len(hosts)} machines" if situation.is_back else f"{len(hosts)} other machines"
    said = f"; the inventory skips some of it on {some(skipped, NAMED)}" if skipped else ""
    troubles = [*of_checks(situation, checks), *more]
    return judged(situation, troubles, f"{what} of {whose} without trouble{said}")


def of_checks(situation: GateContext, checks: Sequence[str]) -> list[Trouble]:
    """What these checks found on the hosts that must be well; a host that told nothing of one is unknown."""
    hosts = situation.must_be_well
    return [*_troubles(situation, checks, hosts), *_silent(situation, hosts), *_unasked(situation, checks, hosts)]


class Trouble(NamedTuple):
    """What is wrong with one host. status: critical, warning or unknown."""

    host: str
    status: str
    said: str
    item: str = ""
    about: tuple[str, ...] = ()

    def finding(self) -> Finding:
        """Other figures are the same finding, other words are another; so are other disks (252:3, nvme0n1)."""
        key = "\0".join((FIGURE.sub("#", self.said), *self.about))
        return Finding(self.host, self.item, self.said, OF_VERDICT[self.status], key)


def judged(
    situation: GateContext, troubles: Sequence[Trouble], healthy: str, more: Sequence[Verdict] = (), **evidence: Any
) -> RuleResult:
    """Troubles of machines, each weighed by what the hosts that leave have in common with its machine.

    more: verdicts about no machine of the inventory.
    """
    weighed = locality.weigh(situation, {one.host for one in troubles if one.status != WARNING})
    near = [one for one in troubles if one.host in weighed.counts or one.status == WARNING]
    far = [one for one in troubles if one.host not in weighed.counts and one.status != WARNING]
    verdicts = [
        OF_STATUS[status](some([one.said for one in near if one.status == status], NAMED))
        for status in (CRITICAL, UNKNOWN, WARNING)
        if any(one.status == status for one in near)
    ]
    apart = [one for one in far if one.status == CRITICAL]
    if apart:
        said = some([one.said for one in apart], NAMED)
        verdicts.append(warning(f"{said}; does not count: {weighed.why(one.host for one in apart)}"))
    untold = sorted({one.host for one in far if one.status == UNKNOWN})
    if untold:
        healthy += f"; unknown, and does not count, on {some(untold, NAMED)}"
    items = [one.finding() for one in near if one.status != WARNING]
    items += [Finding("", "", one.reason, OF_VERDICT[one.status]) for one in more if one.status in (CRITICAL, UNKNOWN)]
    verdicts += more
    problems = {status: [one.said for one in near if one.status == status][:100] for status in OF_STATUS}
    seen = {"problems": {status: said for status, said in problems.items() if said},
            "apart": {one.host: one.said for one in far[:100]}}  # fmt: skip
    return ruled(verdicts, healthy, items, **seen, **evidence)


def _troubles(situation: GateContext, checks: Sequence[str], hosts: Sequence[Host]) -> Iterator[Trouble]:
    for host, row in rows(situation, checks, hosts):
        if row.get("status") in OF_STATUS:
            item = f"{row.get('check')} {row.get('item')}"
            yield Trouble(host.name, str(row["status"]), _named(host, row), item, _about(row))


def _about(row: Row) -> tuple[str, ...]:
    """The disks that an array has lost or rebuilds: each is a finding of its own."""
    facts = row.get("facts") or {}
    said = [facts.get(name) for name in ("gone", "rebuilding", "lost")] if isinstance(facts, Mapping) else []
    return tuple(sorted(str(name)[:LONGEST] for names in said if isinstance(names, (list, tuple)) for name in names))


def _silent(situation: GateContext, hosts: Sequence[Host]) -> Iterator[Trouble]:
    for host in hosts:
        if not answers(situation, host):
            yield Trouble(host.name, UNKNOWN, f"no data from {host.name} (see answers)", "no answer")


def _unasked(situation: GateContext, checks: Sequence[str], hosts: Sequence[Host]) -> Iterator[Trouble]:
    """A report that lacks a check is no healthy one."""
    told = {(host.name, row.get("check")) for host, row in rows(situation, checks, hosts)}
    for host in hosts:
        for check in checks:
            if answers(situation, host) and (host.name, check) not in told and check not in host.skip:
                yield Trouble(host.name, UNKNOWN, f"{host.name}: no data for {check}", f"{check} -")


def _named(host: Host, row: Row) -> str:
    reason = str(row.get("reason", ""))
    short = reason if len(reason) <= LONGEST else reason[: LONGEST - 1] + "…"
    return f"{host.name}: {row.get('check')}: {short}"
