"""Do the KRaft controllers keep a majority that is caught up, without these hosts?

Strimzi's rule: the voters that stay and have fetched all within controller.quorum.fetch.timeout.ms must be a majority
of all voters. A quorum of 1 or 2 stops while one is down; Strimzi allows that, here it must be accepted.

Failed: no leader; too few voters caught up would be left; afterwards, a voter of these hosts is behind. For a
decommission, which takes a voter away for good: what is left could lose none.

Warned: the quorum's leader leaves (restart it last); voters that stay are behind.

Cannot tell: which voter runs on the host, and it matters; this Kafka version does not report which voters lag.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from agent.host import CannotTell, NotApplicable
from agent.status import CRITICAL, UNKNOWN, WARNING, Verdict, critical, unknown, warning
from inventory.names import some
from smoketests.gate.context import KRAFT_ROLE, GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.ensembles import holders as holders_of
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.rules import judged_in

if TYPE_CHECKING:
    from inventory.model import Host
    from smoketests.readers.kafka.cluster import Quorum, Voter

LIMITS: Mapping[str, Any] = {"fetch_timeout_ms": 2000}
SMALL = 2


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    ours = [host.name for host in situation.leaving if _has_controller(situation, host)]
    if ours and not situation.view.cluster.kafka:
        raise CannotTell(f"whose controllers run on {some(ours)}: the inventory names no kafka: [host:9092]")
    quorum = situation.kafka.quorum
    if quorum is None:
        return _without_quorum(situation)
    known, unnamed = _leaving(situation, quorum)
    if situation.after or situation.stays_up:
        found = [finding.verdict for finding in judged_in(situation.view, "zk_quorum")]
        bad = [verdict for verdict in found if verdict.status in (CRITICAL, WARNING, UNKNOWN)]
        bad += _not_back(quorum, known, unnamed, limits) if situation.is_back else []
        return ruled(bad, f"{len(quorum.voters)} controllers are caught up", leader=quorum.leader)
    if not known and not unnamed:
        return ruled(_leaderless(quorum), "no controller leaves", leader=quorum.leader)
    evidence = {"leader": quorum.leader, "behind_ms": {str(voter.id): voter.behind_ms for voter in quorum.voters}}
    verdicts = _any_of(quorum, known, unnamed, limits, situation.purpose == DECOMMISSION)
    return ruled(verdicts, "enough controllers that are caught up are left", leaving=sorted(known), **evidence)


def _without_quorum(situation: GateContext) -> RuleResult:
    untold = [why for why in situation.kafka.untold if "quorum" in why]
    if untold:
        return ruled([unknown("; ".join(untold))], "")
    if situation.view.cluster.zookeeper:
        raise NotApplicable("the cluster uses ZooKeeper")
    return ruled([unknown("the inventory names no ZooKeeper, and Kafka reports no controller quorum")], "")


def _leaving(situation: GateContext, quorum: Quorum) -> tuple[set[int], int]:
    """The voters that leave, and of how many hosts with a controller it is not known which voter theirs is."""
    known: set[int] = set()
    unnamed = 0
    for host in situation.leaving:
        here = {voter.id for voter in quorum.voters if _is_here(situation, voter, host)}
        known |= here
        # a host that does not tell may run a voter that no host of the inventory is known to run
        may_be = _has_controller(situation, host) or (
            host.name not in situation.identities.seen and _homeless(situation, quorum)
        )
        unnamed += bool(not here and may_be and not _seen(situation, host))
    return known, unnamed


def _homeless(situation: GateContext, quorum: Quorum) -> bool:
    """Whether a voter runs on a host that nobody tells."""
    hosts = situation.view.cluster.hosts
    return not all(any(_is_here(situation, voter, host) for host in hosts) for voter in quorum.voters)


def _has_controller(situation: GateContext, host: Host) -> bool:
    return KRAFT_ROLE in host.roles or situation.identities.runs(host, KRAFT_ROLE)


def _seen(situation: GateContext, host: Host) -> frozenset[int]:
    """The ids of the controllers that the agent sees there."""
    return situation.identities.nodes(host, KRAFT_ROLE)


def _is_here(situation: GateContext, voter: Voter, host: Host) -> bool:
    """By the machine's own files, by its address; where neither tells, by its id: a broker may be its own controller.

    CannotTell where the machine and the address contradict each other.
    """
    holders = {one.name for server in voter.endpoints for one in holders_of(server, situation.view.cluster.hosts)}
    seen = _seen(situation, host)
    if seen:
        if voter.id in seen and holders and host.name not in holders:
            where = f"and the quorum has it on {some(sorted(holders))}"
            raise CannotTell(f"voter {voter.id} runs on {host.name} by its meta.properties, {where}")
        return voter.id in seen
    return host.name in holders if holders else voter.id == host.broker_id


def _not_back(quorum: Quorum, known: set[int], unnamed: int, limits: Mapping[str, Any]) -> list[Verdict]:
    """The voters of these hosts that have not caught up; any voter may be one whose host nobody tells."""
    late = sorted(behind(quorum, limits["fetch_timeout_ms"]) & (known or {voter.id for voter in quorum.voters}))
    if not late or not (known or unnamed):
        return []
    return [critical(f"voter {some([str(number) for number in late])} has not caught up with the leader yet")]


def _any_of(quorum: Quorum, known: set[int], unnamed: int, limits: Mapping[str, Any], for_good: bool) -> list[Verdict]:
    """The verdicts; where it is not known which voters leave, they count only if it is the same whoever they are."""
    others = sorted({voter.id for voter in quorum.voters} - known)
    cases = [_without(quorum, known | set(more), limits, for_good) for more in itertools.combinations(others, unnamed)]
    if not cases:
        return [unknown(f"{unnamed} controllers leave whose voter id is unknown")]
    statuses = {_worst(case) for case in cases}
    if len(statuses) == 1:
        return min(cases, key=len)
    return [unknown("which voters run on these hosts is unknown: their addresses are not in the inventory")]


def _worst(verdicts: Collection[Verdict]) -> bool:
    return any(verdict.status == CRITICAL for verdict in verdicts)


def _leaderless(quorum: Quorum) -> list[Verdict]:
    return [critical("the controllers have no leader")] if quorum.leader < 0 else []


def _without(
    quorum: Quorum, leaving: Collection[int], limits: Mapping[str, Any], for_good: bool = False
) -> list[Verdict]:
    verdicts = _leaderless(quorum)
    if any(voter.behind_ms is None for voter in quorum.voters if voter.id != quorum.leader):
        verdicts.append(unknown("this Kafka version does not report how far the controllers lag behind their leader"))
    late = sorted(behind(quorum, limits["fetch_timeout_ms"]) - set(leaving))
    left = len(caught_up_without(quorum, leaving, limits["fetch_timeout_ms"]))
    who = f"voter {some([str(number) for number in sorted(leaving)])}"
    voters = len(quorum.voters)
    if not verdicts and not enough_left(quorum, leaving, limits["fetch_timeout_ms"]):
        verdicts.append(critical(f"without {who}, {left} of {voters} controllers caught up would be left"))
    elif not verdicts and voters <= SMALL:
        verdicts.append(critical(f"a quorum of {voters} stops while {who} is down: no leaders are elected"))
    elif late:
        verdicts.append(warning(f"voter {some([str(number) for number in late])} is behind the leader"))
    if for_good and leaving and not _worst(verdicts):
        verdicts += _for_good(voters, left, who)
    if quorum.leader in leaving:
        verdicts.append(warning(f"voter {quorum.leader} leads the quorum: restart it last"))
    return verdicts


def _for_good(voters: int, left: int, who: str) -> list[Verdict]:
    """A voter that never comes back still counts in the majority, until it is removed."""
    spare = left - (voters // 2 + 1)
    said = f"{who} is one of {voters} voters: without it the quorum could lose {max(spare, 0)} more"
    mend = "add another controller and remove this voter first"
    return [critical(f"{said}; {mend}") if spare < 1 else warning(f"{said}; {mend}")]


def behind(quorum: Quorum, timeout_ms: int) -> set[int]:
    """The voters that lack something for longer than the timeout, or of which it is not told."""
    late = {v.id for v in quorum.voters if v.behind_ms is None or not 0 <= v.behind_ms < timeout_ms}
    return late - {quorum.leader}


def caught_up_without(quorum: Quorum, leaving: Collection[int], timeout_ms: int) -> set[int]:
    """The voters that are caught up and stay."""
    return {voter.id for voter in quorum.voters} - behind(quorum, timeout_ms) - set(leaving)


def enough_left(quorum: Quorum, leaving: Collection[int], timeout_ms: int) -> bool:
    """Strimzi's answer, with its leniency for quorums of 1 and 2."""
    voters = {voter.id for voter in quorum.voters}
    needed = (len(voters) + 2) // 2 if len(voters) > SMALL else len(voters - set(leaving))
    return quorum.leader >= 0 and len(caught_up_without(quorum, leaving, timeout_ms)) >= needed
