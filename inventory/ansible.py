"""Ansible's inventory as the source of hosts; docs/inventory.md has the table of what becomes what.

A host is taken when it is in a cluster (`ansible.clusters`, or the variable smoke_cluster), or where no clusters are
named, when one of its groups stands for a role. Its variables become settings; Ansible's passwords are never read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from inventory import ansible_source
from inventory.ansible_source import Group, Source, Variables, listed
from inventory.problems import Place, Problem, did_you_mean, plainly, shown
from inventory.tree import LIST, MAP, TEXT, Node, mapping, text

ROLES = {
    **dict.fromkeys(("broker", "brokers", "kafka", "kafka_broker", "kafka_brokers"), "broker"),
    **dict.fromkeys(("zookeeper", "zookeepers", "zk"), "zookeeper"),
    **dict.fromkeys(("controller", "controllers", "kafka_controller", "kafka_controllers"), "controller"),
}
VARIABLES = {
    "ansible_ssh_host": "address",
    "ansible_host": "address",
    "ansible_ssh_port": "port",
    "ansible_port": "port",
    "ansible_ssh_user": "user",
    "ansible_user": "user",
    "ansible_python_interpreter": "python",
    "ansible_become": "sudo",
}
OURS = "smoke_"
SETTINGS = ("address", "port", "user", "python", "sudo", "roles", "layout", "rack", "drawer", "power_feed",
            "maintenance", "mounts", "disks", "interfaces", "psus", "bmc", "ports", "zookeeper", "firewall",
            "write_probe", "limits", "skip", "broker_id")  # fmt: skip
NUMBERS = ("port", "psus", "broker_id", "bmc.port")
CLUSTER = "smoke_cluster"
DEFAULT_CLUSTER = "kafka"
# Ansible's hosts stand in a group of their own, so that ours may say more of them
GROUP = "_ansible_"


class Found(NamedTuple):
    """Ansible's hosts as a tree of our own form."""

    root: Node
    problems: list[Problem]
    notes: list[str]


def named_files(asked: Node | None) -> list[str]:
    """The files that `ansible.inventory` names, relative to the file where that stands."""
    named = asked.get("inventory") if asked else None
    if named is None:
        return []
    names = [one.value for one in named.value if one.kind == TEXT] if named.kind == LIST else [named.value]
    return [os.path.join(os.path.dirname(named.place.file), name) for name in names]


def translate(roots: Sequence[Node], asked: Node | None, groups_of: Mapping[str, set[str]]) -> Found:
    """asked: what our file says below `ansible`. groups_of: the groups that it gives each cluster."""
    return _Translation(ansible_source.read(roots), asked, groups_of).found(
        roots[0].place if roots else Place("ansible")
    )


