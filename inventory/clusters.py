"""A cluster of the file as a cluster of the model: its hosts written out, each with its levels over each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inventory import settings
from inventory.model import Cluster, Host
from inventory.peers import with_peers
from inventory.problems import Place, Problem, did_you_mean, shown
from inventory.settings import Reading, Said, Settings
from inventory.tree import LIST, MAP, TEXT, Node

MOST_HOSTS = 20_000


@dataclass
class _Entry:
    """One host. listed: in which lists (group, or empty for the cluster's own) it stands, and where.

    own: what was said of it there, with its number among the names of a range and how many there are.
    """

    name: str
    listed: dict[str, Place] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    own: list[tuple[Settings, int, int]] = field(default_factory=list)


class Building:
    """Builds clusters under the same defaults. origin: as in the model's Inventory."""

    def __init__(self, defaults: Node | None, problems: list[Problem]) -> None:
        self.origin: dict[str, Mapping[str, Place]] = {}
        self._problems = problems
        self._reading = Reading(problems)
        self._defaults = self._reading.of(defaults)
        self._cluster_of: dict[str, tuple[str, Place]] = {}

    def cluster(self, name: str, node: Node) -> Cluster:
        base = settings.merged([self._defaults, self._reading.of(node)])
        groups = _by_name(node.get("groups"))
        entries = self._entries(node, groups)
        if not entries:
            self._problem(node.place, f"cluster {name} has no hosts")
        hosts = tuple(self._hosts(name, base, groups, entries))
        said = settings.origin(base, ("limits", "zookeeper"))
        if node.get("kafka"):
            said["kafka"] = node.value["kafka"][0]
        self.origin[f"cluster {name}"] = said
        zookeeper = base.get(("zookeeper",), Said((), node.place)).value
        kafka = self._reading.endpoints(node.get("kafka"), settings.KAFKA_PORT)
        limits, place = settings.limits(base), _word(node, "maintenance_lock")
        return Cluster(name, with_peers(hosts, zookeeper), zookeeper, kafka, limits, place)

    def _entries(self, node: Node, groups: Mapping[str, Node]) -> dict[str, _Entry]:
        """The cluster's hosts, those listed in groups first."""
        found: dict[str, _Entry] = {}
        for group, body in groups.items():
            self._list(body.get("hosts"), group, groups, found)
        self._list(node.get("hosts"), "", groups, found)
        return found

    def _list(self, hosts: Node | None, group: str, groups: Mapping[str, Node], found: dict[str, _Entry]) -> None:
        for names, place, body in as_mapping(hosts, self._problems).pairs() if hosts else ():
            own = self._reading.of(body)
            more = self._groups_named(body.get("groups"), groups)
            expanded = self._reading.expand(names, place)
            if len(found) + len(expanded) > MOST_HOSTS:
                self._problem(place, f"more than {MOST_HOSTS} hosts in one cluster")
                return
            for index, name in enumerate(expanded):
                entry = found.setdefault(name, _Entry(name))
                if group in entry.listed:
                    self._problem(place, f"host {shown(name)} is also in {entry.listed[group]}")
                    continue
                entry.listed[group] = place
                entry.groups |= {group, *more} - {""}
                entry.own.append((own, index, len(expanded)))

    def _groups_named(self, named: Node | None, groups: Mapping[str, Node]) -> list[str]:
        """The groups that a host says it is in."""
        asked = [one for one in named.value if one.kind == TEXT] if named and named.kind == LIST else []
        for one in asked:
            if one.value not in groups:
                words = f"the cluster has no group {shown(one.value)}{did_you_mean(one.value, groups)}"
                self._problem(one.place, words)
        return [one.value for one in asked if one.value in groups]

    def _hosts(
        self, cluster: str, base: Settings, groups: Mapping[str, Node], entries: Mapping[str, _Entry]
    ) -> Iterator[Host]:
        shared: dict[Sequence[str], Settings] = {}
        for name, entry in entries.items():
            place = next(iter(entry.listed.values()))
            other = self._cluster_of.setdefault(name, (cluster, place))
            if other[0] != cluster:
                self._problem(place, f"host {shown(name)} is also in cluster {other[0]} ({other[1]})")
                continue
            member_of = tuple(group for group in groups if group in entry.groups)
            if member_of not in shared:
                shared[member_of] = settings.merged([base, *(self._reading.of(groups[group]) for group in member_of)])
            own = [settings.of_one(said, index, count, self._reading) for said, index, count in entry.own]
            said = settings.for_host(settings.merged([shared[member_of], *own]), name, self._reading)
            self.origin[name] = {"name": place, **settings.origin(said)}
            yield settings.host(name, cluster, said)

    def _problem(self, place: Place, words: str) -> None:
        self._problems.append(Problem(place, words))


def as_mapping(hosts: Node, problems: list[Problem]) -> Node:
    """`hosts` as a mapping, also where it is a list of names."""
    if hosts.kind != LIST:
        return hosts
    pairs: dict[str, tuple[Place, Node]] = {}
    for one in hosts.value:
        if one.kind == TEXT and one.value in pairs:
            problems.append(Problem(one.place, f"{shown(one.value)} is listed twice"))
        elif one.kind == TEXT:
            pairs[one.value] = (one.place, Node(TEXT, "", one.place, plain=True))
    return Node(MAP, pairs, hosts.place)


def _word(node: Node, key: str) -> str:
    said = node.get(key)
    return str(said.value) if said else ""


def _by_name(groups: Node | None) -> dict[str, Node]:
    return {name: node for name, _place, node in groups.pairs()} if groups else {}
