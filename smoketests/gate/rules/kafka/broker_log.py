"""Are the brokers' own logs free of new trouble?

Failed: server.log and the like report a failed log dir or an unclean election since the broker started.

Warned: they report expired sessions, replicas that fell behind and the like within the last day.

Cannot tell: none of the logs can be read, or no reply from the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import NotApplicable
from agent.status import UNKNOWN, unknown
from inventory.names import some
from smoketests.gate import host_findings
from smoketests.gate.context import BROKER_ROLE, KRAFT_ROLE, GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.maintenance import PURPOSES as ALL

PURPOSES = tuple(purpose for purpose in ALL if purpose != DECOMMISSION)
WHEN = ("after",)
CHECKS = ("kafka_log",)


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    hosts = [host for host in situation.leaving if {BROKER_ROLE, KRAFT_ROLE} & set(host.roles)]
    if not hosts:
        raise NotApplicable(f"no broker runs on {some(sorted(situation.names))}")
    rows = list(host_findings.rows(situation, CHECKS, hosts))
    silent = [host.name for host in hosts if host.name not in {one.name for one, _row in rows}]
    silent = [name for name in silent if not _skipped(situation, name)]
    verdicts = [
        host_findings.OF_STATUS[str(row["status"])](f"{host.name}: {str(row.get('reason', ''))[:240]}")
        for host, row in rows
        if row.get("status") in host_findings.OF_STATUS
    ]
    if silent:
        verdicts.append(unknown(f"no broker-log data from {some(silent)}"))
    said = "no new trouble in their logs"
    return ruled(verdicts, said, untold=[host.name for host, row in rows if row.get("status") == UNKNOWN])


def _skipped(situation: GateContext, name: str) -> bool:
    return any(host.name == name and "kafka_log" in host.skip for host in situation.leaving)