class _Translation:
    def __init__(self, source: Source, asked: Node | None, groups_of: Mapping[str, set[str]]) -> None:
        self._source, self._problems, self._groups_of = source, list(source.problems), groups_of
        self._clusters = self._map(asked, "clusters")
        self._roles = self._map(asked, "roles") or {name: {role} for name, role in ROLES.items()}
        self._layouts = self._map(asked, "layouts")
        named = asked.get("variables") if asked else None
        self._variables = {
            **VARIABLES,
            **{name: str(node.value) for name, _at, node in (named.pairs() if named else ())},
        }
        self._member_of = self._memberships()

    def _map(self, asked: Node | None, key: str) -> dict[str, set[str]]:
        """Ansible group -> what it stands for; a group that Ansible does not have is a mistake."""
        found: dict[str, set[str]] = {}
        node = asked.get(key) if asked else None
        for group, place, value in node.pairs() if node else ():
            if group not in self._source.groups:
                words = f"Ansible has no group {shown(group)}{did_you_mean(group, self._source.groups)}"
                self._problems.append(Problem(place, words))
            found[group] = {one.value for one in listed(value)} if value.kind == LIST else {str(value.value)}
        return found

    def _memberships(self) -> dict[str, list[str]]:
        """Host -> its groups and those above them, farthest first: the order in which Ansible lets variables win."""
        depth = {"all": 0}
        waiting = [(name, 1) for name in self._source.groups if name != "all"]
        # deepest way from the top; no way is longer than there are groups
        for _ in range(len(self._source.groups)):
            deeper = []
            for name, level in waiting:
                if level > depth.get(name, -1) and level <= len(self._source.groups):
                    depth[name] = level
                    deeper += [(child, level + 1) for child in self._source.groups[name].children if child != "all"]
            waiting = deeper
            if not waiting:
                break
        found: dict[str, set[str]] = {name: {"all"} & set(self._source.groups) for name in self._source.hosts}
        for group in self._source.groups:
            for host in self._hosts_below(group):
                if host in found:
                    found[host].add(group)
        order = {name: (depth.get(name, 0), self._priority(name), name) for name in self._source.groups}
        return {host: sorted(groups, key=lambda group: order[group]) for host, groups in found.items()}

    def _priority(self, group: str) -> int:
        said = self._source.groups[group].variables.get("ansible_group_priority")
        value = said[1].to_plain() if said and said[1].kind == TEXT else 1
        return value if isinstance(value, int) else 1

    def _hosts_below(self, group: str) -> Iterator[str]:
        seen, waiting = {group}, [group]
        while waiting:
            here = self._source.groups.get(waiting.pop(), Group())
            yield from here.hosts
            new = [child for child in here.children if child not in seen]
            seen.update(new)
            waiting += new

    def found(self, place: Place) -> Found:
        clusters: dict[str, dict[str, Node]] = {}
        left_out: list[str] = []
        for name, own in self._source.hosts.items():
            variables = self._all_variables(name, own)
            at = next((place for place, _node in own.values()), place)
            at = next((group.hosts[name] for group in self._source.groups.values() if name in group.hosts), at)
            roles, cluster = self._of_groups(name, self._roles), self._cluster(name, variables, at)
            if not cluster or (not roles and not self._clusters and CLUSTER not in variables):
                left_out.append(name)
                continue
            clusters.setdefault(cluster, {})[name] = self._host(name, variables, sorted(roles), cluster, at)
        if not clusters and not self._problems:
            self._problems.append(
                Problem(place, "none of Ansible's groups stands for a role or a cluster (docs/inventory.md)")
            )
        notes = [f"{len(left_out)} of Ansible's hosts left out, in no cluster or role: {plainly(', '.join(left_out))}"]
        bodies = {name: _in_group(hosts, place) for name, hosts in clusters.items()}
        root = mapping({"clusters": mapping(bodies, place)}, place)
        return Found(root, self._problems, notes if left_out else [])

    def _all_variables(self, name: str, own: Variables) -> Variables:
        found: dict[str, tuple[Place, Node]] = {}
        for group in self._member_of[name]:
            found.update(self._source.groups[group].variables)
        return {**found, **own}

    def _of_groups(self, name: str, stands_for: Mapping[str, set[str]]) -> set[str]:
        return {one for group in self._member_of[name] for one in stands_for.get(group, ())}

    def _cluster(self, name: str, variables: Variables, place: Place) -> str:
        if CLUSTER in variables:
            return str(variables[CLUSTER][1].value)
        if not self._clusters:
            return next(iter(self._groups_of)) if len(self._groups_of) == 1 else DEFAULT_CLUSTER
        found = sorted(self._of_groups(name, self._clusters))
        if len(found) > 1:
            self._problems.append(Problem(place, f"host {shown(name)} is in two clusters: {', '.join(found)}"))
        return found[0] if found else ""

    def _host(self, name: str, variables: Variables, roles: Iterable[str], cluster: str, place: Place) -> Node:
        pairs: dict[str, tuple[Place, Node]] = {}
        layouts = sorted(self._of_groups(name, self._layouts))
        if len(layouts) > 1:
            self._problems.append(Problem(place, f"host {shown(name)} has two layouts: {', '.join(layouts)}"))
        for key, node in (("roles", _texts(roles, place)), ("layout", text(layouts[0], place) if layouts else None)):
            if node and node.value:
                pairs[key] = (place, node)
        for variable, (at, node) in variables.items():
            for setting, value in self._settings(variable, node, at):
                _put(pairs, setting, at, value)
        mine = [group for group in self._member_of[name] if group in self._groups_of.get(cluster, ())]
        if mine:
            pairs["groups"] = (place, _texts(mine, place))
        return Node(MAP, pairs, place)

    def _settings(self, variable: str, node: Node, place: Place) -> Iterator[tuple[str, Node]]:
        """What a variable says in our words; nothing for most."""
        setting = self._variables.get(variable, "")
        if not setting and variable.startswith(OURS) and variable != CLUSTER:
            setting = variable[len(OURS) :]
            if setting not in SETTINGS:
                hint = did_you_mean(variable, [OURS + name for name in SETTINGS])
                self._problems.append(Problem(place, f"unknown variable {shown(variable)}{hint}"))
                return
        elif variable == "smoke" and node.kind == MAP:
            yield from ((key, value) for key, _at, value in node.pairs())
        if not setting:
            return
        if node.kind == TEXT and "{{" in node.value:
            self._problems.append(Problem(place, f"{plainly(variable)}: an Ansible template; write its result"))
            return
        adapted = _adapted(setting, node)
        if adapted:
            yield setting, adapted


def _adapted(setting: str, node: Node) -> Node | None:
    """A value of Ansible's in our form; None where it says nothing."""
    if node.kind != TEXT:
        return node
    value = node.value
    if setting == "sudo":
        return text("yes" if value.lower() in ("true", "yes", "on", "1") else "no", node.place)
    if setting == "python" and value.startswith("auto"):
        return None
    if setting in NUMBERS and value.isdigit():
        return Node(TEXT, value, node.place, plain=True)
    return node


def _put(pairs: dict[str, tuple[Place, Node]], setting: str, place: Place, node: Node) -> None:
    above, _, key = setting.partition(".")
    if not key:
        pairs[setting] = (place, node)
        return
    before = pairs.get(above)
    inside = dict(before[1].value) if before and before[1].kind == MAP else {}
    pairs[above] = (place, Node(MAP, {**inside, key: (place, node)}, place))


def _texts(words: Iterable[str], place: Place) -> Node:
    return Node(LIST, [text(word, place) for word in words], place)


def _in_group(hosts: Mapping[str, Node], place: Place) -> Node:
    listed = Node(MAP, {name: (node.place, node) for name, node in hosts.items()}, place)
    return mapping({"groups": mapping({GROUP: mapping({"hosts": listed}, place)}, place)}, place)
