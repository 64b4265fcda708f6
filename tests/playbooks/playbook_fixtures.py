"""Our own playbooks, and example facts to fill their commands with."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from playbooks import loader, placeholders
from playbooks.fact_schema import ALWAYS, FIELDS
from playbooks.model import Playbook, Step
from playbooks.placeholders import EACH, Placeholder

# one value for each type of field, and better ones for some fields
BY_TYPE = {
    "serial": "ZA1BC2DE", "text": "Bay 3", "device": "/dev/sdc", "path": "/kafka/d3", "word": "plain",
    "uuid": "0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11", "interface": "eth0", "unit": "kafka.service",
    "options": "rw,noatime", "address": "zk1:2888:3888", "number": "9092", "network": "10.0.0.0/8",
    "source": "UUID=11111111-2222-4333-8444-555555555555",
    "rule": 'rule family="ipv4" source address="10.0.0.0/8" port port="9092" protocol="tcp" accept',
}  # fmt: skip
BY_FIELD = {
    "broker.oom_protection_wanted": "900", "zookeeper.max_client_cnxns_wanted": "300",
    "machine.swappiness": "60", "machine.swappiness_wanted": "1", "machine.max_map_count_wanted": "262144",
    "machine.huge_pages": "always", "machine.huge_pages_wanted": "madvise",
    "broker.open_files_wanted": "100000", "zookeeper.open_files_wanted": "100000",
    "nic.rings": "small", "nic.driver": "e1000e", "disk.partition_number": "",
    "firewall.family": "inet", "firewall.table": "filter", "firewall.chain": "input", "firewall.peers6": "fd00::/8",
}  # fmt: skip


@functools.cache
def names() -> tuple[str, ...]:
    return tuple(sorted(loader.files([str(loader.FOLDER)])))


@functools.cache
def book(name: str) -> Playbook:
    return loader.load(str(loader.FOLDER / f"{name}.yaml"))


def value(playbook: Playbook, name: Placeholder) -> str:
    """An example of what a machine may tell of this; of a list, one of its items."""
    if name.need in ALWAYS or name == EACH:
        return "example"
    kind = FIELDS[playbook.needs[name.need].kind][name.field]
    return BY_FIELD.get(str(name).strip("{}"), BY_TYPE[kind.strip("[]")])


def fill(playbook: Playbook, step: Step, text: str) -> str:
    """The text with example facts in it."""
    need, _, field = step.each.partition(".")
    item = value(playbook, Placeholder(need, field)) if step.each else ""
    return placeholders.fill(text, lambda name: item if name == EACH else value(playbook, name))


def commands(playbook: Playbook) -> Iterator[tuple[str, Step, tuple[str, ...]]]:
    """What kind it is (run, done, undo), the step whatever its condition, and the arguments with example facts."""
    for one in playbook.steps:
        for kind in ("run", "done", "undo"):
            words = getattr(one, kind)
            if words:
                yield kind, one, tuple(fill(playbook, one, word) for word in words)


def step(name: str, begins: str) -> Step:
    """The step of a playbook whose name begins so."""
    return next(one for one in book(name).steps if one.name.startswith(begins))
