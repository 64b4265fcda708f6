"""A broker with mounts of its own, as in a container, and an agent with such, as in a hardened unit: for real."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from agent import autodetect
from agent.checks.disks import mounts
from agent.expected import Expected
from agent.machine.live import LiveHost
from agent.sources.disks import data_mounts, mount_table
from agent.sources.kafka import processes as kafka
from agent.sources.kafka import server_folders
from agent.state import State
from tests.machine import by_item, run_checks
from tests.real.parts.filesystems import loop_ext4
from tests.real.parts.stand_in_broker import as_broker

pytestmark = pytest.mark.root

ROOT = pathlib.Path(__file__).parent.parent.parent
NOBODY = 65534
PROGRAM = f"""
import os, time
os.setgroups([]); os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
print(flush=True); time.sleep(120)
"""


class ThisMachine(LiveHost):
    """With a memory of its own."""

    def __init__(self, expected: Expected) -> None:
        super().__init__(expected)
        self.state = State(self.boot_id(), self.now())


@contextlib.contextmanager
def broker_in(folder: pathlib.Path, mounting: str, config: str) -> Iterator[int]:
    """A process by the name and command line of a broker, in a mount namespace in which `mounting` was run."""
    script = folder / "standin.py"
    script.write_text(PROGRAM)
    words = [*as_broker(folder, str(script)), config]
    inside = ["unshare", "--mount", "sh", "-c", f'{mounting} && exec "$@"', "sh", *words]
    with subprocess.Popen(inside, stdout=subprocess.PIPE, cwd=folder) as process:
        try:
            assert process.stdout and process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


@pytest.fixture(name="folder")
def a_folder_that_others_may_enter() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


def alone(host: LiveHost, pid: int) -> kafka.Service:
    (service,) = [one for one in kafka.services(host) if one.process.pid == pid]
    return service


def test_a_broker_in_a_container_is_read_followed_and_tried_in_its_own_tree(folder: pathlib.Path) -> None:
    """The configuration and the log dir lie on a disk of the host, under names that only the container has."""
    inside = folder / "inside"
    inside.mkdir()
    with loop_ext4(folder, "disk") as disk:
        logs = pathlib.Path(disk.path) / "logs"
        logs.mkdir()
        (folder / "disk/server.properties").write_text(f"log.dirs={inside}/logs\nlisteners=PLAINTEXT://:9092\n")
        mounting = f"mount --bind {disk.path} {inside}"
        with broker_in(folder, mounting, f"{inside}/server.properties") as pid:
            host = ThisMachine(Expected(roles=("broker",)))
            try:
                service = alone(host, pid)
                (found,) = server_folders.of(host, service)
                mount = mount_table.mount_at(host, disk.path)
                assert mount and (found.mount, found.tree_of) == (mount, pid)
                assert found.path.startswith(f"{disk.path}/")
                denied = mounts._probes(host, mount)
                os.chown(logs, NOBODY, NOBODY)
                host._shared.clear()
                allowed = mounts._probes(host, mount)
            finally:
                host.close()

    assert service.config["listeners"] == "PLAINTEXT://:9092"
    assert (denied["write_error"], denied["denied_by"]) == ("EACCES", "root (mode 755)")
    assert (allowed["write_error"], allowed["writer"]) == ("", "nobody")


def test_a_data_disk_that_only_our_unit_makes_read_only_takes_writes(folder: pathlib.Path) -> None:
    """As ProtectHome=read-only of systemd does: the mount anew, read-only, in a namespace of the agent alone."""
    with loop_ext4(folder, "disk") as disk:
        expected = {"roles": ["broker"], "mounts": [{"path": disk.path}], "ports": [9092]}
        agent = [sys.executable, "-m", "agent", "mounts", "--expected", "-", "--state", str(folder / "state")]
        hide = f'mount -o remount,bind,ro {disk.path} && cd {ROOT} && exec "$@"'
        words = ["unshare", "--mount", "sh", "-c", hide, "sh", *agent]
        done = subprocess.run(words, input=json.dumps(expected), capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()[1:]]

    (row,) = [row for row in rows if row["check"] == "mounts"]
    assert row["facts"]["read_only"] == [] and row["facts"]["write_error"] == "", row
    assert "not in /etc/fstab" in row["reason"]
    if os.access("/proc/1/root/", os.F_OK):
        assert row["status"] == "warning", row["reason"]
    else:  # this machine's root has fewer rights than its first process
        assert row["status"] == "unknown" and "cannot enter the file tree" in row["reason"], row["reason"]


def test_a_disk_that_is_read_only_for_all_stays_critical_in_our_unit(folder: pathlib.Path) -> None:
    with loop_ext4(folder, "disk") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk.path], check=True)
        expected = {"roles": ["broker"], "mounts": [{"path": disk.path}], "ports": [9092]}
        agent = [sys.executable, "-m", "agent", "mounts", "--expected", "-", "--state", str(folder / "state")]
        hide = f'mount -o remount,bind,ro {disk.path} && cd {ROOT} && exec "$@"'
        words = ["unshare", "--mount", "sh", "-c", hide, "sh", *agent]
        done = subprocess.run(words, input=json.dumps(expected), capture_output=True, text=True, check=False)

    (row,) = [row for row in map(json.loads, done.stdout.splitlines()[1:]) if row["check"] == "mounts"]
    assert row["status"] == "critical" and "mounted with ro" in row["reason"], row


def test_a_log_dir_behind_a_link_makes_its_disk_the_data_mount(folder: pathlib.Path) -> None:
    with loop_ext4(folder, "disk") as disk:
        link = pathlib.Path("/srv") / f"{folder.name}-link"
        link.symlink_to(disk.path)
        config = folder / "server.properties"
        config.write_text(f"log.dirs={link}/logs\n")
        (folder / "disk/logs").mkdir()
        try:
            with broker_in(folder, "true", str(config)) as pid:
                host = ThisMachine(Expected())
                try:
                    found = server_folders.of(host, alone(host, pid))
                    host.expected = autodetect.guess(host)
                    told = by_item(run_checks(host, "mounts"))
                finally:
                    host.close()
        finally:
            link.unlink()

    assert [one.path for one in found] == [f"{disk.path}/logs"]
    assert disk.path in told, told
    assert data_mounts.Writer("/x", tree_of=7).seen_at == "/proc/7/root/x"
