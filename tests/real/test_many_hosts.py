"""smoke over three real hosts: two brokers, one jbod and one raid10, and a ZooKeeper machine, each behind an sshd."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import platform
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from xml.etree import ElementTree

import pytest
import yaml

from smoketests.remote.remote_host import RemoteHost, TookTooLong
from tests.real.parts.sshd import Sshd, free_port, sshd

pytestmark = [pytest.mark.slow, pytest.mark.root]

HOSTS = ("kafka-a01", "kafka-a02", "zk-a01")
ADDRESS = {"kafka-a01": "127.0.0.11", "kafka-a02": "127.0.0.12", "zk-a01": "127.0.0.13", "kafka-a03": "127.0.0.14"}
ROOT = pathlib.Path(__file__).parent.parent.parent
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


def test_the_hosts_clocks_are_held_against_ours(rack: Rack) -> None:
    document = json.loads(rack.smoke("check", "clock_skew", "-f", "json").stdout)

    (skew,) = [finding for finding in document["findings"] if finding["check"] == "clock_skew"]
    assert skew["facts"]["seen_by_us"] == 3
    assert skew["status"] != "critical", "all three are this machine"


def test_the_table_fits_eighty_columns_and_ends_with_the_totals(rack: Rack) -> None:
    answer = rack.smoke("all")
    lines = answer.stdout.splitlines()

    assert lines[0].split()[:3] == ["prod-a", "3", "hosts"]
    assert max(map(len, lines)) <= 80
    assert re.match(r"3 hosts, \d+ checks: .* exit \d$", " ".join(lines[-2:]).strip())
    assert lines[-1].endswith(f"exit {answer.returncode}")


def test_one_host_of_many_shows_the_table_of_one(rack: Rack) -> None:
    answer = rack.smoke("check", "swappiness", "--limit", "kafka-a02")

    assert "\nkafka-a02: 2 checks, 3 findings: " in answer.stdout
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
    assert "no reply: the run was stopped" in " ".join(shown.split())
    assert process.returncode in (2, 3)
    assert len(list((rack.folder / "stopped").rglob("*.jsonl"))) == 1
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(host.running() for host in rack.hosts.values()):
        time.sleep(0.1)
    assert [line for host in rack.hosts.values() for line in host.running()] == []


def test_killed_half_way_nothing_is_in_the_store(rack: Rack) -> None:
    store = rack.folder / "killed"
    with subprocess.Popen(
        rack.words("all", "--store", str(store)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not any(path.is_file() for path in store.rglob(".*")):
            time.sleep(0.01)
        process.kill()

    assert any(path.name.startswith(".") for path in store.rglob("*") if path.is_file()), "it was under way"
    assert not list(store.rglob("*.jsonl"))


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_within_seconds_though_a_host_is_silent(rack: Rack, times: int) -> None:
    with socket.create_server((ADDRESS["kafka-a03"], 0)) as silent:
        inventory = rack.write({"kafka-a03": silent.getsockname()[1]}, "silent.yaml")
        with subprocess.Popen(
            rack.words("all", inventory=inventory), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            silent.accept()
            for _ in range(times):
                process.send_signal(signal.SIGINT)
                time.sleep(0.05)
            _, said = process.communicate(timeout=20)

    assert process.returncode in ((3,) if times == 1 else (3, 130, -signal.SIGINT))
    assert "Traceback" not in said


def test_the_progress_on_a_terminal_is_one_line_that_goes_away(rack: Rack) -> None:
    words = rack.words("check", "swappiness")
    answer = subprocess.run(
        ["script", "-qec", shlex.join(words), "/dev/null"], capture_output=True, timeout=60, check=False,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip

    before_table = answer.stdout.decode().partition("prod-a")[0]
    assert before_table.count("\n") == 0
    assert before_table.endswith("\r\x1b[K")


def test_the_examples_of_the_documents_run_on_real_hosts(rack: Rack, tmp_path: pathlib.Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/pytest.md").read_text(), re.DOTALL)
    (tmp_path / "test_site.py").write_text(example)
    own = [] if any(entry.name == "smoke" for entry in metadata.entry_points(group="pytest11")) else [
        "-p", "smoketests.plugin"]  # fmt: skip
    access = ["--smoke-known-hosts", str(rack.known_hosts), "--smoke-identity", str(rack.key), "--smoke-ssh-config",
              "/dev/null"]  # fmt: skip
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", *own, "-p", "no:cacheprovider", "-v", "-m", "not smoke", "--smoke-inventory",
         str(rack.inventory), "--smoke-checks", "swappiness", *access],
        cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip

    outcomes = dict(re.findall(r"::(\S+) (PASSED|FAILED)", answer.stdout))
    swappiness = int(pathlib.Path("/proc/sys/vm/swappiness").read_text())
    assert len(outcomes) == 7, answer.stdout + answer.stderr
    assert outcomes["test_the_ensemble_is_odd[prod-a]"] == "PASSED"
    assert outcomes["test_no_broker_may_swap[kafka-a01]"] == ("PASSED" if swappiness <= 1 else "FAILED")
    assert f"AssertionError: assert '{platform.node().partition('.')[0]}' == 'kafka-a01'" in answer.stdout


def test_a_sites_own_command_is_quoted_bounded_and_ended_there(rack: Rack) -> None:
    one = rack.hosts["kafka-a01"]
    host = RemoteHost(one.host(), [], one.access())

    said = host.run("sh", "-c", 'printf "%s €" "$1"; echo no >&2; exit 7', "-", "a b; $(id)")
    assert said == (7, "a b; $(id) €", "no\n")
    assert host.run("sleep", "30", seconds=1).exit_code == 124
    with pytest.raises(TookTooLong, match="timed out or too long"):
        host.run("yes")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and one.running():
        time.sleep(0.05)
    assert one.running() == []
