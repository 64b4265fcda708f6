"""Does the ZooKeeper ensemble keep its majority, in sync, without these hosts?

Checked for the cluster's own ensemble, and for every other cluster whose ensemble has a server on these hosts.

Failed: fewer servers in sync would be left than a majority; an ensemble of 1 or 2, which stops with any that goes; for
hosts without a server of it: it has no leader, or can lose none. For a decommission, which takes the server away for
good: what is left could lose none of its servers.

Warned: the ensemble's leader leaves (restart it last); servers that stay are out of sync.

Cannot tell: no reply from servers, or servers in no inventory, without which there may be no majority; the
number of voters is unknown (`conf` or `mntr` of a server, /zookeeper/config); which server runs on the host is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.host import CannotTell, NotApplicable
from agent.status import CRITICAL, UNKNOWN, WARNING, Verdict, count_of, critical, unknown, warning
from inventory.names import some
from smoketests.cluster.checks.zk_quorum import voter_count
from smoketests.cluster.view import ClusterView
from smoketests.gate import ensembles
from smoketests.gate.context import ZOOKEEPER_ROLE, GateContext
from smoketests.gate.decision import RuleResult, ruled
from smoketests.gate.maintenance import DECOMMISSION
from smoketests.gate.rules import judged_in
from smoketests.readers.zookeeper.ensemble import Member

UNTOLD = "unknown from the servers and /zookeeper/config; whitelist conf (4lw.commands.whitelist)"
LIMITS: Mapping[str, Any] = {"behind_transactions": 10_000}


def judge(situation: GateContext, limits: Mapping[str, Any]) -> RuleResult:
    views: dict[frozenset[str], ClusterView] = {}
    for view in _views(situation):
        views.setdefault(frozenset(server.partition("/")[0] for server in view.cluster.zookeeper), view)
    if not views:
        raise NotApplicable(_why_none(situation))
    verdicts: list[Verdict] = []
    healthy, evidence = [], {}
    for view in views.values():
        found, said = _of_view(situation, view, limits)
        verdicts += found
        healthy.append(said)
        members = view.zookeeper.members if view.zookeeper else ()
        evidence[view.cluster.name] = {member.server: member.mode or member.state for member in members}
    return ruled(verdicts, "; ".join(healthy), ensembles=evidence)


def _views(situation: GateContext) -> list[ClusterView]:
    return [view for view in (situation.view, *situation.served) if view.cluster.zookeeper]


def _why_none(situation: GateContext) -> str:
    """NotApplicable's sentence; CannotTell where a ZooKeeper server leaves that no cluster names."""
    seen = situation.identities
    ours = [one.name for one in situation.leaving if ZOOKEEPER_ROLE in one.roles or seen.runs(one, ZOOKEEPER_ROLE)]
    if ours:
        raise CannotTell(
            f"whose ZooKeeper runs on {some(ours)}: the inventory names no ensemble (zookeeper: [host:2181])"
        )
    return "the inventory names no ZooKeeper of this cluster"


def _of_view(situation: GateContext, view: ClusterView, limits: Mapping[str, Any]) -> tuple[list[Verdict], str]:
    if view.zookeeper is None:
        return [unknown(view.problems.get("zookeeper") or "no data from ZooKeeper")], ""
    members = view.zookeeper.members
    leaving = [] if situation.after or situation.stays_up else _leaving(situation, view)
    if not leaving:
        return _as_it_is(view), f"{view.cluster.name}'s ensemble of {len(members)} is in sync"
    found = _without(members, leaving, limits)
    if situation.purpose == DECOMMISSION:
        found += _for_good(members, leaving, limits)
    return found, f"{_left(members, leaving, limits)} in sync are left, enough for a majority"


def _leaving(situation: GateContext, view: ClusterView) -> list[Member]:
    """The ensemble's servers on the hosts that leave."""
    assert view.zookeeper
    found: list[Member] = []
    on = {
        member: {host.name for host in ensembles.holders(member.server, situation.view.cluster.hosts)}
        for member in view.zookeeper.members
    }
    for host in situation.leaving:
        here = [member for member, names in on.items() if host.name in names]
        # of a cluster that is only served we ask because a server of it is here
        # where no role is said, a server that nobody in the inventory has may be here
        seen = situation.identities.runs(host, ZOOKEEPER_ROLE)
        may_be = seen or ZOOKEEPER_ROLE in host.roles or (not host.roles and not all(on.values()))
        if not here and may_be and view is situation.view:
            servers = some([member.server for member in view.zookeeper.members])
            raise CannotTell(f"which server of {servers} runs on {host.name}: none has its name or address")
        found += here
    return list(dict.fromkeys(found))


def _as_it_is(view: ClusterView) -> list[Verdict]:
    """The ensemble's own state, as the check zk_quorum has it."""
    found = [finding.verdict for finding in judged_in(view, "zk_quorum")]
    return [verdict for verdict in found if verdict.status in (CRITICAL, WARNING, UNKNOWN)]


def _left(members: Sequence[Member], leaving: Sequence[Member], limits: Mapping[str, Any]) -> int:
    return ensembles.left_in_step(members, leaving, limits["behind_transactions"])


def _without(members: Sequence[Member], leaving: Sequence[Member], limits: Mapping[str, Any]) -> list[Verdict]:
    left, needed = _left(members, leaving, limits), ensembles.majority(members)
    who = some([member.server for member in leaving])
    staying = [member for member in members if member not in leaving and member.mode != "observer"]
    silent = ensembles.silent(staying)
    said = f"without {who}, {count_of(left, 'server')} in sync would be left, the majority is {needed}"
    unasked = ensembles.unnamed(members)
    verdicts = []
    if not ensembles.size_told(members):
        return [unknown(f"how many servers vote beside {some([one.server for one in members])}: {UNTOLD}")]
    if left < needed and left + len(silent) >= needed:
        verdicts.append(unknown(f"{said}; {some(silent)} gave no answer: {_why(members, silent)}"))
    elif left < needed and left + len(silent) + unasked >= needed and not _counted(members):
        verdicts.append(unknown(f"{said}; {count_of(unasked, 'voter')} more are not in the inventory: add them"))
    elif left < needed:
        verdicts.append(critical(said))
    elif left < len(staying):
        verdicts.append(
            warning(f"{left} of the {len(staying)} servers that stay are in sync, the majority is {needed}")
        )
    if any(member.mode == "leader" for member in leaving):
        verdicts.append(warning(f"{who} leads the ensemble: restart it last"))
    return verdicts


def _counted(members: Sequence[Member]) -> bool:
    """Whether the leader tells how many follow it, those that the inventory does not name among them."""
    return any(member.mode == "leader" and member.synced_followers is not None for member in members)


def _for_good(members: Sequence[Member], leaving: Sequence[Member], limits: Mapping[str, Any]) -> list[Verdict]:
    """A server that never comes back still counts in the majority, as long as it stands in the configuration."""
    going = [member for member in leaving if member.mode != "observer"]
    spare = _left(members, leaving, limits) - ensembles.majority(members)
    if not going or spare < 0:
        return []
    who, voters = some([member.server for member in going]), count_of(voter_count(members), "voter")
    said = f"{who} is one of {voters}: without it the ensemble could lose {spare} more"
    mend = "put another server in its place first, and take it out of the configuration"
    return [critical(f"{said}; {mend}")] if spare < 1 else [warning(f"{said}; {mend}")]


def _why(members: Sequence[Member], silent: Sequence[str]) -> str:
    return next(member.why for member in members if member.server == silent[0]) or "no data about itself"
