"""The gate's site with servers that units keep, so that our own playbooks restart them."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

import psutil

from smoketests.gate import lock, playbook_runs
from tests.playbooks.prompt_fake import Desk
from tests.real.parts import units
from tests.real.parts.gate_site import BROKERS, QUORUM, GateSite, gate_site
from tests.real.parts.kafka_cluster import IDS

OURS = pathlib.Path(__file__).parents[3] / "playbooks/books"
BROKER_UNIT, ZOOKEEPER_UNIT = "kafka.service", "zookeeper.service"
HOME = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]


class UnitSite:
    """site: as `gate_site` has it, its brokers in units."""

    def __init__(self, site: GateSite) -> None:
        self.site = site
        for host, number in zip(BROKERS, IDS):
            self._adopt(host, BROKER_UNIT, site.kafka.brokers[number].process.pid, site.kafka.brokers[number].folder)
        for host, controller in zip(QUORUM, site.kafka.controllers.values()):
            self._adopt(host, BROKER_UNIT, controller.process.pid, controller.folder)
        if site.kafka.ensemble:
            for host, member in zip(QUORUM, site.kafka.ensemble.members):
                self._adopt(host, ZOOKEEPER_UNIT, member.process.pid, member.folder)

    def _adopt(self, host: str, unit: str, pid: int, folder: pathlib.Path) -> None:
        (java,) = psutil.Process(pid).children()
        units.adopt(self.site.hosts.machines[host], unit, java.cmdline(), folder)

    def desk(self, folder: pathlib.Path, host: str, name: str, *changed: tuple[str, str]) -> Desk:
        """Somebody with a copy of a playbook of ours that looks every second. changed: words, and what is there now."""
        key = self.site.hosts.machines[BROKERS[0]].sshd.key
        access = ["-i", str(self.site.inventory), "--known-hosts", str(self.site.hosts.folder / "known_hosts"),
                  "--identity", str(key), "--ssh-config", "/dev/null"]  # fmt: skip
        desk = Desk(folder, access, host, patience_s=560)
        text = (OURS / f"{name}.yaml").read_text()
        for before, after in changed:
            assert before in text
            text = text.replace(before, after)
        for slow in ("10s", "15s", "30s", "60s"):
            text = text.replace(f"every: {slow}", "every: 1s")
        (desk.books / f"{name}.yaml").write_text(text)
        return desk

    def starts(self, *hosts: str, unit: str = BROKER_UNIT) -> list[int]:
        """How many times each was started by its unit."""
        return [int(units.told(self.site.hosts.machines[host], unit).get("starts", 0)) for host in hosts or BROKERS]

    def enabled(self, host: str, unit: str = BROKER_UNIT) -> bool:
        return bool(units.told(self.site.hosts.machines[host], unit)["enabled"])

    def kill(self, number: int) -> None:
        """As by a power cut, until it is missed."""
        machine = self.site.hosts.machines[BROKERS[number - 1]]
        machine.run("kill", "-9", str(units.told(machine, BROKER_UNIT)["pid"]))
        self.site.kafka.until(
            f"broker {number} missed",
            lambda facts: (
                all(number not in row.isr for row in facts.partitions or ())
                and number not in {row.id for row in facts.brokers if not row.fenced}
            ),
        )

    def revive(self, number: int) -> None:
        machine = self.site.hosts.machines[BROKERS[number - 1]]
        machine.run(str(machine.sshd.folder / "bin/systemctl"), "start", BROKER_UNIT)
        self.site.kafka.settle()

    def order(self, topic: str = "orders") -> list[tuple[int, ...]]:
        return [one.replicas for one in sorted(self.site.kafka.partitions(topic))]


def left_behind(desk: Desk) -> list[object]:
    """Locks that are held, and what runs changed and did not take back."""
    store = str(desk.store)
    return [*lock.held(store), *(one for run in playbook_runs.unfinished(store, "prod-a") for one in run.changes)]


@contextlib.contextmanager
def unit_site(folder: pathlib.Path, mode: str = "kraft") -> Iterator[UnitSite]:
    with gate_site(folder, mode, tools=units.install) as site:
        yield UnitSite(site)
