"""What the playbook of a JBOD disk does to Kafka, with a real KRaft broker and a real file system."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping

import pytest
from kafka.admin import KafkaAdminClient, NewTopic

from playbooks import placeholders
from smoketests.readers.kafka import cluster as kafka
from tests.playbooks.playbook_fixtures import step
from tests.real.parts import filesystems
from tests.real.parts.kafka_servers import Kafka, format_logs, with_kraft
from tests.real.parts.namespace import wait_for
from tests.real.parts.zookeeper import free_port

pytestmark = [
    pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(400),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for file systems"),
    pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is missing (package util-linux)"),
]  # fmt: skip

# As Kafka's own user: folders that are closed are closed to it, unlike to root.
NOT_ALMIGHTY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
CLUSTER_ID, BROKEN = "MkU3OEVBNTcwNTJENDM2Qg", 56
UUID = "0c9f1d6e-8f0a-4a53-9a4c-3f1f6d1f7a11"


class Replacement:
    """One disk of a broker, and the steps of the playbook done to it."""

    def __init__(self, folder: pathlib.Path, device: str) -> None:
        self.mount, self.log_dir = folder / "d2", folder / "d2/kafka"
        self.facts = {
            "disk.mount": str(self.mount), "fs.uuid": UUID, "new.device": device,
            "broker.user": "root", "broker.id": "2", "broker.cluster_id": CLUSTER_ID,
        }  # fmt: skip

    def do(self, begins: str) -> None:
        one = step("replace-jbod-disk", begins)
        facts = {**self.facts, "each": str(self.log_dir)}
        argv = [self._filled(word, facts) for word in one.run]
        subprocess.run(
            argv, input=self._filled(one.input, facts), text=True, check=True, capture_output=True, timeout=60
        )

    def _filled(self, text: str, facts: Mapping[str, str]) -> str:
        return placeholders.fill(text, lambda name: facts[str(name).strip("{}")])


def log_dirs(server: Kafka, number: int) -> dict[str, tuple[int, int]]:
    """Of this broker: log dir -> error code and how many partitions."""

    def ask() -> dict[str, tuple[int, int]]:
        client = KafkaAdminClient(bootstrap_servers=server.address)
        try:
            (broker,) = client.describe_log_dirs(brokers=[number])
        finally:
            client.close()
        rows = broker["log_dirs"]
        return {
            row["log_dir"]: (row["error_code"], sum(len(one["partitions"]) for one in row["topics"])) for row in rows
        }

    def answered() -> dict[str, tuple[int, int]]:
        with contextlib.suppress(Exception):  # not up yet: asked again until the deadline
            return ask()
        return {}

    found: dict[str, tuple[int, int]] = wait_for(f"the answer of broker {number}", answered, 120)
    return found


def in_sync(server: Kafka) -> set[int]:
    """How many replicas the partitions have in sync, fewest and most."""
    facts = kafka.read([server.address], {})
    return {len(partition.isr) for partition in facts.partitions or () if partition.topic == "smoke"}


def pair(folder: pathlib.Path, *log_dirs: pathlib.Path) -> tuple[Kafka, Kafka]:
    """A controller that is also broker 1, and broker 2 with these log dirs, run by somebody who is not almighty."""
    first, second, controller = free_port(), free_port(), free_port()
    common: dict[str, object] = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}", "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "CLIENTS", "broker.session.timeout.ms": 6000,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT",
    }  # fmt: skip
    one = Kafka(folder / "one", {
        **common, "process.roles": "broker,controller", "node.id": 1,
        "listeners": f"CLIENTS://127.0.0.1:{first},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"CLIENTS://127.0.0.1:{first}",
    }, first)  # fmt: skip
    two = Kafka(folder / "two", {
        **common, "process.roles": "broker", "node.id": 2, "listeners": f"CLIENTS://127.0.0.1:{second}",
        "log.dirs": ",".join(map(str, log_dirs)),
    }, second, enter=NOT_ALMIGHTY)  # fmt: skip
    format_logs([one, two])
    return one, two


@pytest.fixture
def device(tmp_path: pathlib.Path) -> Iterator[str]:
    with filesystems.loop_device(tmp_path, "new", 64) as found:
        yield found


@pytest.fixture
def disk(tmp_path: pathlib.Path, device: str) -> Iterator[Replacement]:
    found = Replacement(tmp_path, device)
    found.log_dir.mkdir(parents=True)
    try:
        yield found
    finally:
        if os.path.ismount(found.mount):
            filesystems.unmount(str(found.mount))
        subprocess.run(["chattr", "-i", found.mount], check=False, capture_output=True)
        found.mount.chmod(0o755)


def test_a_kraft_broker_serves_its_other_disk_and_fills_the_new_one(tmp_path: pathlib.Path, disk: Replacement) -> None:
    """The closed mount point is what lets it start; on one that is only empty, Kafka 3.9 ends at once."""
    here, there = str(tmp_path / "d1"), str(disk.log_dir)
    one, two = pair(tmp_path, tmp_path / "d1", disk.log_dir)
    with one:
        with two:
            wait_for("broker 2", lambda: log_dirs(one, 2), 60)
            client = KafkaAdminClient(bootstrap_servers=one.address)
            client.create_topics([NewTopic("smoke", 6, 2)])
            client.close()
            wait_for("replicas on both disks", lambda: all(count for _error, count in log_dirs(one, 2).values()), 60)
            wait_for("replicas in sync", lambda: in_sync(one) == {2}, 60)
            time.sleep(6)  # the controller learns which disk a replica is on a moment later, and tells nobody

        shutil.rmtree(disk.log_dir)  # the old disk is unmounted: its mount point is empty
        disk.do("Make the empty mount point inaccessible")
        disk.do("Make the empty mount point immutable")
        with two:
            wait_for("the closed log dir", lambda: log_dirs(one, 2)[there] == (BROKEN, 0), 60)
            assert log_dirs(one, 2)[here][0] == 0
            wait_for("replicas missing", lambda: in_sync(one) == {1, 2}, 60)

        disk.do("Create an ext4 file system")
        subprocess.run(["mount", disk.facts["new.device"], disk.mount], check=True)
        for begins in ("Remove lost+found", "Create the log dir", "Format the log dir", "Change the log dir's owner"):
            disk.do(begins)
        with two:
            wait_for("all replicas in sync", lambda: in_sync(one) == {2}, 120)
            assert {error for error, _count in log_dirs(one, 2).values()} == {0}
    assert "directory.id=" in (disk.log_dir / "meta.properties").read_text()


def test_kafka_does_not_start_on_a_new_disk_that_was_not_marked(tmp_path: pathlib.Path, disk: Replacement) -> None:
    """Why the playbook writes meta.properties."""
    server = with_kraft(tmp_path, **{"log.dirs": f"{tmp_path / 'd1'},{disk.log_dir}"})
    (disk.log_dir / "meta.properties").unlink()

    with pytest.raises(AssertionError, match=r"No `meta\.properties` found"):
        server.__enter__()
