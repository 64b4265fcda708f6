"""smoke gate over three real hosts behind an sshd each: two brokers without a Kafka, and a ZooKeeper machine."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.real.test_many_hosts import Rack, rack

__all__ = ["rack"]

# what tells of this very machine, whatever else runs on it
NOT_OURS = ("clock", "services", "out_of_memory", "disk_errors", "disk_usage", "disk_latency", "mounts", "raid",
            "smart", "nic_link", "nic_resets", "memory_errors")  # fmt: skip
pytestmark = [pytest.mark.slow, pytest.mark.root]


@pytest.fixture
def gate(rack: Rack, tmp_path: pathlib.Path) -> Iterator[Gate]:
    yield Gate(rack, tmp_path)


class Gate:
    def __init__(self, rack: Rack, folder: pathlib.Path) -> None:
        self.rack, self.store = rack, folder / "results"
        text = yaml.safe_load(rack.inventory.read_text())
        text["defaults"] = {"skip": dict.fromkeys(NOT_OURS, "three hosts on one machine")}
        self.inventory = rack.folder / "gate.yaml"
        self.inventory.write_text(yaml.safe_dump(text, sort_keys=False))

    def words(self, *words: str) -> list[str]:
        said = self.rack.words("gate", *words, "--store", str(self.store), inventory=self.inventory)
        at = said.index("--state")
        return said[:at] + said[at + 2 :]

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.words(*words), capture_output=True, text=True, timeout=110, check=False)


def test_brokers_of_which_nobody_tells_the_partitions_cannot_be_told(gate: Gate) -> None:
    answer = gate("--host", "kafka-a01", "--for", "reboot", "-f", "json")
    document = json.loads(answer.stdout)

    rules = {rule["name"]: rule for rule in document["rules"]}
    assert (answer.returncode, document["answer"]) == (3, "CANNOT TELL")
    assert {name for name, rule in rules.items() if rule["status"] == "failed"} == set()
    for name in ("availability", "offline", "under_replicated", "brokers", "controller"):
        assert rules[name]["status"] == "cannot tell"
        assert "names no Kafka servers of prod-a" in rules[name]["reason"]
    assert rules["zookeeper"]["status"] == "not asked" and "names no ZooKeeper" in rules["zookeeper"]["reason"]
    assert rules["answers"]["status"] == "passed"
    (kept,) = (gate.store / "gate").glob("date=*/*.json")
    assert json.loads(kept.read_text()) == document
