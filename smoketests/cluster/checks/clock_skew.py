"""Do the clocks of the cluster agree with each other?

Each host's own offset (check `clock`) is measured against its time server; two hosts with different servers can both be
in sync with them and still disagree. A host's clock is also compared with the controller's at the time of the report;
that shows only differences larger than the reply time plus 2 s.

Warning: a host is 100 ms or more from the median of all. Critical: 1000 ms or more.

Unknown: no offset from a host, or its clock is not synchronised, so that its offset has no meaning.

Ok again: as soon as the clocks agree (`chronyc makestep`), and all follow the same time servers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from agent.host import NotApplicable
from agent.status import OK, Verdict, combine, critical, ok, unknown, warning
from inventory.names import some
from smoketests.cluster.view import ClusterFinding, ClusterView, told, typed, untold

LIMITS = {"skew_ms_warning": 100, "skew_ms_critical": 1000, "own_clock_slack_ms": 2000}
PLAYBOOK = "clock"


class Clock(NamedTuple):
    synchronised: bool
    offset_ms: float
    source: str


class Header(NamedTuple):
    clock: float


READS = {"clock": Clock}


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    if len(view.hosts) < 2:
        raise NotApplicable("one host alone, nothing to compare its clock with")
    rows = {row.host.name: row.facts for row in told(view, "clock", Clock)}
    verdicts = untold(view, "clock", view.hosts, rows)
    wild = sorted(name for name, facts in rows.items() if not facts.synchronised)
    if wild:
        verdicts.append(unknown(f"not synchronised, so that their offset has no meaning: {some(wild)}"))
    offsets = {name: facts.offset_ms for name, facts in rows.items() if facts.synchronised}
    ours = _outside(view, limits["own_clock_slack_ms"])
    if len(offsets) < 2 and len(ours) < 2 and not verdicts:
        verdicts.append(unknown(f"{len(offsets)} of {len(view.hosts)} hosts report their offset, nothing to compare"))
    found = _judge(offsets, "by its own time server", limits) + _judge(ours, "by our clock", limits)
    spread = max(offsets.values()) - min(offsets.values()) if offsets else 0.0
    said = f"{len(offsets)} clocks within {spread:.1f} ms of each other, by their own time servers"
    facts = {"spread_ms": round(spread, 3), "hosts": len(offsets), "seen_by_us": len(ours)}
    return [*found, ClusterFinding("clocks", combine(verdicts, said), facts)]


def _judge(offsets: Mapping[str, float], how: str, limits: Mapping[str, Any]) -> list[ClusterFinding]:
    """Hosts that are far from the median; of two, the one that is further off by itself."""
    found = []
    if len(offsets) < 2:
        return []
    middle = median(offsets.values())
    whose = f"the median of {len(offsets)} hosts"
    if len(offsets) == 2:
        middle, whose = min(offsets.values(), key=abs), "the other host"
    for name, offset in offsets.items():
        verdict = _verdict(name, offset - middle, whose, how, limits)
        if verdict.status != OK:
            found.append(ClusterFinding(name, verdict, {"skew_ms": round(offset - middle, 1), "of": how}, name))
    return found


def _verdict(name: str, skew: float, whose: str, how: str, limits: Mapping[str, Any]) -> Verdict:
    where = "ahead of" if skew > 0 else "behind"
    least = limits["skew_ms_warning"]
    said = f"{name}'s clock is {abs(skew):.0f} ms {where} {whose} {how}, should be below {least} ms"
    if abs(skew) >= limits["skew_ms_critical"]:
        return critical(said, PLAYBOOK)
    return warning(said, PLAYBOOK) if abs(skew) >= least else ok(said)


def _outside(view: ClusterView, slack_ms: float) -> dict[str, float]:
    """How many ms each header's clock lies outside the window in which we know it was written; 0 within.

    A window is as good as the moment at which somebody here looked at the clock: hence the slack on both sides.
    """
    found = {}
    for name, (earliest, latest) in view.windows.items():
        report = view.reports.get(name)
        header = typed(report.report.header, Header) if report else None
        if header:
            ahead, behind = 1000 * (header.clock - latest) - slack_ms, 1000 * (earliest - header.clock) - slack_ms
            found[name] = max(ahead, 0.0) - max(behind, 0.0)
    return found
