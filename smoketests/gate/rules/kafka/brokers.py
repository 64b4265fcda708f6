"""Is every other broker registered under its own id?

Failed: a broker that something of these hosts depends on is not registered, under another's id, twice, or fenced;
afterwards this holds for the hosts themselves too.

Warned: a broker of which nothing here depends is; brokers that is not in the inventory; ZooKeeper and Kafka's
metadata differ.

Cannot tell: neither ZooKeeper nor Kafka could be asked, or a broker has no id in the inventory and no address fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.host import NotApplicable
from agent.status import SKIPPED
from smoketests.gate import host_findings
from smoketests.gate.context import GateContext
from smoketests.gate.decision import RuleResult
from smoketests.gate.rules import judged_in


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    if not situation.has_brokers:
        raise NotApplicable("the cluster has no brokers")
    found = judged_in(situation.view, "broker_ids")
    if all(finding.verdict.status == SKIPPED for finding in found):
        situation.kafka  # noqa: B018  raises: brokers of which nobody can be asked
    counted = [finding for finding in found if situation.is_back or finding.host not in situation.names]
    bad = [finding for finding in counted if finding.verdict.status in host_findings.OF_STATUS]
    troubles = [
        host_findings.Trouble(one.host, one.verdict.status, one.verdict.reason, one.item) for one in bad if one.host
    ]
    rows = {finding.item: finding.verdict.reason for finding in counted[:200]}
    healthy = f"{len(list(situation.registered))} brokers are registered under their own ids"
    return host_findings.judged(
        situation, troubles, healthy, [one.verdict for one in bad if not one.host], brokers=rows
    )
