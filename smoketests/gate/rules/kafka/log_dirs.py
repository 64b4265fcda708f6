"""Do all brokers that carry the load reply, and have none of them a failed log dir?

A broker that hangs keeps its place in the metadata and in the ISR until its session ends: a reply with its own log dirs
is the sign that it is live.

Failed: a log dir has an error on a broker that these hosts depend on; afterwards, on theirs too.

Warned: a log dir has an error, or no data, on a broker that nothing here depends on.

Cannot tell: no log-dir data from such a broker although it is live by one of the sources, which are read one after the
other while it may be failing: Kafka's metadata, ZooKeeper, the ISR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.host import CannotTell, NotApplicable
from agent.status import critical, unknown, warning
from inventory.names import some
from smoketests.gate import formatting, locality
from smoketests.gate.context import GateContext
from smoketests.gate.decision import CANNOT_TELL, Finding, RuleResult, ruled

if TYPE_CHECKING:
    from smoketests.readers.kafka.cluster import LogDir

LIMITS: Mapping[str, Any] = {"named": 3}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    said = situation.kafka
    alive = situation.living_ids | {broker for row in said.partitions or () for broker in row.isr}
    asked = alive if situation.after else alive - situation.leaving_ids
    told = [row for row in said.log_dirs or () if row.broker in asked]
    failed = [row for row in told if row.error]
    silent = asked - {row.broker for row in told}
    counts = _counting(situation, {row.broker for row in failed} | silent)
    verdicts, findings = [], []
    for near, how in ((True, critical), (False, warning)):
        paths = [_dir(situation, row) for row in failed if (row.broker in counts) is near]
        if paths:
            verdicts.append(how(f"offline on its broker: {some(paths, limits['named'])}{_far(situation, near)}"))
    for near, how in ((True, unknown), (False, warning)):
        ids = {broker for broker in silent if (broker in counts) is near}
        if ids:
            words = f"no log-dir data from {formatting.brokers(situation, ids)}:  {_why(situation, ids)}"
            verdicts.append(how(f"{words}{_far(situation, near)}"))
    for row in failed:
        findings += [_finding(situation, row.broker, row.path, _dir(situation, row))] if row.broker in counts else []
    for broker in sorted(silent & counts):
        words = f"no log-dir data from {situation.broker(broker)}"
        findings.append(_finding(situation, broker, "log dirs", words)._replace(status=CANNOT_TELL))
    healthy = f"{len(told)} log dirs of {len(asked)} brokers have no error"
    paths = [_dir(situation, row) for row in failed]
    return ruled(verdicts, healthy, findings, failed=paths[:100], silent=sorted(silent))


def _counting(situation: GateContext, brokers: set[int]) -> frozenset[int]:
    """Those that something here depends on; all where that cannot be told."""
    try:
        back = situation.leaving_ids if situation.is_back else frozenset()
        return locality.of_brokers(situation, brokers) | (back & brokers)
    except (CannotTell, NotApplicable):
        return frozenset(brokers)


def _dir(situation: GateContext, row: LogDir) -> str:
    return f"{row.path} of {situation.broker(row.broker)} ({row.error})"


def _far(situation: GateContext, near: bool) -> str:
    return "" if near else "; does not count: every partition of these hosts keeps enough replicas without it"


def _why(situation: GateContext, silent: set[int]) -> str:
    said = situation.kafka
    whys = [why for why in said.untold if why.startswith("log dirs")]
    whys += ["no longer in Kafka's metadata"] if silent - {row.id for row in said.brokers} else []
    return "; ".join(whys) or "no reason from Kafka"


def _finding(situation: GateContext, broker: int, item: str, said: str) -> Finding:
    return Finding(situation.broker_names.get(broker, f"broker {broker}"), item, said)
