"""Inventory files to the model: read, checked by the schema, put together over all files, checked as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from inventory import ansible, ansible_source, consistency, schema, tree
from inventory.clusters import Building, as_mapping
from inventory.model import Inventory
from inventory.problems import InventoryError, Place, Problem, shown
from inventory.tree import MAP, Node

ENDINGS = (".yaml", ".yml", ".json")
STDIN = "-"
OWN_KEYS = ("clusters", "defaults", "ansible")


def load(paths: Sequence[str]) -> Inventory:
    """The inventory of these files, of all files in these folders, and of `-`, the standard input.

    YAML and JSON of ours (schema.json), or an Ansible inventory. InventoryError holds everything that is wrong.
    """
    loading = _Loading()
    for path in paths:
        loading.take(path)
    loading.take_ansible()
    return loading.finish()


def files(path: str) -> list[str]:
    """A file, or the inventory files of a folder by name; OSError where it cannot be read."""
    if path == STDIN or not os.path.isdir(path):
        return [path]
    names = sorted(name for name in os.listdir(path) if name.endswith(ENDINGS) and not name.startswith("."))
    return [os.path.join(path, name) for name in names]


class _Loading:
    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._defaults: Node | None = None
        self._clusters: dict[str, Node] = {}
        self._ansible_files: list[tuple[Node, str]] = []
        self._ansible: Node | None = None
        self._notes: list[str] = []
        self._seen: set[str] = set()

    # reading files

    def take(self, path: str) -> None:
        try:
            names = files(path)
        except OSError as error:
            names = []
            self._problem(Place(path), f"cannot be read: {error.strerror}")
        else:
            if not names:
                self._problem(Place(path), f"a folder without a file that ends in {', '.join(ENDINGS)}")
        for name in names:
            same = os.path.realpath(name) if name != STDIN else STDIN
            if same not in self._seen:
                self._seen.add(same)
                root = self._root(name)
                if root:
                    self._sort(root, name)

    def _root(self, path: str) -> Node | None:
        shown_as = "standard input" if path == STDIN else path
        try:
            words, problems = tree.decode(_read(path), shown_as)
        except OSError as error:
            self._problem(Place(shown_as), f"cannot be read: {error.strerror}")
            return None
        self._problems += problems
        if problems:
            return None
        root, problems = tree.parse(words, shown_as)
        self._problems += problems
        if root is None and not problems:
            self._problem(Place(shown_as), "empty")
        if root is not None and root.kind != MAP:
            self._problem(root.place, f"an inventory is a mapping with `clusters`, not a {root.kind}")
            return None
        return root

    def _sort(self, root: Node, path: str) -> None:
        """Ours, or Ansible's."""
        if not any(root.get(key) for key in OWN_KEYS) and ansible_source.is_ansible(root):
            self._ansible_files.append((root, path))
            return
        self._problems += schema.check(root)
        self._defaults = self._joined(self._defaults, root.get("defaults"), "defaults")
        clusters = root.get("clusters")
        for name, _place, node in clusters.pairs() if clusters else ():
            self._clusters[name] = self._joined(self._clusters.get(name), node, f"cluster {name}")
        asked = root.get("ansible")
        if asked and self._ansible:
            self._problem(asked.place, f"`ansible` is also in {self._ansible.place}; only one is allowed")
        elif asked:
            self._ansible = asked

    def _joined(self, before: Node | None, more: Node | None, what: str) -> Node:
        """What two files say of one cluster: hosts and groups add up, any other key may stand in one of them."""
        if before is None or more is None or MAP not in (before.kind, more.kind):
            return before or more or Node(MAP, {}, Place("", 0, 0))
        if before.kind != MAP or more.kind != MAP:
            return before if before.kind == MAP else more
        pairs = dict(before.value)
        for key, place, node in more.pairs():
            if key not in pairs:
                pairs[key] = (place, node)
            elif key in ("hosts", "groups"):
                pairs[key] = (pairs[key][0], self._all_of(pairs[key][1], node, f"{what}, {key}"))
            else:
                self._problem(place, f"{what}: {key} is also set in {pairs[key][0]}")
        return Node(MAP, pairs, before.place)

    def _all_of(self, before: Node, more: Node, what: str) -> Node:
        one, other = as_mapping(before, self._problems), as_mapping(more, self._problems)
        for key, place, _node in other.pairs():
            if key in one.value:
                self._problem(place, f"{what}: {shown(key)} is also in {one.value[key][0]}")
        return Node(
            MAP, {**one.value, **{key: pair for key, pair in other.value.items() if key not in one.value}}, before.place
        )

    # Ansible

    def take_ansible(self) -> None:
        """Ansible's inventories, those given and those that our file names, as hosts of our clusters."""
        for path in ansible.named_files(self._ansible):
            root = self._root(path)
            if root:
                self._ansible_files.append((root, path))
        if not self._ansible_files:
            return
        groups = {name: _group_names(node) for name, node in self._clusters.items()}
        found = ansible.translate([root for root, _path in self._ansible_files], self._ansible, groups)
        self._problems += found.problems
        self._notes += found.notes
        self._problems += schema.check(found.root)
        clusters = found.root.get("clusters")
        for name, _place, node in clusters.pairs() if clusters else ():
            self._clusters[name] = self._joined(self._clusters.get(name), node, f"cluster {name}")

    # to the model

    def finish(self) -> Inventory:
        building = Building(self._defaults, self._problems)
        clusters = tuple(building.cluster(name, node) for name, node in self._clusters.items())
        if not clusters and not self._problems:
            self._problem(Place("inventory"), "names no cluster")
        inventory = Inventory(clusters, building.origin)
        self._problems += consistency.check(inventory)
        if self._problems:
            raise InventoryError(self._problems)
        return replace(inventory, notes=(*self._notes, *consistency.notes(inventory)))

    def _problem(self, place: Place, words: str) -> None:
        self._problems.append(Problem(place, words))


def _read(path: str) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(tree.LARGEST_FILE + 1)
    with open(path, "rb") as file:
        return file.read(tree.LARGEST_FILE + 1)


def _group_names(cluster: Node) -> set[str]:
    groups = cluster.get("groups")
    return {name for name, _place, _node in groups.pairs()} if groups else set()
