"""The target of a playbook: one host of an inventory, or this machine; how to reach it and where runs are stored."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent import engine
from agent.expected import from_json
from inventory.errors import SmokeError
from inventory.model import Cluster, Host
from playbooks.machine import Far, Here, Machine
from playbooks.view import View

if TYPE_CHECKING:
    from smoketests.results.run import RunOptions

Record = Mapping[str, Any]
Say = Callable[[str], None]


class NoTarget(SmokeError):
    """There is no such host, or no way to it; the message says why."""


class CannotLook(SmokeError):
    """The agent gave no findings; the message says why."""


@dataclass
class Target:
    """One machine. cluster, wanted: None without an inventory. controller: where `smoke` runs, as its user."""

    host: Host
    machine: Machine
    controller: Machine
    cluster: Cluster | None
    wanted: RunOptions | None
    store: str
    deadline_s: float = engine.RUN_DEADLINE_S

    @property
    def name(self) -> str:
        return self.host.name

    def view(self) -> View:
        """The machine as it is now: nothing of an earlier view is remembered."""
        import json

        return View(self.machine, from_json(json.dumps(self.host.expected())))

    def findings(self, checks: Sequence[str], say: Say, write_probe: bool = True) -> list[Record]:
        """What these checks (of hosts or clusters) find on this machine and of its cluster now. CannotLook."""
        if self.wanted is None:
            return _local(checks, self.deadline_s, write_probe)
        from smoketests.results import run

        wanted = replace(self.wanted, checks=tuple(checks), write_probe=write_probe, whole=True, store="")
        try:
            survey = run.ask(wanted, say)
        except run.CannotAsk as error:
            raise CannotLook(str(error)) from error
        found = [*survey.report(self.host).findings, *survey.of_cluster(self.host.cluster)]
        if any(one["reason"] == run.STOPPED for one in found):
            raise KeyboardInterrupt  # the asking took our Ctrl-C for its own
        return found

    def close(self) -> None:
        self.machine.close()


def _local(checks: Sequence[str], deadline_s: float, write_probe: bool) -> list[Record]:
    from agent import report
    from smoketests.remote import local

    of_hosts = [name for name in checks if name in engine.names()]
    of_clusters = [name for name in checks if name not in of_hosts]
    if of_clusters:
        raise CannotLook(f"{', '.join(of_clusters)}: a check of a cluster requires its inventory (-i)")
    try:
        arguments = [*of_hosts, *([] if write_probe else ["--no-write-probe"])]
        return report.read(list(local.lines(arguments, deadline_s))).findings
    except local.AgentFailed as error:
        raise CannotLook(str(error)) from error


def here(store: str, sudo_password: str = "") -> Target:
    """This machine."""
    user = "root" if os.geteuid() == 0 else getpass.getuser()
    host = Host(os.uname().nodename)
    return Target(host, Here(host, user, sudo_password), _controller(), None, None, store)


def of_inventory(wanted: RunOptions, store: str) -> Target:
    """The one host that `wanted.limit` names. NoTarget."""
    from smoketests.results import run
    from smoketests.ssh.failures import AccessError

    try:
        inventory, hosts = run.load(wanted)
        access = run.access(wanted)
    except (run.CannotAsk, AccessError) as error:
        raise NoTarget(str(error)) from error
    if len(hosts) != 1:
        raise NoTarget(f"--host matches {len(hosts)} hosts; this playbook runs on one host at a time")
    (host,) = hosts
    cluster = next(one for one in inventory.clusters if one.name == host.cluster)
    machine = Far(host, host.user or getpass.getuser(), wanted.sudo_password, access)
    return Target(host, machine, _controller(), cluster, wanted, store, wanted.deadline_s)


def _controller() -> Machine:
    """Commands of the controller are never root's, unless we are."""
    return Here(Host("controller", sudo="no"), getpass.getuser())
