"""Ansible's inventories as they are: groups, hosts, variables; JSON of `ansible-inventory --list`, or YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from inventory import ranges
from inventory.problems import Place, Problem
from inventory.tree import MAP, TEXT, Node, text

GROUP_KEYS = {"hosts", "children", "vars"}
MOST_HOSTS = 20_000
# kafka-a[01:14]  kafka-[a:f]  kafka-[0:10:2]
RANGE = re.compile(r"\[(?:([0-9]+):([0-9]+)(?::([0-9]+))?|([a-z]):([a-z])|([A-Z]):([A-Z]))\]")

Variables = dict[str, tuple[Place, Node]]


@dataclass
class Group:
    children: dict[str, None] = field(default_factory=dict)
    hosts: dict[str, Place] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)


@dataclass
class Source:
    """What Ansible's files say, groups flat."""

    groups: dict[str, Group] = field(default_factory=dict)
    hosts: dict[str, Variables] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def group(self, name: str) -> Group:
        return self.groups.setdefault(name, Group())


def is_ansible(root: Node) -> bool:
    if root.get("_meta") or root.get("all"):
        return True
    bodies = [node for _key, _place, node in root.pairs()]
    return bool(bodies) and all(body.kind == MAP and body.value and set(body.value) <= GROUP_KEYS for body in bodies)


def read(roots: Sequence[Node]) -> Source:
    """All files together."""
    source = Source()
    for root in roots:
        (_take_list if root.get("_meta") else _take_yaml)(source, root)
    return source


def _take_list(source: Source, root: Node) -> None:
    """`{"_meta": {"hostvars": {"kafka-a01": {…}}}, "brokers": {"hosts": ["kafka-a01"], "children": [], "vars": {}}}`"""
    meta = root.get("_meta")
    hostvars = meta.get("hostvars") if meta else None
    for name, body in ((name, body) for name, _place, body in root.pairs() if name != "_meta"):
        group = source.group(name)
        for one in listed(body.get("hosts")):
            _add_host(source, group, one.value, one.place)
        for child in listed(body.get("children")):
            group.children[child.value] = None
            source.group(child.value)
        group.variables.update(_variables(body.get("vars")))
    for name, place, variables in hostvars.pairs() if hostvars else ():
        _add_host(source, None, name, place)
        source.hosts.get(name, {}).update(_variables(variables))


def _take_yaml(source: Source, root: Node) -> None:
    """`all: {hosts: {…}, vars: {…}, children: {brokers: {hosts: {kafka-a[01:14]: {rack: 12}}}}}`"""
    waiting = [(name, body) for name, _place, body in root.pairs()]
    while waiting:
        name, body = waiting.pop()
        group = source.group(name)
        group.variables.update(_variables(body.get("vars")))
        hosts, children = body.get("hosts"), body.get("children")
        for names, place, variables in hosts.pairs() if hosts else ():
            for host in _expanded(source, names, place):
                _add_host(source, group, host, place)
                source.hosts.get(host, {}).update(_variables(variables))
        for child, _place, below in children.pairs() if children else ():
            group.children[child] = None
            waiting.append((child, below))


def _add_host(source: Source, group: Group | None, name: str, place: Place) -> None:
    if name not in source.hosts and len(source.hosts) >= MOST_HOSTS:
        source.problems.append(Problem(place, f"more than {MOST_HOSTS} hosts"))
        return
    source.hosts.setdefault(name, {})
    if group is not None:
        group.hosts.setdefault(name, place)


def _expanded(source: Source, names: str, place: Place) -> list[str]:
    """Ansible's ranges, numbers and letters."""
    found = [names]
    try:
        letters = next((one for one in RANGE.finditer(names) if one[4] or one[6]), None)
        if letters:
            first, last = (letters[4], letters[5]) if letters[4] else (letters[6], letters[7])
            span = [chr(code) for code in range(ord(first), ord(last) + 1)]
            found = [names[: letters.start()] + letter + names[letters.end() :] for letter in span]
        return [name for one in found for name in ranges.expand(RANGE.sub(_as_ours, one))]
    except ranges.BadRange as error:
        source.problems.append(Problem(place, str(error)))
        return []


def _as_ours(found: re.Match[str]) -> str:
    if not found[1]:
        return found[0]
    return f"[{found[1]}-{found[2]}" + (f"/{found[3]}]" if found[3] else "]")


def listed(node: Node | None) -> list[Node]:
    """The names of a list; of a mapping, its keys."""
    if node is None or node.kind == TEXT:
        return []
    if node.kind == MAP:
        return [text(name, place) for name, place, _node in node.pairs()]
    return [one for one in node.value if one.kind == TEXT]


def _variables(node: Node | None) -> Variables:
    return dict(node.value) if node and node.kind == MAP else {}
