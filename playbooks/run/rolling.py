"""One playbook on several machines of a cluster, one at a time: its journal, and which machine is next.

STORE/playbooks/ID.roll.jsonl names the machines and the run of each; each run has its own journal, as any other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.atomic_file import sync_folder
from agent.report import timestamp
from inventory.model import Cluster, Host
from playbooks.model import Playbook
from playbooks.plan import plan
from playbooks.plan.plan import NoPlan, Plan
from playbooks.plan.template import FoundLater, NotTold
from playbooks.run import journal, leaving
from playbooks.run.journal import InUse
from smoketests.gate import playbook_runs
from smoketests.gate.ensembles import holders
from smoketests.gate.playbook_runs import ID, Event

ENDING = ".roll.jsonl"


@dataclass
class Roll:
    """hosts: all of them, as they were named. run_of: the last run of each that was begun. over: the whole is done."""

    id: str
    path: str
    playbook_path: str
    sha256: str
    playbook: str
    hosts: tuple[str, ...]
    inventories: tuple[str, ...]
    handle: int = -1
    run_of: dict[str, str] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    over: bool = False
    last: str = ""

    @property
    def left(self) -> list[str]:
        return [host for host in self.hosts if host not in self.done]

    @property
    def words(self) -> str:
        """For the list of runs."""
        state = "finished" if self.over else f"{len(self.done)} of {len(self.hosts)} done"
        return f"{state}, at {self.last}" if self.last and not self.over else state

    def write(self, event: str, **fields: Any) -> None:
        """Add an event; it is on disk when this returns. OSError."""
        row: Event = {"event": event, "at": timestamp(time.time()), **fields}
        journal.append(self.handle, row)
        self.take(row)

    def take(self, row: Event) -> None:
        host = str(row.get("host", ""))
        if host:
            self.last = host
        if row["event"] == "host":
            self.run_of[host] = str(row.get("run", ""))
        elif row["event"] == "done" and host in self.left:
            self.done.append(host)
        elif row["event"] == "finished":
            self.over = True

    def close(self) -> None:
        os.close(self.handle)


def begin(store: str, playbook: Playbook, hosts: Sequence[str], inventories: Sequence[str], who: str) -> Roll:
    """A new one. OSError."""
    roll_id = plan.new_id()
    path = path_of(store, roll_id)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
    journal.take(handle, path, [])
    roll = Roll(roll_id, path, playbook.path, playbook.sha256, playbook.name, tuple(hosts), tuple(inventories), handle)
    said = {"playbook": playbook.name, "path": playbook.path, "sha256": playbook.sha256}
    roll.write("planned", roll={**said, "hosts": list(hosts), "inventories": list(inventories)}, who=who)
    sync_folder(os.path.dirname(path))
    return roll


def reopen(store: str, roll_id: str, who: str) -> Roll:
    """One to go on with. NoPlan, InUse, OSError."""
    path = path_of(store, roll_id)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    journal.take(handle, path, playbook_runs.events(path))
    journal.end_line(handle, path)
    roll = read(store, roll_id)
    roll.handle = handle
    roll.write("resumed", who=who)
    return roll


def read(store: str, roll_id: str) -> Roll:
    """What is kept of it. NoPlan."""
    path = path_of(store, roll_id)
    try:
        rows = playbook_runs.events(path)
        said = rows[0]["roll"]
        where, sha256, name = (str(said[field]) for field in ("path", "sha256", "playbook"))
        hosts, inventories = (tuple(map(str, said[field])) for field in ("hosts", "inventories"))
        roll = Roll(roll_id, path, where, sha256, name, hosts, inventories)
    except (OSError, IndexError, KeyError, TypeError) as error:
        raise NoPlan(f"{path} does not start with the machines of a rolling run: {type(error).__name__}") from error
    for row in rows[1:]:
        roll.take(row)
    return roll


def path_of(store: str, roll_id: str) -> str:
    """NoPlan for what is no id."""
    if not ID.fullmatch(roll_id):
        raise NoPlan(f"{roll_id[:80]!a} is not a valid id; `smoke playbook log` lists all runs")
    return os.path.join(plan.folder(store), roll_id + ENDING)


def is_one(store: str, roll_id: str) -> bool:
    return bool(ID.fullmatch(roll_id)) and os.path.exists(path_of(store, roll_id))


def ids(store: str) -> list[str]:
    """Of all, oldest first; none where there is no store."""
    try:
        names = os.listdir(plan.folder(store))
    except OSError:
        return []
    found = [name.removesuffix(ENDING) for name in names if name.endswith(ENDING)]
    return sorted(roll_id for roll_id in found if ID.fullmatch(roll_id))


def following(cluster: Cluster, left: Sequence[str]) -> str:
    """The machine that is next: those with the active controller and with ZooKeeper's leader come last."""
    from smoketests.cluster import services

    if len(left) == 1:
        return left[0]
    view = services.look(cluster, {})
    ids = {said.controller for said in (view.kafka, view.zookeeper) if said}
    members = view.zookeeper.members if view.zookeeper else ()
    leaders = {host.name for one in members if one.mode == "leader" for host in holders(one.server, cluster.hosts)}
    return next((host.name for host in _named(cluster, left) if not _leads(host, ids, leaders)), left[0])


def _named(cluster: Cluster, names: Sequence[str]) -> list[Host]:
    known = {host.name: host for host in cluster.hosts}
    return [known[name] for name in names if name in known]


def _leads(host: Host, controllers: set[int | None], leaders: set[str]) -> bool:
    return host.name in leaders or (host.broker_id is not None and host.broker_id in controllers)


def takes_away(made: Plan) -> bool:
    """Whether a plan takes anything away on its machine, so that there is something to be carried out."""
    servers = [fact.words("unit") for fact in made.facts.values() if fact.words("unit")]
    filling = made.filling()
    for step in made.playbook.steps:
        try:
            if filling.holds(step.when) and leaving.takes_away(step, filling.argv(step.run), servers):
                return True
        except (FoundLater, NotTold):
            continue
    return False


def wants_person(made: Plan) -> str:
    """What only a person can confirm on this machine; empty if --yes can do all."""
    filling = made.filling()
    for step in made.playbook.steps:
        if step.kind == "confirm" and not step.unattended and filling.holds(step.when):
            return " ".join(filling.words(step.words).split())
    return ""


__all__ = [
    "InUse",
    "NoPlan",
    "Roll",
    "begin",
    "following",
    "ids",
    "is_one",
    "read",
    "reopen",
    "takes_away",
    "wants_person",
]
