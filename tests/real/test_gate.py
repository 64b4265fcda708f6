"""smoke gate over three real hosts behind an sshd each: two brokers without a Kafka, and a ZooKeeper machine."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from smoketests.gate import lock
from tests.real.parts.namespace import wait_for
from tests.real.parts.sshd import free_port
from tests.real.test_many_hosts import Rack, rack

__all__ = ["rack"]

# what tells of this very machine, whatever else runs on it
NOT_OURS = ("clock", "services", "out_of_memory", "disk_errors", "disk_usage", "disk_latency", "mounts", "raid",
            "smart", "nic_link", "nic_resets", "memory_errors", "server_ids")  # fmt: skip
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

    def rewrite(self, change: Callable[[Any], Any]) -> None:
        """An inventory in which something is otherwise."""
        text = yaml.safe_load(self.inventory.read_text())
        change(text["clusters"]["prod-a"]["hosts"])
        self.inventory = self.store.parent / "changed.yaml"
        self.inventory.write_text(yaml.safe_dump(text, sort_keys=False))

    def words(self, *words: str) -> list[str]:
        said = self.rack.words("gate", *words, "--store", str(self.store), inventory=self.inventory)
        at = said.index("--state")
        return said[:at] + said[at + 2 :]

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.words(*words), capture_output=True, text=True, timeout=110, check=False)


def accepting(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("--accept", name, "--because", "no Kafka in this test")]


def test_brokers_of_which_nobody_tells_the_partitions_cannot_be_told(gate: Gate) -> None:
    answer = gate("--host", "kafka-a01", "--for", "reboot", "-f", "json")
    document = json.loads(answer.stdout)

    rules = {rule["name"]: rule for rule in document["rules"]}
    assert (answer.returncode, document["answer"]) == (3, "CANNOT TELL")
    assert {name for name, rule in rules.items() if rule["status"] == "failed"} == set()
    for name in ("availability", "offline", "under_replicated", "brokers", "controller"):
        assert rules[name]["status"] == "cannot tell"
        assert "names no Kafka servers of prod-a" in rules[name]["reason"]
    assert rules["zookeeper"]["status"] == "skipped" and "names no ZooKeeper" in rules["zookeeper"]["reason"]
    assert rules["answers"]["status"] == "passed"
    (kept,) = (gate.store / "gate").glob("date=*/*.json")
    assert json.loads(kept.read_text()) == document


def test_what_cannot_be_read_is_accepted_rule_by_rule_and_kept(gate: Gate) -> None:
    said = json.loads(gate("--host", "kafka-a01", "--for", "reboot", "-f", "json").stdout)
    untold = [rule["name"] for rule in said["rules"] if rule["status"] == "cannot tell"]
    answer = gate("--host", "kafka-a01", "--for", "reboot", "-f", "json", *accepting(untold[:-1]))
    assert (answer.returncode, json.loads(answer.stdout)["answer"]) == (3, "CANNOT TELL")

    answer = gate("--host", "kafka-a01", "--for", "reboot", *accepting(untold))
    assert answer.returncode == 0 and "GO: of " in answer.stdout
    newest = max((gate.store / "gate").rglob("*.json"), key=lambda path: path.stat().st_mtime)
    kept = json.loads(newest.read_text())
    assert set(kept["maintenance"]["accept"]) == set(untold)
    assert {rule["because"] for rule in kept["rules"] if rule["status"] == "accepted"} == {"no Kafka in this test"}


def test_of_two_people_at_once_one_may_begin(gate: Gate) -> None:
    said = json.loads(gate("--host", "kafka-a01", "--for", "reboot", "-f", "json").stdout)
    accept = accepting([rule["name"] for rule in said["rules"] if rule["status"] == "cannot tell"])
    people = [
        subprocess.Popen(
            gate.words("--host", host, "--for", "reboot", "--hold", *accept),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for host in ("kafka-a01", "kafka-a02")
    ]  # fmt: skip
    ended = [(*person.communicate(timeout=110), person.returncode) for person in people]

    assert sorted(code for *_said, code in ended) == [0, 2], ended
    (held,) = lock.held(str(gate.store))
    (loser,) = [shown for shown, _said, code in ended if code]
    assert held.id in " ".join(loser.split())
    assert gate("--host", "kafka-a01", "--for", "reboot", *accept).returncode == 2
    assert gate("--host", "kafka-a01", "--for", "reboot", "--lock", held.id, *accept).returncode == 0


def test_a_dead_machine_that_must_carry_the_load_cannot_be_told(gate: Gate) -> None:
    gate.rewrite(lambda hosts: hosts["kafka-a02"].update(port=free_port()))
    answer = gate("--host", "kafka-a01", "--for", "reboot", "-f", "junit")

    (suite,) = ElementTree.fromstring(answer.stdout)
    errors = {case.attrib["name"]: case[0].attrib["message"] for case in suite if case[0].tag == "error"}
    assert answer.returncode == 3
    assert "kafka-a02" in errors["answers"] and "refuses connections" in errors["answers"]
    assert "no data from kafka-a02" in errors["power"]


def test_the_machine_that_leaves_may_be_dead(gate: Gate) -> None:
    gate.rewrite(lambda hosts: hosts["kafka-a01"].update(port=free_port()))
    document = json.loads(gate("--host", "kafka-a01", "--for", "reboot", "-f", "json").stdout)
    after = json.loads(gate("--host", "kafka-a01", "--for", "reboot", "--after", "-f", "json").stdout)

    assert {rule["name"]: rule["status"] for rule in document["rules"]}["answers"] == "passed"
    assert {rule["name"]: rule["status"] for rule in after["rules"]}["answers"] == "cannot tell"


def test_ctrl_c_while_waiting_says_what_was_missing_and_leaves_nothing_running(gate: Gate) -> None:
    with subprocess.Popen(
        gate.words("--host", "kafka-a01", "--for", "reboot", "--wait", "10", "--every", "1"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr
        lines = iter(process.stderr.readline, "")
        first = next(line for line in lines if "CANNOT TELL" in line)  # on a busy machine, how far it is comes before
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)

    assert "CANNOT TELL: availability cannot tell: the inventory names no Kafka servers" in first
    assert process.returncode == 3 and "Traceback" not in said
    assert "CANNOT TELL: of " in shown and "names no Kafka servers" in " ".join(shown.split())
    wait_for("nothing left there", lambda: not any(host.running() for host in gate.rack.hosts.values()), 20)
    assert len(list((gate.store / "gate").rglob("*.json"))) == 1


def test_waiting_until_it_stands_still(gate: Gate) -> None:
    said = json.loads(gate("--host", "kafka-a01", "--for", "reboot", "-f", "json").stdout)
    accept = accepting([rule["name"] for rule in said["rules"] if rule["status"] == "cannot tell"])
    wait = ["--wait", "5", "--every", "1", "--readings", "3"]
    document = json.loads(gate("--host", "kafka-a01", "--for", "reboot", "-f", "json", *wait, *accept).stdout)

    assert document["answer"] == "GO"
    assert [answer for _at, answer in document["readings"]][-3:] == ["GO"] * 3


def test_a_reader_that_has_enough_ends_it_quietly(gate: Gate) -> None:
    with subprocess.Popen(
        gate.words("--host", "kafka-a01", "--for", "reboot"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        said = process.stderr.read()

    assert "Traceback" not in said and "BrokenPipe" not in said
