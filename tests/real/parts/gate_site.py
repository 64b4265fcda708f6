"""A whole site for the gate: six real hosts, on them a real Kafka cluster, and `smoke gate` asked of it."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tests.real.parts import kafka_cluster
from tests.real.parts.filesystems import command
from tests.real.parts.kafka_cluster import CONTROLLERS, IDS, KafkaCluster
from tests.real.parts.machines import Machine, Site, site

BROKERS = ("kafka-a01", "kafka-a02", "kafka-a03")
QUORUM = ("zk-a01", "zk-a02", "zk-a03")
# A loop device reports no serial number; the inventory does.
SERIAL = "OLDLOOP1"
# What a test cannot have, or shares with all other tests of this machine.
NOT_HERE = dict.fromkeys(
    ("smart", "raid", "disk_latency", "disk_errors", "disk_usage", "memory_errors", "nic_link", "nic_resets", "power",
     "cooling", "chassis", "clock"),
    "the hosts of this test share one machine without such parts",
)  # fmt: skip


class GateSite:
    """kafka-a01 … 03 with brokers 1 to 3; zk-a01 … 03 with the ensemble, or with the controllers 11 to 13."""

    def __init__(self, hosts: Site, kafka: KafkaCluster, disk: Disk | None = None) -> None:
        self.hosts, self.kafka, self.disk = hosts, kafka, disk
        self.store = hosts.folder / "results"
        self.inventory = self.write("site.yaml")

    @property
    def kraft(self) -> bool:
        return bool(self.kafka.controllers)

    def write(self, name: str, **cluster: Any) -> pathlib.Path:
        """The inventory; what is given stands in place of what is so."""
        servers = [f"{server}/kafka" for server in self.kafka.ensemble.servers] if self.kafka.ensemble else []
        # Kafka's data lie on whatever disk the tests run on, full as it is
        own = {
            "limits": {"gate_disk_room": {"used_percent": 99}},
            "kafka": self.kafka.servers,
            **({"zookeeper": servers} if servers else {}),
            **cluster,
        }
        combined = self.kafka.controllers.keys() == {*IDS}
        roles = ["broker", "controller"] if combined else ["broker"]
        hosts: dict[str, dict[str, Any]] = {
            host: {"roles": roles, "layout": "jbod", "broker_id": number, "skip": dict(NOT_HERE)}
            for host, number in zip(BROKERS, IDS)
        }
        if self.disk:
            hosts[BROKERS[1]].update(mounts=[str(self.disk.path)], disks=[SERIAL])
        for host, node in zip(() if combined else QUORUM, CONTROLLERS):
            hosts[host] = {"roles": ["zookeeper"], "skip": dict(NOT_HERE)}
            if self.kraft:
                hosts[host] = {"roles": ["controller"], "broker_id": node, "skip": dict(NOT_HERE)}
        return self.hosts.write(name, own, hosts)

    def gate(
        self, host: str, *words: str, purpose: str = "reboot", inventory: pathlib.Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Decided:  # fmt: skip
        """`smoke gate --host HOST --for PURPOSE WORDS`."""
        asked = ["gate", "--host", host, "--for", purpose, "--store", str(self.store), "--format", "json", *words]
        done = self.hosts.smoke(inventory or self.inventory, *asked, environment=environment)
        assert done.stdout, done.stderr
        return Decided(done.returncode, json.loads(done.stdout), done.stderr)


class Decided:
    """What it answered."""

    def __init__(self, exit_code: int, document: Mapping[str, Any], said: str) -> None:
        self.exit_code, self.document, self.said = exit_code, document, said
        self.answer: str = document["answer"]
        self.rules: dict[str, Mapping[str, Any]] = {rule["name"]: rule for rule in document["rules"]}

    def of(self, *statuses: str) -> dict[str, str]:
        """Rule -> reason, of the rules that came out so."""
        return {name: str(rule["reason"]) for name, rule in self.rules.items() if rule["status"] in statuses}

    @property
    def bad(self) -> dict[str, str]:
        return self.of("failed", "cannot tell")

    def __repr__(self) -> str:
        return f"{self.answer} (exit {self.exit_code}): {self.bad} {self.said}"


class Disk(NamedTuple):
    """A data mount of broker 2 on kafka-a02, the second of its log dirs."""

    path: pathlib.Path

    @property
    def log_dir(self) -> pathlib.Path:
        return self.path / "kafka"

    def put(self, machine: Machine, device: str) -> None:
        """A new, empty file system on this device, mounted there as the machine sees it, and a folder for Kafka."""
        command("mkfs.ext4", "-q", "-F", device)
        command("tune2fs", "-e", "remount-ro", device)
        self.path.mkdir(exist_ok=True)
        machine.run("mount", device, str(self.path))
        machine.run("mkdir", str(self.log_dir))

    def take(self, machine: Machine) -> None:
        machine.run("umount", str(self.path))


@contextlib.contextmanager
def gate_site(
    folder: pathlib.Path, mode: str, device: str = "", tools: Callable[[pathlib.Path], str] | None = None
) -> Iterator[GateSite]:
    """mode: zookeeper, kraft or combined (brokers that are controllers). device: for the disk of broker 2, if any.

    tools: of the machines (tests/real/parts/machines.py).
    """
    begin = kafka_cluster.MODES[mode]
    with site(folder, BROKERS if mode == "combined" else [*BROKERS, *QUORUM], tools=tools) as hosts:
        places = [machine.place for machine in hosts.machines.values()]
        brokers, quorum = places[: len(IDS)], places[len(IDS) :]
        disk = Disk(folder / "disk2")
        if device:
            disk.put(hosts.machines[BROKERS[1]], device)
        log_dirs = {IDS[1]: [folder / "broker2" / "logs", disk.log_dir]} if device else {}
        with begin(folder, brokers, quorum, log_dirs) as kafka:
            kafka.create("orders", (1, 2, 3), (2, 3, 1), (3, 1, 2), min_insync_replicas=2)
            kafka.settle()
            yield GateSite(hosts, kafka, disk if device else None)
