"""Does the ensemble have one leader, are all members in sync with it, and can it lose one more?

ZooKeeper's servers are queried one by one with four-letter words; with KRaft, the controllers' quorum is checked.

Critical: no leader, or two; a server does not run, or runs standalone; an ensemble designed to lose a server can lose
none now: the next failure stops every broker.

Warning: a follower is behind the leader; servers have different ensembles in their configuration; the ensemble's size
differs from the inventory; the ensemble could not lose a server even when all are healthy (size 1 or 2).

Unknown: no reply from a server, an incomplete one, or `srvr` is not whitelisted; the ensemble is unreachable.

Ok again: as soon as all voters are back and in sync.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.api.zookeeper import ANSWERED, NOT_SERVING
from agent.host import CannotTell, NotApplicable
from agent.status import Verdict, combine, critical, ok, unknown, warning
from inventory.names import some
from smoketests.cluster.view import ClusterFinding, ClusterView
from smoketests.readers.kafka.cluster import NEVER, Quorum, Voter
from smoketests.readers.zookeeper.ensemble import REFUSED, Member

LIMITS = {"behind_transactions_warning": 10_000, "voters_min_warning": 3, "behind_ms_warning": 2000}
READS: Mapping[str, Any] = {}
PLAYBOOK = "broker-down"
EPOCH = 1 << 32
VOTING = ("leader", "follower")


def judge(view: ClusterView, limits: Mapping[str, Any]) -> Sequence[ClusterFinding]:
    if view.zookeeper:
        members = view.zookeeper.members
        return [_ensemble(members, limits), *(_member(member, members, limits) for member in members)]
    if view.problems.get("zookeeper"):
        raise CannotTell(view.problems["zookeeper"])
    if view.kafka and view.kafka.quorum:
        return [_controllers(view.kafka.quorum, limits)]
    if view.problems.get("kafka") and not view.cluster.zookeeper:
        raise CannotTell(view.problems["kafka"])
    raise NotApplicable("the inventory names no ZooKeeper of this cluster, and Kafka reports no KRaft quorum")


def _member(member: Member, members: Sequence[Member], limits: Mapping[str, Any]) -> ClusterFinding:
    behind = transactions_behind(member, members)
    facts = {"state": member.state, "mode": member.mode, "behind_transactions": behind}
    verdict = ok(member.mode)
    if member.state == REFUSED or member.state == NOT_SERVING:
        verdict = critical(f"{member.server}: {member.why}", PLAYBOOK)
    elif member.state != ANSWERED:
        verdict = unknown(f"{member.server}: {member.why}")
    elif member.mode == "standalone" and len(members) > 1:
        alone = f"{member.server} runs standalone: its clients see other data than those of the ensemble"
        verdict = critical(alone, PLAYBOOK)
    elif member.mode not in (*VOTING, "observer", "standalone"):
        verdict = critical(f"{member.server} is {member.mode}: it has lost the ensemble", PLAYBOOK)
    elif behind is not None and behind > limits["behind_transactions_warning"]:
        most = limits["behind_transactions_warning"]
        verdict = warning(f"{member.server} is {behind} transactions behind the leader, should be at most {most}")
    return ClusterFinding(member.server, verdict, facts)


def transactions_behind(member: Member, members: Sequence[Member]) -> int | None:
    """How many transactions behind the leader; None where that cannot be told. Of an earlier epoch: all of this one."""
    leaders = [other.zxid for other in members if other.mode == "leader"]
    if len(leaders) != 1 or member.zxid < 0 or leaders[0] < 0 or member.mode not in (*VOTING, "observer"):
        return None
    (leader,) = leaders
    same_epoch = leader // EPOCH == member.zxid // EPOCH
    return max(leader - member.zxid, 0) if same_epoch else leader % EPOCH


def _ensemble(members: Sequence[Member], limits: Mapping[str, Any]) -> ClusterFinding:
    voters = voter_count(members)
    in_step = _in_step(members, limits)
    silent = sum(member.state not in (ANSWERED, REFUSED, NOT_SERVING) for member in members)
    leaders = [member.server for member in members if member.mode == "leader"]
    followers = [member.server for member in members if member.mode == "follower"]
    facts = {"voters": voters, "in_step": in_step, "silent": silent, "leader": leaders[0] if leaders else ""}
    verdicts = _configured(members, voters, limits)
    alone = len(members) == 1 and members[0].mode == "standalone"
    if len(leaders) > 1:
        verdicts.append(critical(f"{some(leaders)} all claim to lead: the ensemble is split", PLAYBOOK))
    elif leaders or followers:
        verdicts += _margin(voters, in_step, silent, bool(leaders))
    elif not alone:
        verdicts.append(_no_leader(members, voters, silent))
    healthy = "a single server" if alone else f"{in_step} of {voters} voters in sync, {some(leaders)} leads"
    return ClusterFinding("ensemble", combine(verdicts, healthy), facts)


def voter_count(members: Sequence[Member]) -> int:
    """How many vote: as the servers have it, else as the inventory has."""
    said = [member.quorum_size for member in members if member.quorum_size]
    said += [len(member.voters) for member in members if member.voters]
    return max(said, default=len([member for member in members if member.mode != "observer"]))


def _in_step(members: Sequence[Member], limits: Mapping[str, Any]) -> int:
    """How many voters have what the leader has: by its own word, else by what each says."""
    leader = next((member for member in members if member.mode == "leader"), None)
    if leader and leader.synced_followers is not None:
        return leader.synced_followers + 1
    most: int = limits["behind_transactions_warning"]
    behind = [transactions_behind(member, members) or 0 for member in members if member.mode == "follower"]
    # a follower has a leader, be it one that did not answer us
    return len([count for count in behind if count <= most]) + 1


def _margin(voters: int, in_step: int, silent: int, by_leader: bool) -> list[Verdict]:
    """Whether a majority is left when one more goes."""
    majority = voters // 2 + 1
    said = f"{in_step} of {voters} voters are in sync"
    if in_step - 1 >= majority:
        if in_step >= voters:
            return []
        return [warning(f"{said}: it can lose {in_step - majority} more", PLAYBOOK)]
    if voters < 3:
        return [] if in_step >= voters else [critical(f"{said}: no majority", PLAYBOOK)]
    if silent and not by_leader:
        return [unknown(f"{said} for sure, {silent} servers did not answer: cannot tell whether it can lose one")]
    return [critical(f"{said}: it can lose none, the next failure stops every broker", PLAYBOOK)]


def _no_leader(members: Sequence[Member], voters: int, silent: int) -> Verdict:
    if silent * 2 > voters:
        return unknown(f"{silent} of {voters} servers did not answer: cannot tell whether there is a leader")
    states = ", ".join(f"{member.server} {member.mode or member.state}" for member in members[:7])
    return critical(f"there is no leader: {states}", PLAYBOOK)


def _configured(members: Sequence[Member], voters: int, limits: Mapping[str, Any]) -> list[Verdict]:
    """Whether all have the same ensemble in mind, and one that can lose a server."""
    found = []
    views = {member.voters: member.server for member in members if member.voters is not None}
    if len(views) > 1:
        found.append(warning(f"{some(list(views.values()))} have different ensembles in their configuration"))
    named = len([member for member in members if member.mode != "observer"])
    if named != voters:
        found.append(warning(f"the ensemble has {voters} voters, the inventory names {named} servers"))
    if voters < limits["voters_min_warning"]:
        least = limits["voters_min_warning"]
        found.append(warning(f"an ensemble of {voters} cannot lose a server, should have {least} or more"))
    return found


def _controllers(quorum: Quorum, limits: Mapping[str, Any]) -> ClusterFinding:
    """KRaft: the controllers are both electors and log; behind_ms says since when one lacks something."""
    most = limits["behind_ms_warning"]
    late = [
        v
        for v in quorum.voters
        if v.id != quorum.leader and v.behind_ms is not None and (v.behind_ms == NEVER or v.behind_ms >= most)
    ]
    voters, in_step = len(quorum.voters), len(quorum.voters) - len(late)
    facts = {"voters": voters, "in_step": in_step, "leader": quorum.leader}
    if quorum.leader < 0:
        return ClusterFinding("controllers", critical("the controllers have no leader", PLAYBOOK), facts)
    verdicts = [warning(_late(voter, most), PLAYBOOK) for voter in late]
    verdicts += _margin(voters, in_step, 0, True) if late else []
    if any(voter.behind_ms is None for voter in quorum.voters):
        verdicts.append(unknown("this Kafka version does not report how far the controllers lag behind their leader"))
    if voters < limits["voters_min_warning"]:
        verdicts.append(warning(f"a quorum of {voters} cannot lose a controller, should have 3 or more"))
    return ClusterFinding("controllers", combine(verdicts, f"{voters} controllers, {quorum.leader} leads"), facts)


def _late(voter: Voter, most: int) -> str:
    if voter.behind_ms == NEVER:
        return f"controller {voter.id} has never caught up with the leader"
    return f"controller {voter.id} is {voter.behind_ms} ms behind the leader, should be below {most} ms"
