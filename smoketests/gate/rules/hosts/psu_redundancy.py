"""Does another power supply work while this one is pulled?

Failed: no other power supply works: the machine goes off with it, without a clean shutdown.

Cannot tell: the BMC reports no power supply, or no reply from the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agent.host import CannotTell
from agent.status import critical
from smoketests.cluster.view import told
from smoketests.gate import host_findings
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import REPLACE_PSU

PURPOSES = (REPLACE_PSU,)
WHEN = ("before",)
CHECKS = ("power",)


class Supply(NamedTuple):
    """What is read of power. healthy_others: those that work beside this one."""

    part: str
    present: bool | None
    faults: tuple[str, ...]
    healthy_others: tuple[str, ...]


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    verdicts, seen = [], {}
    for host in situation.leaving:
        rows = [row for row in told(situation.view, "power", Supply, (host,)) if row.facts.part != "redundancy"]
        if not rows:
            raise CannotTell(f"{host.name} reported no power supply: {_why(situation, host.name)}")
        working = {name for row in rows for name in row.facts.healthy_others}
        working |= {row.facts.part for row in rows if row.facts.present and not row.facts.faults and row.status == "ok"}
        broken = {row.facts.part for row in rows} - working
        seen[host.name] = {"working": sorted(working), "broken": sorted(broken)}
        if len(working) < (1 if broken else 2):
            verdicts.append(critical(f"{host.name} has {len(working)} working power supplies: it would go off"))
    said = "; ".join(f"{name}: {', '.join(parts['working'])} work" for name, parts in seen.items())
    return ruled(verdicts, said, supplies=seen)


def _why(situation: GateContext, name: str) -> str:
    (host,) = [one for one in situation.leaving if one.name == name]
    if not host_findings.answers(situation, host):
        return host_findings.why_silent(situation, host)
    reasons = [str(row.get("reason", "")) for _host, row in host_findings.rows(situation, ("power",), (host,))]
    return "; ".join(reasons)[:200] or "not in its report"
