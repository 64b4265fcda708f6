"""Which servers of an ensemble run on which hosts, and how many can stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.api.zookeeper import ANSWERED, NOT_SERVING
from inventory.model import Host
from smoketests.cluster.checks.broker_ids import names_of, short, whole_names_of
from smoketests.cluster.checks.zk_quorum import VOTING, transactions_behind, voter_count
from smoketests.readers.zookeeper.ensemble import REFUSED, Member

# as the rule zookeeper has it
MOST_BEHIND = 10_000


def holders(server: str, hosts: Iterable[Host]) -> list[Host]:
    """The hosts on which `zk1.example.com:2181` may run: by name or address, where that fits several also by port."""
    name, _, port = server.rpartition(":")
    name = name.strip("[]").lower()
    everyone = list(hosts)
    found = [host for host in everyone if name in whole_names_of(host)]  # zk-1.dc1 is not zk-1.dc2
    found = found or [host for host in everyone if {name, short(name)} & names_of(host)]
    by_port = [host for host in found if port.isdigit() and int(port) in host.ports]
    return by_port if len(found) > 1 and by_port else found


def in_step(members: Sequence[Member], most_behind: int) -> list[Member]:
    """The voters that have what the leader has, by what each says."""
    return [
        member
        for member in members
        if member.mode in VOTING and (transactions_behind(member, members) or 0) <= most_behind
    ]


def left_in_step(members: Sequence[Member], leaving: Sequence[Member], most_behind: int) -> int:
    """How many voters in step are left for sure: by what each says, and by the leader's own count, where it tells.

    Voters that the inventory does not name are known from the leader's count alone.
    """
    staying = len([member for member in in_step(members, most_behind) if member not in leaving])
    leader = next((member for member in members if member.mode == "leader"), None)
    if leader is None or leader.synced_followers is None:
        return staying
    going = len([member for member in leaving if member.mode in VOTING])
    return max(min(staying + unnamed(members), leader.synced_followers + 1 - going), 0)


def silent(members: Iterable[Member]) -> list[str]:
    """The servers of which nothing is known."""
    return [member.server for member in members if member.state not in (ANSWERED, REFUSED, NOT_SERVING)]


def size_told(members: Sequence[Member]) -> bool:
    """Whether a server, or /zookeeper/config, told how many vote: the inventory may name but a part of them."""
    alone = len(members) == 1 and members[0].mode == "standalone"
    return alone or any(member.quorum_size or member.voters for member in members)


def unnamed(members: Sequence[Member]) -> int:
    """How many voters the inventory does not name: they were not asked."""
    return max(voter_count(members) - len([member for member in members if member.mode != "observer"]), 0)


def majority(members: Sequence[Member]) -> int:
    return voter_count(members) // 2 + 1
