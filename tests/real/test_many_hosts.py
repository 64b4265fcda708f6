"""smoke over three real hosts: two brokers, one jbod and one raid10, and a ZooKeeper machine, each behind an sshd."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

import pytest
import yaml

from tests.real.sshd import Sshd, free_port, sshd

pytestmark = [pytest.mark.slow, pytest.mark.root]

HOSTS = ("kafka-a01", "kafka-a02", "zk-a01")
ADDRESS = {"kafka-a01": "127.0.0.11", "kafka-a02": "127.0.0.12", "zk-a01": "127.0.0.13", "kafka-a03": "127.0.0.14"}
SMOKE = [sys.executable, "-m", "smoketests.cli"]


class Rack:
    """The three, and the inventory that names them. Each has an address and a port of its own on loopback."""

    def __init__(self, folder: pathlib.Path, hosts: Sequence[Sshd], ports: Sequence[int]) -> None:
        self.folder, self.hosts = folder, dict(zip(HOSTS, hosts))
        self.ports = dict(zip(HOSTS, ports))
        self.key = hosts[0].key
        self.known_hosts = folder / "known_hosts"
        lines = [f"[{ADDRESS[name]}]:{self.ports[name]} {host.host_key}\n" for name, host in self.hosts.items()]
        self.known_hosts.write_text("".join(lines))
        self.inventory = self.write(self.ports)

    def write(self, ports: dict[str, int], inventory: str = "inventory.yaml") -> pathlib.Path:
        about: dict[str, dict[str, object]] = {
            "kafka-a01": {"roles": ["broker"], "layout": "jbod"},
            "kafka-a02": {"roles": ["broker"], "layout": "raid10"},
            "zk-a01": {"roles": ["zookeeper"]},
        }
        hosts = {
            name: {"address": ADDRESS[name], "port": port, "user": "root", **about.get(name, {})}
            for name, port in ports.items()
        }
        text = yaml.safe_dump({"clusters": {"prod-a": {"hosts": hosts}}}, sort_keys=False)
        (self.folder / inventory).write_text(text)
        return self.folder / inventory

    def words(self, *words: str, inventory: pathlib.Path | None = None) -> list[str]:
        access = ["--known-hosts", str(self.known_hosts), "--identity", str(self.key), "--ssh-config", "/dev/null"]
        where = ["-i", str(inventory or self.inventory), "--state", str(self.folder / "memory")]
        return [*SMOKE, *words, *where, *access]

    def smoke(self, *words: str, inventory: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words, inventory=inventory), capture_output=True, text=True, timeout=110, check=False,
            env={**os.environ, "COLUMNS": "80", "SSH_AUTH_SOCK": ""},
        )  # fmt: skip


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    folders = [tmp_path_factory.mktemp(name) for name in HOSTS]
    ports = [free_port() for _ in HOSTS]
    with contextlib.ExitStack() as stack:
        hosts: list[Sshd] = []
        for name, port, folder in zip(HOSTS, ports, folders):
            keys = [hosts[0].key] if hosts else []
            hosts.append(stack.enter_context(sshd(folder, f"ListenAddress={ADDRESS[name]}:{port}", keys=keys)))
        yield Rack(tmp_path_factory.mktemp("rack"), hosts, ports)


def test_three_hosts_of_each_kind_are_asked_and_judged_as_what_they_are(rack: Rack) -> None:
    answer = rack.smoke("all", "-f", "json", "--store", str(rack.folder / "results"))
    document = json.loads(answer.stdout)

    by_host = {name: {f["check"] for f in document["findings"] if f["host"] == name} for name in HOSTS}
    assert answer.returncode == document["summary"]["exit_code"]
    assert document["summary"]["clusters"]["prod-a"]["hosts"] == 3
    assert all(by_host[name] >= {"swappiness", "agent", "reach"} for name in HOSTS)
    assert {f["layout"] for f in document["findings"] if f["host"] == "kafka-a02"} == {"raid10"}
    assert {f["role"] for f in document["findings"] if f["host"] == "zk-a01"} == {"zookeeper"}
    (kept,) = (rack.folder / "results").glob("date=*/*.jsonl")
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert sorted(row["host"] for row in rows if row.get("kind") == "header") == list(HOSTS)
    assert len([row for row in rows if "check" in row]) == len(document["findings"])


def test_the_table_fits_eighty_columns_and_ends_with_the_totals(rack: Rack) -> None:
    answer = rack.smoke("all")
    lines = answer.stdout.splitlines()

    assert lines[0].split()[:3] == ["prod-a", "3", "hosts"]
    assert max(map(len, lines)) <= 80
    assert re.match(r"3 hosts, \d+ checks: .* exit \d$", " ".join(lines[-2:]).strip())
    assert lines[-1].endswith(f"exit {answer.returncode}")


def test_one_host_of_many_shows_the_table_of_one(rack: Rack) -> None:
    answer = rack.smoke("check", "swappiness", "--limit", "kafka-a02")

    assert "\nkafka-a02: 3 checks, 3 findings: " in answer.stdout
    assert " hosts" not in answer.stdout


def test_a_pattern_that_fits_nobody_is_an_error_with_a_hint(rack: Rack) -> None:
    answer = rack.smoke("all", "--limit", "kafka-a09")

    assert answer.returncode == 3
    assert "kafka-a09" in answer.stderr and "kafka-a0" in answer.stderr
    assert answer.stdout == ""


def test_a_dead_host_is_a_row_and_the_others_are_judged(rack: Rack) -> None:
    inventory = rack.write({**rack.ports, "kafka-a03": free_port()}, "dead.yaml")

    answer = rack.smoke("check", "swappiness", "-f", "junit", inventory=inventory)
    root = ElementTree.fromstring(answer.stdout)

    assert answer.returncode in (2, 3)
    dead = root.find("testsuite[@name='kafka-a03']")
    assert dead is not None and dead.attrib["errors"] == "1"
    assert "refuses connections" in ElementTree.tostring(dead, encoding="unicode")
    assert root.find("testsuite[@name='kafka-a01']//testcase[@classname='kafka-a01.swappiness']") is not None


def test_ctrl_c_ends_the_asking_shows_what_came_and_leaves_nothing_running(rack: Rack) -> None:
    with open("/dev/null") as nothing, subprocess.Popen(
        rack.words("all", "--store", str(rack.folder / "stopped")), stdin=nothing, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "80"},
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not any(host.running() for host in rack.hosts.values()):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)

    assert "Traceback" not in said
    assert "not heard: the run was stopped" in " ".join(shown.split())
    assert process.returncode in (2, 3)
    assert len(list((rack.folder / "stopped").rglob("*.jsonl"))) == 1
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(host.running() for host in rack.hosts.values()):
        time.sleep(0.1)
    assert [line for host in rack.hosts.values() for line in host.running()] == []
